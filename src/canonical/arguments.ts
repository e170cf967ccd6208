/** The arguments of a tool call as the JSON object that Gemini and Anthropic demand. */

import { isJsonObject, parseJson } from '../json.ts';
import { jsonText } from './raw-json.ts';

/** An object as JSON text. */
export interface ArgumentsObject {
  readonly json: string;
  /** The text was no object, and stands inside one now: `{"_raw": …}`. */
  readonly isWrapped: boolean;
}

/**
 * Verbatim where the text is an object, so that every digit of a number stays, but for line breaks
 * between its tokens, which would end a line of SSE. Nothing is an empty object; anything else is
 * kept as text, for the call must still be seen.
 */
export function argumentsObject(text: string): ArgumentsObject {
  if (text.trim() === '') return { json: '{}', isWrapped: false };
  if (isJsonObject(parseJson(text))) return { json: onOneLine(text), isWrapped: false };
  return { json: jsonText({ _raw: text }), isWrapped: true };
}

/** A string in valid JSON holds no line break as such: all of them are white space. */
function onOneLine(json: string): string {
  return /[\r\n]/.test(json) ? json.replace(/[\r\n]+/g, ' ') : json;
}
