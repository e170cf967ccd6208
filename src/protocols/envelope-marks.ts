/** Finds envelopes of the gateway in the bytes of a request, in every spelling that JSON has. */
import type { Tape, Value } from '../bytes/json/tape.ts';
import { envelopePrefixes, isEnvelope } from '../canonical/envelope.ts';

const plain: readonly Buffer[] = envelopePrefixes.map((prefix) => Buffer.from(`"${prefix}`));
const escapeMark = Buffer.from(String.raw`\u00`);
/** The characters before the first escape. */
const escaped: readonly Buffer[] = [
  ...new Set(
    envelopePrefixes.flatMap((prefix) => [...prefix].map((_, end) => prefix.slice(0, end))),
  ),
].map((begun) => Buffer.from(String.raw`"${begun}\u00`));
/** Each letter may be an escape of six bytes. */
const longestPrefix = 6 * Math.max(...envelopePrefixes.map(({ length }) => length));

export function mayHoldEnvelope(text: Buffer): boolean {
  if (plain.some((mark) => text.includes(mark))) return true;
  return text.includes(escapeMark) && escaped.some((mark) => text.includes(mark));
}

export function isEnvelopeAt(tape: Tape, value: Value): boolean {
  if (!tape.isString(value)) return false;
  const start = tape.start(value) + 1;
  const letters = tape.bytes
    .toString('latin1', start, Math.min(tape.end(value), start + longestPrefix))
    .replace(/\\u([\da-f]{4})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return isEnvelope(letters);
}

/** An expression for a word in JSON, each of whose letters may be an escape. */
export function inEverySpelling(word: string): string {
  return [...word]
    .map((letter) => {
      const hex = letter.charCodeAt(0).toString(16);
      const digits = [...hex].map((digit) => `[${digit}${digit.toUpperCase()}]`).join('');
      return String.raw`(?:${letter}|\\u00${digits})`;
    })
    .join('');
}
