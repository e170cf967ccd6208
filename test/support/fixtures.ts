/** The recorded provider exchanges of `test/fixtures`; `INDEX.md` there has the source of each. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const folder = new URL('../fixtures/', import.meta.url);

const categories = [
  'anthropic',
  'gemini',
  'openai-chat',
  'openai-compat',
  'openai-images',
  'messages',
  'embeddings',
] as const;

const headers = z.record(z.string(), z.string()).default({});

const index = z.array(
  z.object({
    id: z.string(),
    cat: z.enum(categories),
    url: z.string(),
    model: z.string().nullable(),
    status: z.int(),
    stream: z.boolean(),
    exact: z.boolean(),
    features: z.array(z.string()),
    files: z.array(z.string()),
    headers,
    requestHeaders: headers,
  }),
);

/** The wire format of a recording. */
export type FixtureCategory = (typeof categories)[number];

/** One recorded exchange. */
export interface Fixture {
  /** Category and file without its endings, as in `INDEX.md`: `openai-chat/stream-usage.1`. */
  readonly name: string;
  readonly category: FixtureCategory;
  readonly url: string;
  readonly model: string | undefined;
  readonly status: number;
  /** Whether the response is SSE. */
  readonly streamed: boolean;
  /** Whether the bytes are the provider's; otherwise only the JSON is, not its whitespace. */
  readonly exact: boolean;
  /** Tags from `index.json`: `finish=stop`, `req:thinking`. */
  readonly features: readonly string[];
  /** Those of the response that the source kept, in lower case; mostly none. */
  readonly headers: Readonly<Record<string, string>>;
  /** As `headers`, of the request. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  /** Undefined if only the response was recorded. */
  readonly request: Uint8Array | undefined;
  readonly response: Uint8Array;
}

/** Every recording, or those of the given categories, in the order of the index. */
export function fixtures(...wanted: readonly FixtureCategory[]): readonly Fixture[] {
  return readIndex()
    .filter(({ cat }) => wanted.length === 0 || wanted.includes(cat))
    .map(load);
}

/** The one recording of that name. */
export function fixture(name: string): Fixture {
  const row = readIndex().find(({ id }) => id === name);
  if (row === undefined) throw new Error(`There is no fixture named "${name}".`);
  return load(row);
}

type Row = z.infer<typeof index>[number];

function readIndex(): readonly Row[] {
  return index.parse(JSON.parse(readFileSync(new URL('index.json', folder), 'utf8')));
}

function load(row: Row): Fixture {
  const response = read(row, '.response.');
  if (response === undefined) throw new Error(`The fixture "${row.id}" has no response.`);
  return {
    name: row.id,
    category: row.cat,
    url: row.url,
    model: row.model ?? undefined,
    status: row.status,
    streamed: row.stream,
    exact: row.exact,
    features: row.features,
    headers: row.headers,
    requestHeaders: row.requestHeaders,
    request: read(row, '.request.'),
    response,
  };
}

function read(row: Row, side: '.request.' | '.response.'): Uint8Array | undefined {
  const file = row.files.find((name) => name.startsWith(`${row.id}${side}`));
  return file === undefined ? undefined : readFileSync(new URL(file, folder));
}
