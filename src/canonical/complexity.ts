/**
 * How much a call may hold that is translated, and how much any call may hold in `extra_body`: that
 * is read and written in one go, and every other call of the process waits for it.
 */
import { GatewayError } from '../errors.ts';
import type { Turn } from './request.ts';

/** Strings, numbers, objects and so on in the body of a translated call. */
export const maxTranslatedValues = 100_000;
const maxMessages = 10_000;
/** Bytes of JSON in strings, all of them together; a character counts as one at least. */
const maxNestedBytes = 1_048_576;
const maxNestedValues = 50_000;

/** The refusal of a call that is too complex to translate. */
export function tooComplex(what: string, param?: string): GatewayError {
  return new GatewayError(
    'too_complex',
    `The request is too complex for this model: it holds more than ${what}. Send less.`,
    param === undefined ? {} : { param },
  );
}

/** Servers merge one; each level is one more walk over everything in it. */
const maxMergedLevels = 4;
const maxMergedBytes = 1_048_576;

/**
 * Checks an object that a server may merge into the body, such as `extra_body`. `level` is how many
 * of them are around this one; long plain strings, such as images, don't count in `bytes`.
 *
 * @throws GatewayError `too_complex`
 */
export function checkMerged(level: number, bytes: number): void {
  if (level >= maxMergedLevels) throw tooComplex(`${maxMergedLevels} levels of \`extra_body\``);
  if (bytes > maxMergedBytes) throw tooComplex(`${maxMergedBytes} bytes in \`extra_body\``);
}

/** @throws GatewayError `too_complex` */
export function checkMessageCount(count: number, param: string): void {
  if (count > maxMessages) throw tooComplex(`${maxMessages} messages`, param);
}

/**
 * Checks what a caller has sent as JSON within strings, which the scan of the body sees as text:
 * the arguments of calls and the results of tools.
 *
 * @throws GatewayError `too_complex` that names the part with which it is too much
 */
export function checkNestedJson(turns: readonly Turn[]): void {
  let bytes = 0;
  let values = 0;
  for (const text of nestedTexts(turns)) {
    if (!/^\s*[[{]/.test(text.json)) continue;
    bytes += text.json.length;
    if (bytes > maxNestedBytes) {
      throw tooComplex(`${maxNestedBytes} bytes of JSON inside strings`, text.at);
    }
    values += valuesIn(text.json);
    if (values > maxNestedValues) {
      throw tooComplex(`${maxNestedValues} values of JSON inside strings`, text.at);
    }
  }
}

interface NestedText {
  readonly at: string;
  readonly json: string;
}

function* nestedTexts(turns: readonly Turn[]): Generator<NestedText> {
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

/** How many values a JSON text holds. Whether it is JSON is for its parser to say. */
function valuesIn(json: string): number {
  let values = 1;
  let isInString = false;
  let isBehindOpening = false;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (isInString) {
      if (code === backslash) at += 1;
      else if (code === quote) isInString = false;
      continue;
    }
    if (code <= space) continue;
    // An element follows an opening bracket that is not closed at once, and every comma.
    const isClosing = code === closeBracket || code === closeBrace;
    if ((isBehindOpening && !isClosing) || code === comma) values += 1;
    isBehindOpening = code === openBracket || code === openBrace;
    isInString = code === quote;
  }
  return values;
}

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
