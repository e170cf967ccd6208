/** The recorded provider exchanges of `test/fixtures`; `INDEX.md` there has the source of each. */
import { z } from 'zod';
import { fixtureFolder } from './fixture-folder.ts';

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

const folder = fixtureFolder('', index, (row, read): Fixture => {
  const response = read('response');
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
    request: read('request'),
    response,
  };
});

/** Every recording, or those of the given categories, in the order of the index. */
export const fixtures: (...wanted: readonly FixtureCategory[]) => readonly Fixture[] = folder.all;

/** The one recording of that name. */
export const fixture: (name: string) => Fixture = folder.one;
