/**
 * Measures the inputs of an embedding request for its quota hold. Each input is a separate prompt,
 * often a single word, so the JSON around it must not count: only the text of strings, numbers and
 * unknown names counts.
 */
import { type Body, originalLength } from '../bytes/body/body.ts';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../bytes/json/read/skip.ts';
import type { Member } from '../bytes/json/scan/scan.ts';
import { closeBrace, openBrace, openBracket, quote } from '../bytes/json/text.ts';
import type { InputSize, PromptSize } from '../call.ts';
import { eachElement } from './prompt-size.ts';

/** The size of a prompt that consists of separate inputs, and of what belongs to no input. */
export function sizeOfInputs(inputs: readonly InputSize[], restBytes: number): PromptSize {
  return {
    textBytes: restBytes,
    sealedBytes: 0,
    messages: 0,
    media: inputs.flatMap(({ media }) => media),
    inputs,
  };
}

/** The bytes of the members that are not in `known`, with their names. */
export function otherBytes(
  body: Body,
  members: readonly Member[],
  known: ReadonlySet<string>,
): number {
  let bytes = 0;
  for (const { name, nameSpan, value } of members) {
    if (!known.has(name)) bytes += originalLength(body, nameSpan.start, value.end);
  }
  return bytes;
}

/**
 * The bytes in a value that may be text: those of its strings, numbers and literals, and of the
 * names of members that are not in `known`.
 */
export function leafBytes(body: Body, start: number, known: readonly string[]): number {
  const { text } = body;
  let bytes = 0;
  const visit = (at: number): number => {
    if (text[at] === openBracket) return eachElement(text, at, visit);
    if (text[at] === openBrace) return visitObject(at);
    const end = skipValue(text, at);
    bytes += originalLength(body, at, end) - (text[at] === quote ? 2 : 0);
    return end;
  };
  const visitObject = (at: number): number => {
    let next = firstInside(text, at);
    while (text[next] !== closeBrace) {
      const nameEnd = skipString(text, next);
      if (!known.some((name) => isString(text, next, nameEnd, name))) bytes += nameEnd - next - 2;
      next = nextInside(text, visit(afterName(text, nameEnd)));
    }
    return next + 1;
  };
  visit(start);
  return bytes;
}
