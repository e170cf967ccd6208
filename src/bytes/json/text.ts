/**
 * Finds the ends of JSON tokens (RFC 8259) in bytes, and throws if one is malformed. Every function
 * takes the offset where a token begins and returns the offset where it ends.
 */
import { GatewayError } from '../../errors.ts';
import { asBuffer } from '../decode.ts';

/** A part of a body in byte offsets, end exclusive, without surrounding white space. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export const quote = 0x22;
export const backslash = 0x5c;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;

const space = 0x20;
const spaces = 0x20202020;
const topBits = 0x80808080;
const minus = 0x2d;
const plus = 0x2b;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const lowerU = 0x75;
const trueText = Buffer.from('true');
const falseText = Buffer.from('false');
const nullText = Buffer.from('null');

/** After this many four-byte words, native searches over blocks of the same size are faster. */
const blockWords = 2048;

/**
 * Bytes with a view of the same memory as four-byte words, which makes long strings five times as
 * fast to scan. Reads past the end yield 0, a byte that JSON never allows.
 */
export interface JsonText {
  readonly bytes: Buffer;
  readonly words: Int32Array;
  /** Added to an offset into `bytes`, it gives the offset into `words`, in bytes. */
  readonly shift: number;
}

export function jsonText(bytes: Uint8Array): JsonText {
  const shift = bytes.byteOffset & 3;
  const wordCount = (bytes.byteLength + shift) >> 2;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset - shift, wordCount);
  return { bytes: asBuffer(bytes), words, shift };
}

export function invalidJson(at: number): GatewayError {
  return new GatewayError(
    'invalid_request',
    `The request body is not valid JSON at byte ${at}. Send one JSON object (RFC 8259).`,
    { reason: 'invalid_json', atByte: at },
  );
}

export function isSpace(byte: number): boolean {
  return byte <= space && (byte === space || byte === 0x0a || byte === 0x0d || byte === 0x09);
}

// What runs for every few bytes of a body inlines its checks, because in cold code calls would
// dominate. For the same reason, callers of `spaceEnd` first look for the byte that they expect.

export function spaceEnd(bytes: Uint8Array, at: number): number {
  for (let end = at; ; end += 1) {
    const byte = bytes[end];
    if (byte !== space && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return end;
  }
}

/** The end of the literal characters at `at`: the first quote, escape or control character. */
export function plainEnd(bytes: Uint8Array, at: number): number {
  for (let end = at; ; end += 1) {
    const byte = bytes[end] ?? 0;
    if (byte < space || byte === quote || byte === backslash) return end;
  }
}

export function scalarEnd(text: JsonText, at: number): number {
  const { bytes } = text;
  switch (bytes[at]) {
    case quote:
      return stringEnd(text, at);
    case 0x74:
      return literalEnd(bytes, at, trueText);
    case 0x66:
      return literalEnd(bytes, at, falseText);
    case 0x6e:
      return literalEnd(bytes, at, nullText);
    default:
      return numberEnd(bytes, at);
  }
}

/** The end of the string that begins with the quote at `at`, past its closing quote. */
export function stringEnd(text: JsonText, at: number): number {
  const { bytes, shift } = text;
  let end = at + 1;
  for (;;) {
    if (((end + shift) & 3) === 0) end = plainWordsEnd(text, end);
    const byte = bytes[end] ?? 0;
    if (byte === quote) return end + 1;
    if (byte < space) throw invalidJson(end);
    end = byte === backslash ? escapeEnd(bytes, end) : end + 1;
  }
}

/** `at` is the beginning of a word. Stops at a quote, backslash or control character. */
function plainWordsEnd(text: JsonText, at: number): number {
  const { words, shift } = text;
  let index = (at + shift) >> 2;
  for (;;) {
    for (const stop = index + blockWords; index < stop; index += 1) {
      // Past the last whole word, `?? 0` reads as control characters.
      const word = words[index] ?? 0;
      // Flipping bit 1 maps the quote (0x22) to 0x20 and the space to 0x22, so that "below 0x21"
      // means the quote and the control characters.
      const quoteIsLow = word ^ 0x02020202;
      const backslashIsZero = word ^ 0x5c5c5c5c;
      const low = (quoteIsLow - 0x21212121) & ~quoteIsLow;
      const nil = (backslashIsZero - 0x01010101) & ~backslashIsZero;
      if (((low | nil) & topBits) !== 0) return (index << 2) - shift;
    }
    index = plainBlocksEnd(text, index);
  }
}

/** Checks whole blocks, twice as fast on long runs; stops before the first that is not plain. */
function plainBlocksEnd(text: JsonText, index: number): number {
  let end = index;
  while (isPlainBlock(text, end, end + blockWords)) end += blockWords;
  return end;
}

function isPlainBlock({ bytes, words, shift }: JsonText, start: number, end: number): boolean {
  if (end > words.length) return false;
  const block = bytes.subarray((start << 2) - shift, (end << 2) - shift);
  if (block.indexOf(quote) !== -1 || block.indexOf(backslash) !== -1) return false;
  for (let index = start; index < end; index += 4) {
    const controls =
      anyByteBelow(words[index] ?? 0, spaces) |
      anyByteBelow(words[index + 1] ?? 0, spaces) |
      anyByteBelow(words[index + 2] ?? 0, spaces) |
      anyByteBelow(words[index + 3] ?? 0, spaces);
    if ((controls & topBits) !== 0) return false;
  }
  return true;
}

/**
 * Sets some of the {@link topBits} if a byte of the word is less than the byte repeated in `bound`
 * ("Bit Twiddling Hacks", hasless).
 */
function anyByteBelow(word: number, bound: number): number {
  return (word - bound) & ~word;
}

function escapeEnd(bytes: Uint8Array, at: number): number {
  const kind = bytes[at + 1] ?? 0;
  if (kind === lowerU) return unicodeEscapeEnd(bytes, at);
  if (!isSimpleEscape(kind)) throw invalidJson(at + 1);
  return at + 2;
}

function unicodeEscapeEnd(bytes: Uint8Array, at: number): number {
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    if (!isHexDigit(bytes[digit] ?? 0)) throw invalidJson(digit);
  }
  return at + 6;
}

/**
 * The characters that may follow a backslash, except `u`: `"`, `\`, `/`, `b`, `f`, `n`, `r`, `t`.
 */
function isSimpleEscape(byte: number): boolean {
  switch (byte) {
    case quote:
    case backslash:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true;
    default:
      return false;
  }
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20;
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66);
}

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= nine;
}

function literalEnd(bytes: Uint8Array, at: number, literal: Uint8Array): number {
  for (let index = 1; index < literal.length; index += 1) {
    if (bytes[at + index] !== literal[index]) throw invalidJson(at + index);
  }
  return at + literal.length;
}

function numberEnd(bytes: Uint8Array, at: number): number {
  let end = bytes[at] === minus ? at + 1 : at;
  // No leading zeros: 01 is not a number.
  end = bytes[end] === zero ? end + 1 : digitsEnd(bytes, end);
  if (bytes[end] === dot) end = digitsEnd(bytes, end + 1);
  if (((bytes[end] ?? 0) | 0x20) === 0x65) {
    const sign = bytes[end + 1];
    end = digitsEnd(bytes, sign === plus || sign === minus ? end + 2 : end + 1);
  }
  return end;
}

/** The end of the digits at `at`; at least one is required. */
function digitsEnd(bytes: Uint8Array, at: number): number {
  let end = at;
  while (isDigit(bytes[end] ?? 0)) end += 1;
  if (end === at) throw invalidJson(at);
  return end;
}
