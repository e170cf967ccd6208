/**
 * Parses JSON that an upstream sent, within limits. A document is parsed and translated without
 * yielding to the event loop, and 30 MB of `{}` become gigabytes of objects: without limits one
 * reply blocks every other call, or ends the process.
 */
import { parseExactly } from './exact-numbers.ts';
import { type JsonValue, parseJson } from './json.ts';
import {
  closeBrace,
  closeBracket,
  comma,
  openBrace,
  openBracket,
  quote,
  stringEnd,
} from './json-strings.ts';

/**
 * Limits of one document. The largest real replies have 20 logprobs for each of 16,384 tokens: 2.8
 * million values, of which 700,000 are objects and arrays.
 */
export const maxReplyValues = 3_000_000;
/** Objects and arrays cost several times as much as other values. */
export const maxReplyContainers = 750_000;
export const maxReplyLevels = 1_000;

/**
 * Smaller documents, such as nearly all events, can only exceed the limit of levels, and by so
 * little that no recursion over them overflows the stack.
 */
const minScannedLength = 4 * 1024;

export function parseBounded(text: string): JsonValue | undefined {
  return exceedsLimits(text) ? undefined : parseJson(text);
}

export function parseBoundedExactly(text: string): JsonValue | undefined {
  return exceedsLimits(text) ? undefined : parseExactly(text);
}

/** The parser of the replies of a channel, whose stated costs need all their digits. */
export function replyParser({ cost }: { readonly cost?: unknown }): typeof parseBounded {
  return cost === 'reported' ? parseBoundedExactly : parseBounded;
}

/**
 * Counts before anything is created. A comma and an opening bracket stand for one value each, so
 * that an empty object in a list counts as two. Whether the text is valid is left to the parser.
 */
export function exceedsLimits(text: string): boolean {
  if (text.length < minScannedLength) return false;
  let values = 1;
  let containers = 0;
  let level = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = stringEnd(text, at + 1);
    } else if (code === comma) {
      values += 1;
    } else if (code === openBrace || code === openBracket) {
      values += 1;
      containers += 1;
      level += 1;
      if (level > maxReplyLevels || containers > maxReplyContainers) return true;
    } else if (code === closeBrace || code === closeBracket) {
      level -= 1;
    }
    if (values > maxReplyValues) return true;
  }
  return false;
}
