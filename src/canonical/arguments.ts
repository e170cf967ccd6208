/** Turns the arguments of a tool call into the JSON object that Gemini and Anthropic require. */

import { parseBounded } from '../bounded-json.ts';
import { isJsonObject } from '../json.ts';
import { jsonText } from './raw-json.ts';

/** Tool-call arguments as the JSON text of an object. */
export interface ArgumentsObject {
  readonly json: string;
  /** The text was not a JSON object and is now wrapped in one: `{"_raw": …}`. */
  readonly isWrapped: boolean;
}

/**
 * Returns the text unchanged if it is a JSON object, so that numbers keep every digit; only line
 * breaks between tokens become spaces, because a line break ends a line of SSE. Empty text becomes
 * an empty object. Any other text is wrapped as a string, so that the call itself isn't lost.
 */
export function argumentsObject(text: string): ArgumentsObject {
  if (text.trim() === '') return { json: '{}', isWrapped: false };
  if (isJsonObject(parseBounded(text))) return { json: onOneLine(text), isWrapped: false };
  return { json: jsonText({ _raw: text }), isWrapped: true };
}

/** In valid JSON a raw line break is always white space between tokens, never inside a string. */
function onOneLine(json: string): string {
  return /[\r\n]/.test(json) ? json.replace(/[\r\n]+/g, ' ') : json;
}
