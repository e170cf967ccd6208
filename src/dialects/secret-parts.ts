/** Decides which parts of a secret are removed from a text, and which are ordinary words. */
import { unreadable, visibleLetters } from './secret-readings.ts';

/**
 * A part of a secret is removed from this many characters on; of a secret shorter than twice that,
 * from half of it on.
 */
const maxPartChars = 8;
/**
 * With fewer characters, a text contains a part by accident. Secrets shorter than this are removed
 * only where they appear literally.
 */
const minPartChars = 6;
/**
 * Where separators are ignored, a part has this many letters and digits: a text may well speak of
 * `prompt caching` if a header is `prompt-caching-2024`.
 */
const minAlphanumericChars = 12;
/** Longer secrets are compared up to this length. */
const maxComparedChars = 2_048;

/** A word of a text, of at most fifteen letters. */
const word = /(?<![A-Za-z0-9])(?:[a-z]{1,15}|[A-Z][a-z]{1,14}|[A-Z]{1,15})(?![A-Za-z0-9])/g;
/** Random letters mostly have such a row of consonants, and words have not. */
const unpronounceable = /[b-df-hj-np-tv-xz]{5}/i;
const date = /(?<!\d)(?:19|20)\d\d-\d\d-\d\d(?!\d)/g;
const mediaType = /^(?:application|audio|image|multipart|text|video)\/[^\s/]+$/i;

/** Parts of one length, in lower case. */
export interface Parts {
  readonly length: number;
  readonly texts: ReadonlySet<string>;
}

/** What is searched for, forwards and backwards. */
export interface SecretParts {
  /** The whole secret. */
  readonly wholes: readonly string[];
  /** The parts to remove from a text as it is. */
  readonly plain: Parts;
  /** The parts to remove from what was decoded. */
  readonly decoded: Parts;
  /** The parts to remove from a text without its separators. */
  readonly alphanumeric: Parts;
}

const noParts: Parts = { length: 0, texts: new Set() };

/** A secret of which only the whole is removed. */
export function wholeOnly(secret: string): SecretParts {
  const letters = visibleLetters(secret.slice(0, maxComparedChars)).toLowerCase();
  const isComparable = letters.length >= minPartChars && !letters.includes(unreadable);
  const wholes = isComparable ? [...withReversed([letters])] : [];
  return { wholes, plain: noParts, decoded: noParts, alphanumeric: noParts };
}

/**
 * Returns the parts of a secret to search for. A word or a date inside it is left out, because any
 * message may contain it, and so are parts of URLs, media types and texts with spaces, which hosts
 * set as headers.
 */
export function partsOf(secret: string): SecretParts {
  const whole = wholeOnly(secret);
  const isOrdinary = secret.includes('://') || mediaType.test(secret) || /\s/.test(secret);
  if (isOrdinary || whole.wholes.length === 0) return whole;
  const letters = visibleLetters(secret.slice(0, maxComparedChars));
  const length = Math.max(minPartChars, Math.min(maxPartChars, Math.ceil(letters.length / 2)));
  return {
    ...whole,
    plain: plainParts(letters, length),
    decoded: partsAt(letters, length, () => true),
    alphanumeric: alphanumericParts(letters),
  };
}

function plainParts(letters: string, length: number): Parts {
  const words = [...letters.matchAll(word), ...letters.matchAll(date)]
    .filter(([text]) => !unpronounceable.test(text))
    .map((match) => ({ from: match.index, to: match.index + match[0].length }))
    .sort((a, b) => a.from - b.from);
  // Of a single word, all but its first or last letter.
  if (words.some(({ from, to }) => to - from === letters.length)) {
    return partsAt(letters, Math.max(minPartChars, letters.length - 1), () => true);
  }
  // Where the word of each character ends, with the separators on both sides.
  const ends = new Map<number, number>();
  for (const { from, to } of words) {
    for (let at = from - 1; at <= to; at += 1) ends.set(at, to + 1);
  }
  return partsAt(letters, length, (at) => at + length > (ends.get(at) ?? 0));
}

/** Two words side by side may be ordinary as well: three are not, nor is anything with a digit. */
function alphanumericParts(letters: string): Parts {
  const segments = [...letters.matchAll(/[a-z0-9]+/gi)].map(([segment]) => segment);
  const segmentAt = segments.flatMap((segment, at) => Array.from(segment, () => at));
  const joined = segments.join('');
  return partsAt(joined, minAlphanumericChars, (at) => {
    const end = at + minAlphanumericChars;
    const wordCount = (segmentAt[end - 1] ?? 0) - (segmentAt[at] ?? 0) + 1;
    return wordCount > 2 || /\d/.test(joined.slice(at, end));
  });
}

function partsAt(letters: string, length: number, counts: (at: number) => boolean): Parts {
  const starts = Array.from({ length: Math.max(0, letters.length - length + 1) }, (_, at) => at);
  const texts = starts.filter(counts).map((at) => letters.slice(at, at + length).toLowerCase());
  return { length, texts: withReversed(texts.filter((text) => !text.includes(unreadable))) };
}

function withReversed(texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.flatMap((text) => [text, [...text].reverse().join('')]));
}
