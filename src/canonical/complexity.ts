/**
 * Limits on the size of a translated call, and on `extra_body` in any call. These are parsed and
 * written without yielding to the event loop, so that a huge one would block every other call.
 */

import { GatewayError } from '../errors.ts';
import {
  closeBrace,
  closeBracket,
  comma,
  openBrace,
  openBracket,
  quote,
  stringEnd,
} from '../json-strings.ts';
import type { Turn } from './request.ts';

/** JSON values (strings, numbers, objects and so on) in the body of a translated call. */
export const maxTranslatedValues = 100_000;
const maxMessages = 10_000;
/** Total length of the JSON texts inside strings. */
const maxNestedBytes = 1_048_576;
const maxNestedValues = 50_000;

export function tooComplex(limit: string, param?: string): GatewayError {
  return new GatewayError(
    'too_complex',
    `The request is too complex for this model: it has more than ${limit}. Send less.`,
    param === undefined ? {} : { param },
  );
}

/** Servers merge `extra_body` into the body; each level costs one more pass over its contents. */
const maxMergedLevels = 4;
const maxMergedBytes = 1_048_576;

/**
 * Checks an object that a server may merge into the body, such as `extra_body`. `level` is the
 * number of such objects around this one. `bytes` leaves out long plain strings, such as images.
 */
export function checkMerged(level: number, bytes: number): void {
  if (level >= maxMergedLevels) throw tooComplex(`${maxMergedLevels} levels of \`extra_body\``);
  if (bytes > maxMergedBytes) throw tooComplex(`${maxMergedBytes} bytes in \`extra_body\``);
}

export function checkMessageCount(count: number, param: string): void {
  if (count > maxMessages) throw tooComplex(`${maxMessages} messages`, param);
}

/**
 * Checks the JSON that a caller sent inside strings: arguments of tool calls and tool results. The
 * scan of the body treats these as plain strings and doesn't count their contents.
 */
export function checkNestedJson(turns: readonly Turn[]): void {
  let bytes = 0;
  let values = 0;
  for (const text of nestedTexts(turns)) {
    if (!/^\s*[[{]/.test(text.json)) continue;
    bytes += Buffer.byteLength(text.json);
    if (bytes > maxNestedBytes) {
      throw tooComplex(`${maxNestedBytes} bytes of JSON inside strings`, text.at);
    }
    values += valuesIn(text.json);
    if (values > maxNestedValues) {
      throw tooComplex(`${maxNestedValues} values of JSON inside strings`, text.at);
    }
  }
}

function* nestedTexts(
  turns: readonly Turn[],
): Generator<{ readonly at: string; readonly json: string }> {
  for (const { parts } of turns) {
    for (const part of parts) {
      if (part.kind === 'tool_call') yield { at: part.at, json: part.arguments };
      if (part.kind !== 'tool_result') continue;
      for (const piece of part.content) {
        if (piece.kind === 'text') yield { at: piece.at, json: piece.text };
      }
    }
  }
}

/** Doesn't check that the text is valid; the parser does. */
function valuesIn(json: string): number {
  let values = 1;
  let isAfterOpening = false;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code <= space) continue;
    // Every comma precedes a value, and so does an opening bracket that isn't closed immediately.
    const isClosing = code === closeBracket || code === closeBrace;
    if ((isAfterOpening && !isClosing) || code === comma) values += 1;
    isAfterOpening = code === openBracket || code === openBrace;
    if (code === quote) at = stringEnd(json, at + 1);
  }
  return values;
}

const space = 0x20;
