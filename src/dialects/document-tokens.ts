/** Counts the content of a whole or truncated reply of any API, in tokens. */
import { exceedsLimits, parseBounded } from '../bounded-json.ts';
import { asBuffer } from '../bytes/decode.ts';
import { parseEvents } from '../bytes/sse.ts';
import { type JsonValue, member } from '../json.ts';
import { closedJson } from './closed-json.ts';
import { contentCount } from './content-count.ts';
import { responseCount } from './openai-responses/content-count.ts';

/**
 * Counts the content of a document of any dialect, complete or cut off, or of events that came in
 * place of one, in tokens.
 */
export function documentTokens(bytes: Uint8Array): number {
  const buffer = asBuffer(bytes);
  // Neither an image reply of 48 MB nor a page of HTML has to be parsed.
  if (!contentMarks.some((mark) => buffer.includes(mark))) return 0;
  const document = parseCut(buffer.toString('utf8'));
  if (document !== undefined) return replyTokens(document);
  return tokensIn([...parseEvents(bytes)].map(({ data }) => parseCut(data ?? '') ?? null));
}

/** Counts the content of a parsed reply in tokens. */
export function replyTokens(reply: JsonValue): number {
  return tokensIn([reply]);
}

function tokensIn(documents: readonly JsonValue[]): number {
  const count = documents.some(isResponses) ? responseCount() : contentCount();
  for (const document of documents) count.add(document);
  return count.tokens();
}

/** Replies of the Responses API have a form of their own. */
function isResponses(document: JsonValue): boolean {
  const type = member(document, 'type');
  const isEvent = typeof type === 'string' && type.startsWith('response.');
  return isEvent || Array.isArray(member(document, 'output'));
}

/** Parses a document that may be cut off; undefined if it is no JSON, or exceeds the limits. */
function parseCut(text: string): JsonValue | undefined {
  const whole = parseBounded(text);
  // Completing a text above the limits would take as long as reading it.
  if (whole !== undefined || exceedsLimits(text)) return whole;
  return parseBounded(closedJson(text));
}

const contentMarks = ['"choices"', '"candidates"', '"content"', '"output"', '"response.'];
