/**
 * The ways in which a text can be read, so that a secret is recognised in each of them: without
 * white space, without separators, and decoded from Base64, hex, lists of numbers and the like.
 */
import { invisible } from './decode-escapes.ts';

/**
 * The characters of a text in one way of reading it. Character `at` of `letters` was read from
 * `starts[at]` to `ends[at]` of the text.
 */
export interface Reading {
  readonly letters: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** All readings of a text, by what may be looked for in them. */
export interface Readings {
  /** As a person reads it: words of a message look like words of a secret. */
  readonly plain: readonly Reading[];
  /** Only the letters and digits. */
  readonly alphanumeric: Reading;
  /** Decoded: ordinary messages give no words here. */
  readonly decoded: readonly Reading[];
}

/** In place of a character that cannot be part of a secret. */
export const unreadable = '\uFFFD';

/** Up to three characters stand between the characters of a secret: `s", "k", "-`. */
const strides = [2, 3, 4];
/** A decoded text is decoded again where at least this many characters in a row are readable. */
const minNestedChars = 12;

/** No part of a secret is shorter. */
const minRunBytes = 6;

/** Encodings that pack bytes into digits of a fixed number of bits. */
interface Packing {
  readonly digits: ReadonlyMap<string, number>;
  readonly bits: number;
  /** The number of digits after which the boundaries of bytes and digits coincide again. */
  readonly period: number;
}
const upperCase = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const alphabet = `${upperCase}${upperCase.toLowerCase()}0123456789`;
const hex: Packing = { digits: caseless('0123456789abcdef'), bits: 4, period: 2 };
const base64: Packing = { digits: valuesOf(`${alphabet}+/`), bits: 6, period: 4 };
const base64Url: Packing = { digits: valuesOf(`${alphabet}-_`), bits: 6, period: 4 };
const base32: Packing = { digits: caseless(`${upperCase}234567`), bits: 5, period: 8 };
const binary: Packing = { digits: valuesOf('01'), bits: 1, period: 8 };
const packings: readonly Packing[] = [hex, base64, base64Url, base32, binary];
const nestedPackings: readonly Packing[] = [hex, base64, base64Url];

/** Lists of character codes, such as `[115, 107]`, `0x73 0x6b` or `{"0":115,"1":107}`. */
const numbers: readonly { readonly pattern: RegExp; readonly radix: number }[] = [
  { pattern: /\d{1,3}/g, radix: 10 },
  { pattern: /[0-7]{1,3}/g, radix: 8 },
  { pattern: /[0-9a-f]{1,4}/gi, radix: 16 },
];
/**
 * Quoted-printable with its soft line breaks, and octal escapes. They are not replaced in the text
 * itself, because `top_k=40` is no `top_k@`.
 */
const escapes = /=([0-9a-f]{2})|\\{1,4}(?:o\{)?([0-7]{2,3})\}?|= {1,2}/gi;
/** A line end inside a JSON string inside a JSON string. */
const escapedSpace = /\\{1,4}[nrt]/g;

/** Returns all readings of a text. The time is proportional to the length of the text. */
export function readingsOf(text: string): Readings {
  const characters = charactersOf(text);
  const plain = only(/[^ ]/, characters);
  const oneLine = only(
    /[^ ]/,
    replaced(escapedSpace, characters, () => ''),
  );
  const unescaped = replaced(escapes, characters, (match) => {
    const [, quotedPrintable, octal] = match;
    if (quotedPrintable !== undefined) return readable(Number.parseInt(quotedPrintable, 16));
    return octal === undefined ? '' : readable(Number.parseInt(octal, 8));
  });
  const lists = numbers.flatMap(({ pattern, radix }) => {
    const list = numbersIn(characters, pattern, radix);
    return [list, ...everyNth(2, list)];
  });
  const packed = packings.flatMap((packing) => unpacked(packing, oneLine));
  const once = [...packed, ...lists];
  const escaped = only(/[^ ]/, unescaped);
  const nested = [...once, escaped].flatMap((reading) => {
    const inner = readableParts(reading);
    return inner === undefined ? [] : nestedPackings.flatMap((packing) => unpacked(packing, inner));
  });
  return {
    plain: [plain, oneLine, escaped],
    alphanumeric: only(/[a-z0-9]/i, plain),
    decoded: [...strides.flatMap((stride) => everyNth(stride, plain)), ...once, ...nested],
  };
}

/** Returns the visible characters of a text. */
export function visibleLetters(text: string): string {
  return charactersOf(text).letters.replaceAll(' ', '');
}

/** The characters of a text without invisible ones; white space is a space. */
function charactersOf(text: string): Reading {
  const reading = emptyReading();
  let at = 0;
  for (const character of text) {
    const end = at + character.length;
    for (const letter of lettersOf(character)) append(reading, letter, at, end);
    at = end;
  }
  return reading;
}

/** Full-width and mathematical letters are read as the plain letters they look like. */
function lettersOf(character: string): string {
  if (character >= ' ' && character < '\x7F') return character;
  if (/\s/.test(character)) return ' ';
  const code = character.codePointAt(0) ?? 0;
  // Tags are invisible copies of ASCII.
  if (code > 0xe0020 && code < 0xe007f) return String.fromCharCode(code - 0xe0000);
  if (invisible.test(character)) return '';
  const plain = character.normalize('NFKC');
  return /^[!-~]*$/.test(plain) || plain.length === 1 ? plain : unreadable;
}

type MutableReading = { letters: string; readonly starts: number[]; readonly ends: number[] };

function emptyReading(): MutableReading {
  return { letters: '', starts: [], ends: [] };
}

function append(reading: MutableReading, letter: string, start: number, end: number): void {
  reading.letters += letter;
  reading.starts.push(start);
  reading.ends.push(end);
}

/** Appends a letter that was read from the characters `from` to `to` of another reading. */
function appendFrom(
  reading: MutableReading,
  letter: string,
  { starts, ends }: Reading,
  [from, to]: readonly [number, number],
): void {
  append(reading, letter, starts[from] ?? 0, ends[to] ?? 0);
}

function only(pattern: RegExp, source: Reading): Reading {
  const reading = emptyReading();
  for (let at = 0; at < source.letters.length; at += 1) {
    const letter = source.letters.charAt(at);
    if (pattern.test(letter)) appendFrom(reading, letter, source, [at, at]);
  }
  return reading;
}

/** Every nth character of a reading, from each of the first n characters on. */
function everyNth(stride: number, source: Reading): readonly Reading[] {
  return Array.from({ length: stride }, (_, first) => {
    const reading = emptyReading();
    for (let at = first; at < source.letters.length; at += stride) {
      appendFrom(reading, source.letters.charAt(at), source, [at, at]);
    }
    return reading;
  });
}

function replaced(
  pattern: RegExp,
  source: Reading,
  replace: (match: RegExpExecArray) => string,
): Reading {
  const reading = emptyReading();
  let at = 0;
  const copyTo = (end: number) => {
    for (; at < end; at += 1) appendFrom(reading, source.letters.charAt(at), source, [at, at]);
  };
  for (const match of source.letters.matchAll(pattern)) {
    copyTo(match.index);
    at += match[0].length;
    const letter = replace(match);
    if (letter !== '') appendFrom(reading, letter, source, [match.index, at - 1]);
  }
  copyTo(source.letters.length);
  return reading;
}

function numbersIn(source: Reading, pattern: RegExp, radix: number): Reading {
  const reading = emptyReading();
  for (const match of source.letters.matchAll(pattern)) {
    const letter = readable(Number.parseInt(match[0], radix));
    appendFrom(reading, letter, source, [match.index, match.index + match[0].length - 1]);
  }
  return reading;
}

/**
 * Decodes the digits of a reading, whatever stands between them. Where the encoded text begins is
 * unknown, so that it is decoded from each of the first digits on.
 */
function unpacked({ digits, bits, period }: Packing, source: Reading): readonly Reading[] {
  const values: number[] = [];
  const places: number[] = [];
  for (let at = 0; at < source.letters.length; at += 1) {
    const value = digits.get(source.letters.charAt(at));
    if (value === undefined) continue;
    values.push(value);
    places.push(at);
  }
  return Array.from({ length: period }, (_, first) => {
    const reading = emptyReading();
    const bytes = bytesIn(values.slice(first), bits);
    for (const { from, to } of readableRuns(bytes)) {
      for (let at = from; at < to; at += 1) {
        const start = first + Math.floor((8 * at) / bits);
        const end = first + Math.ceil((8 * at + 8) / bits) - 1;
        const code = bytes[at] ?? 0;
        // The zeros of UTF-16.
        if (code === 0) continue;
        const letter = String.fromCharCode(code);
        appendFrom(reading, letter, source, [places[start] ?? 0, places[end] ?? 0]);
      }
      const end = places[first + Math.floor((8 * to) / bits)] ?? 0;
      appendFrom(reading, unreadable, source, [end, end]);
    }
    return reading;
  });
}

function bytesIn(values: readonly number[], bits: number): Uint8Array {
  const bytes = new Uint8Array(Math.floor((values.length * bits) / 8));
  let buffer = 0;
  let buffered = 0;
  let count = 0;
  for (const value of values) {
    buffer = ((buffer << bits) | value) & 0xffff;
    buffered += bits;
    if (buffered < 8) continue;
    buffered -= 8;
    bytes[count] = (buffer >> buffered) & 0xff;
    count += 1;
  }
  return bytes;
}

/** The runs of bytes that could hold a part of a secret; most of what is decoded is noise. */
function readableRuns(
  bytes: Uint8Array,
): readonly { readonly from: number; readonly to: number }[] {
  const runs: { readonly from: number; readonly to: number }[] = [];
  let from = 0;
  for (let at = 0; at <= bytes.length; at += 1) {
    const code = bytes[at] ?? 0xff;
    if (code === 0 || (code > 0x20 && code < 0x7f)) continue;
    if (at - from >= minRunBytes) runs.push({ from, to: at });
    from = at + 1;
  }
  return runs;
}

function valuesOf(digits: string): ReadonlyMap<string, number> {
  return new Map(Array.from(digits, (digit, value) => [digit, value]));
}

function caseless(digits: string): ReadonlyMap<string, number> {
  return new Map([...valuesOf(digits.toLowerCase()), ...valuesOf(digits.toUpperCase())]);
}

function readable(code: number): string {
  return code > 0x20 && code < 0x7f ? String.fromCharCode(code) : unreadable;
}

/** The parts of a decoded text that are long enough to be encoded once more. */
function readableParts(source: Reading): Reading | undefined {
  const parts = source.letters.matchAll(/[!-~]+/g);
  const reading = emptyReading();
  for (const match of parts) {
    const end = match.index + match[0].length;
    if (match[0].length < minNestedChars) continue;
    for (let at = match.index; at < end; at += 1) {
      appendFrom(reading, source.letters.charAt(at), source, [at, at]);
    }
  }
  return reading.letters === '' ? undefined : reading;
}
