/**
 * Recorded exchanges of OpenAI's Responses API, requests of its clients, and some replies made by
 * hand; `INDEX.md` in their folder has the source of each.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const folder = new URL('../fixtures/responses/', import.meta.url);

const categories = ['openai', 'openai-replies', 'compat', 'clients', 'synthetic'] as const;

const index = z.array(
  z.object({
    id: z.string(),
    cat: z.enum(categories),
    model: z.string().nullable(),
    status: z.int().nullable(),
    stream: z.boolean(),
    features: z.array(z.string()),
    files: z.array(z.string()),
  }),
);

/** Where an exchange comes from. Those of `clients` have a request only. */
export type ResponsesCategory = (typeof categories)[number];

/** One exchange. */
export interface ResponsesFixture {
  /** Category and file without its endings, as in `INDEX.md`: `openai/tool.1`. */
  readonly name: string;
  readonly category: ResponsesCategory;
  readonly model: string | undefined;
  readonly status: number | undefined;
  /** Whether the response is SSE. */
  readonly streamed: boolean;
  /** Tags from `index.json`: `function_call`, `req:input_file`. */
  readonly features: readonly string[];
  /** Undefined if only the response was recorded, and for a GET. */
  readonly request: Uint8Array | undefined;
  readonly response: Uint8Array | undefined;
}

/** Every exchange, or those of the given categories, in the order of the index. */
export function responsesFixtures(
  ...wanted: readonly ResponsesCategory[]
): readonly ResponsesFixture[] {
  return readIndex()
    .filter(({ cat }) => wanted.length === 0 || wanted.includes(cat))
    .map(load);
}

/** The one exchange of that name. */
export function responsesFixture(name: string): ResponsesFixture {
  const row = readIndex().find(({ id }) => id === name);
  if (row === undefined) throw new Error(`There is no fixture named "${name}".`);
  return load(row);
}

type Row = z.infer<typeof index>[number];

function readIndex(): readonly Row[] {
  return index.parse(JSON.parse(readFileSync(new URL('index.json', folder), 'utf8')));
}

function load(row: Row): ResponsesFixture {
  return {
    name: row.id,
    category: row.cat,
    model: row.model ?? undefined,
    status: row.status ?? undefined,
    streamed: row.stream,
    features: row.features,
    request: read(row, '.request.'),
    response: read(row, '.response.'),
  };
}

function read(row: Row, side: '.request.' | '.response.'): Uint8Array | undefined {
  const file = row.files.find((name) => name.startsWith(`${row.id}${side}`));
  return file === undefined ? undefined : readFileSync(new URL(file, folder));
}
