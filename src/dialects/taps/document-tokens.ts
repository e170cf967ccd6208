/** Counts the content of a whole or truncated reply of any API, in tokens. */
import { exceedsLimits, parseBounded } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { parseEvents } from '../../bytes/sse.ts';
import { type JsonValue, member } from '../../json.ts';
import { stringEnd } from '../../json-strings.ts';
import { responseCount } from '../openai/responses/content-count.ts';
import { contentCount } from './content-count.ts';

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

export function replyTokens(reply: JsonValue): number {
  return tokensIn([reply]);
}

function tokensIn(documents: readonly JsonValue[]): number {
  const count = documents.some(isResponses) ? responseCount() : contentCount();
  for (const document of documents) count.add(document);
  return count.tokens();
}

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

/**
 * Completes JSON that was cut off, so that what arrived of it can be read: the text without its
 * last unfinished member or number, with all brackets closed.
 */
export function closedJson(text: string): string {
  const marks = /["{}[\],]/g;
  const open: string[] = [];
  /** The end of the last complete value. */
  let whole = 0;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    const at = mark.index;
    const sign = mark[0];
    if (sign === '"') {
      const end = stringEnd(text, at + 1);
      const isText = isValue(text, at, open.at(-1));
      if (end === text.length) {
        return (isText ? closedString(text) : text.slice(0, whole)) + closing(open);
      }
      // The text may end directly after the value, before the comma or bracket that follows it.
      if (isText) whole = end + 1;
      marks.lastIndex = end + 1;
      continue;
    }
    if (sign === '{' || sign === '[') open.push(sign === '{' ? '}' : ']');
    else if (sign !== ',') open.pop();
    whole = sign === ',' ? at : at + 1;
  }
  return text.slice(0, whole) + closing(open);
}

function closing(open: readonly string[]): string {
  return [...open].reverse().join('');
}

/** A string is a value after a colon, and anywhere in an array. */
function isValue(text: string, at: number, closer: string | undefined): boolean {
  return (
    closer === ']' ||
    text
      .slice(Math.max(0, at - 64), at)
      .trimEnd()
      .endsWith(':')
  );
}

/** Ends a string, without an escape that was cut off. */
function closedString(text: string): string {
  const escapeAt = text.lastIndexOf('\\', text.length - 1);
  let first = escapeAt;
  while (first > 0 && text.charCodeAt(first - 1) === 0x5c) first -= 1;
  const begins = escapeAt !== -1 && (escapeAt - first) % 2 === 0;
  const isCut = begins && /^\\(?:u[0-9a-fA-F]{0,3})?$/.test(text.slice(escapeAt));
  return `${isCut ? text.slice(0, escapeAt) : text}"`;
}
