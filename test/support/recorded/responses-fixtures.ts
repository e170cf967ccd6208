/**
 * Recorded exchanges of OpenAI's Responses API, requests of its clients, and some replies made by
 * hand; `INDEX.md` in their folder has the source of each.
 */
import { z } from 'zod';
import { fixtureFolder } from './fixture-folder.ts';

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

const folder = fixtureFolder(
  'responses/',
  index,
  (row, read): ResponsesFixture => ({
    name: row.id,
    category: row.cat,
    model: row.model ?? undefined,
    status: row.status ?? undefined,
    streamed: row.stream,
    features: row.features,
    request: read('request'),
    response: read('response'),
  }),
);

/** Every exchange, or those of the given categories, in the order of the index. */
export const responsesFixtures: (
  ...wanted: readonly ResponsesCategory[]
) => readonly ResponsesFixture[] = folder.all;

/** The one exchange of that name. */
export const responsesFixture: (name: string) => ResponsesFixture = folder.one;
