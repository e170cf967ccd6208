/** Turns the arguments of a tool call into the JSON object that Gemini and Anthropic require. */

import { parseBounded } from '../bounded-json.ts';
import { isJsonObject } from '../json.ts';
import { jsonText } from './raw-json.ts';

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

/**
 * Text without the empty objects in front of another object: some upstreams open a call with `{}`
 * and send its arguments after it.
 */
export function withoutPlaceholders(text: string): string {
  return text.replace(/^(?:\s*\{\s*\})+(?=\s*\{)/, '');
}

/** Returns the beginning of a piece that belongs to the first object of the arguments. */
export type FirstObject = (piece: string) => string;

/**
 * Finds the end of the object with which arguments begin. It counts brackets outside of strings and
 * checks nothing else. Text that is not JSON may therefore have no end, and then all of it is
 * taken.
 */
export function firstObject(): FirstObject {
  let depth = 0;
  let isString = false;
  let isEscaped = false;
  let hasEnded = false;
  const pass = (character: string): void => {
    if (isEscaped) isEscaped = false;
    else if (isString && character === '\\') isEscaped = true;
    else if (character === '"') isString = !isString;
    else if (isString) return;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      hasEnded = depth === 0;
    }
  };
  return (piece) => {
    let at = 0;
    while (at < piece.length && !hasEnded) {
      pass(piece.charAt(at));
      at += 1;
    }
    return piece.slice(0, at);
  };
}
