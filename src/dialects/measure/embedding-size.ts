/**
 * Measures the inputs of an embedding request for its quota hold. Each input is a separate prompt,
 * often a single word, so the JSON around it must not count: only the text of strings, numbers and
 * unknown names counts.
 */
import { originalLength } from '../../bytes/body/body.ts';
import { root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { InputSize, PromptSize } from '../../call.ts';

export function sizeOfInputs(inputs: readonly InputSize[], restBytes: number): PromptSize {
  return {
    textBytes: restBytes,
    sealedBytes: 0,
    messages: 0,
    media: inputs.flatMap(({ media }) => media),
    inputs,
  };
}

export function otherBytes(tape: Tape, known: ReadonlySet<string>): number {
  let bytes = 0;
  for (const value of tape.members(root)) {
    if (known.has(tape.name(value))) continue;
    bytes += originalLength(tape.body, tape.nameStart(value), tape.end(value));
  }
  return bytes;
}

/** Bytes of strings, numbers, literals and names not in `known`, which may be text. */
export function leafBytes(tape: Tape, value: Value, known: readonly string[]): number {
  let bytes = 0;
  const end = tape.after(value);
  for (let at = value; at < end; at = tape.first(at)) {
    const isMember = at !== value && tape.nameStart(at) !== 0;
    if (isMember && !known.includes(tape.name(at))) {
      bytes += tape.nameEnd(at) - tape.nameStart(at) - 2;
    }
    if (tape.isString(at)) bytes += tape.length(at) - 2;
    else if (!tape.isObject(at) && !tape.isArray(at)) bytes += tape.length(at);
  }
  return bytes;
}
