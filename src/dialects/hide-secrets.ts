/**
 * Removes a channel's secrets from an upstream's text in any form: encoded, reversed, in another
 * case, with separators or invisible characters inside, or only in part.
 */
import { withoutEscapes } from './decode-escapes.ts';
import { type Parts, partsOf, type SecretParts, wholeOnly } from './secret-parts.ts';
import { type Reading, readingsOf } from './secret-readings.ts';

/** Replaces everything that is removed. */
export const redacted = '[redacted]';

/**
 * The rest of a word around a part of a secret is removed with it: a character that is missing or
 * added inside a secret leaves fragments that are too short to be recognised.
 */
const wordCharacter = /[\w*+/-]/;
/** The same for a part that was decoded, up to the end of the encoded text. */
const encodedCharacter = /[\w*+/=:%\\,.-]/;

/** A range of the text; `to` is exclusive. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the text with the secrets removed and with encoded printable ASCII characters decoded. Of
 * `hosts`, only the whole is removed. The running time is proportional to the length of the text.
 */
export function withoutSecrets(
  text: string,
  secrets: readonly string[],
  hosts: readonly string[] = [],
): string {
  const all = [...secrets, ...hosts].filter((secret) => secret !== '');
  // Secrets that are too short for anything else are removed here.
  const plain = all.reduce(
    (kept, secret) => kept.replaceAll(secret, redacted),
    withoutEscapes(text),
  );
  const parts = [...secrets.map(partsOf), ...hosts.map(wholeOnly)];
  return withoutSpans(plain, spansIn(plain, parts));
}

function spansIn(text: string, secrets: readonly SecretParts[]): readonly Span[] {
  const { plain, alphanumeric, decoded } = readingsOf(text);
  const wholes = secrets.flatMap((secret) => secret.wholes);
  const plainParts = secrets.map((secret) => secret.plain);
  const decodedParts = secrets.map((secret) => secret.decoded);
  const alphanumericParts = secrets.map((secret) => secret.alphanumeric);
  const plainSpans = [
    ...plain.flatMap((reading) => partSpans(reading, plainParts)),
    ...partSpans(alphanumeric, alphanumericParts),
  ];
  const decodedSpans = decoded.flatMap((reading) => [
    ...wholeSpans(reading, wholes),
    ...partSpans(reading, decodedParts),
  ]);
  return [
    ...plain.flatMap((reading) => wholeSpans(reading, wholes)),
    ...extended(plainSpans, text, wordCharacter),
    ...extended(decodedSpans, text, encodedCharacter),
  ];
}

function wholeSpans(reading: Reading, secrets: readonly string[]): readonly Span[] {
  const letters = reading.letters.toLowerCase();
  return secrets.flatMap((secret) => {
    const spans: Span[] = [];
    let at = letters.indexOf(secret);
    while (at !== -1) {
      spans.push(spanOf(reading, at, at + secret.length));
      at = letters.indexOf(secret, at + secret.length);
    }
    return spans;
  });
}

/** Finds the runs of parts that overlap or touch each other. */
function partSpans(reading: Reading, secrets: readonly Parts[]): readonly Span[] {
  const letters = reading.letters.toLowerCase();
  const lengths = new Set(secrets.map(({ length }) => length).filter((length) => length > 0));
  return [...lengths].flatMap((length) => {
    const texts = secrets.filter((parts) => parts.length === length).map((parts) => parts.texts);
    const spans: Span[] = [];
    let from = 0;
    let to = -1;
    for (let at = 0; at + length <= letters.length; at += 1) {
      const part = letters.slice(at, at + length);
      if (!texts.some((parts) => parts.has(part))) continue;
      if (at > to) {
        if (to !== -1) spans.push(spanOf(reading, from, to));
        from = at;
      }
      to = at + length;
    }
    if (to !== -1) spans.push(spanOf(reading, from, to));
    return spans;
  });
}

function spanOf({ starts, ends }: Reading, from: number, to: number): Span {
  return { from: starts[from] ?? 0, to: ends[to - 1] ?? 0 };
}

/** Extends each range by the characters around it, without reading any character twice. */
function extended(spans: readonly Span[], text: string, character: RegExp): readonly Span[] {
  const merged: Span[] = [];
  let last = 0;
  for (const { from, to } of sorted(spans)) {
    if (to <= last) continue;
    let start = Math.max(from, last);
    let end = to;
    while (start > last && character.test(text.charAt(start - 1))) start -= 1;
    while (end < text.length && character.test(text.charAt(end))) end += 1;
    merged.push({ from: start, to: end });
    last = end;
  }
  return merged;
}

function sorted(spans: readonly Span[]): readonly Span[] {
  return [...spans].sort((a, b) => a.from - b.from);
}

function withoutSpans(text: string, spans: readonly Span[]): string {
  let kept = '';
  let at = 0;
  for (const { from, to } of sorted(spans)) {
    // Parts side by side are removed as one.
    if (from > at || (from === at && kept === '')) kept += `${text.slice(at, from)}${redacted}`;
    at = Math.max(at, to);
  }
  return kept + text.slice(at);
}
