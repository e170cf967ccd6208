/**
 * Skips over JSON that has been scanned, without creating objects or strings for what is skipped.
 * Nothing is validated again.
 */
import { decodeString } from '../../decode.ts';
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  isSpace,
  openBrace,
  openBracket,
  plainEnd,
  quote,
  spaceEnd,
} from '../text.ts';

/** Shorter strings are searched byte by byte; for longer ones a native search is faster. */
const shortRunBytes = 32;

/**
 * The offset of the first element or name in the container at `start`, or of its closing bracket.
 */
export function firstInside(bytes: Buffer, start: number): number {
  const at = start + 1;
  return bytes[at] === quote || bytes[at] === openBrace ? at : spaceEnd(bytes, at);
}

/**
 * The offset of the element or name after the value that ends at `end`, or of the closing bracket.
 */
export function nextInside(bytes: Buffer, end: number): number {
  switch (bytes[end]) {
    case closeBrace:
    case closeBracket:
      return end;
    case comma:
      return bytes[end + 1] === quote ? end + 1 : spaceEnd(bytes, end + 1);
    default: {
      const at = spaceEnd(bytes, end);
      return bytes[at] === comma ? spaceEnd(bytes, at + 1) : at;
    }
  }
}

/** The offset of the value of the member whose name ends at `nameEnd`. */
export function afterName(bytes: Buffer, nameEnd: number): number {
  const at = 1 + (bytes[nameEnd] === colon ? nameEnd : spaceEnd(bytes, nameEnd));
  return bytes[at] === quote ? at : spaceEnd(bytes, at);
}

/** The end of the value at `start`. */
export function skipValue(bytes: Buffer, start: number): number {
  switch (bytes[start]) {
    case quote:
      return skipString(bytes, start);
    case openBrace:
    case openBracket:
      return containerEnd(bytes, start);
    default:
      return wordEnd(bytes, start);
  }
}

/** The end of the name or string at `start`, past its closing quote. */
export function skipString(bytes: Buffer, start: number): number {
  let at = start + 1;
  for (const short = at + shortRunBytes; at < short; at += 1) {
    const byte = bytes[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) at += 1;
  }
  let end = bytes.indexOf(quote, at);
  while (end !== -1 && isEscaped(bytes, end, at)) end = bytes.indexOf(quote, end + 1);
  if (end === -1) throw notScanned();
  return end + 1;
}

/** Whether the name or string in a span, quotes included, decodes to this ASCII text. */
export function isString(bytes: Buffer, start: number, end: number, text: string): boolean {
  const length = end - start - 2;
  if (length !== text.length) {
    // An escape is longer than the character it encodes, at most six times.
    const mayBeEscaped = length > text.length && length <= 6 * text.length;
    if (!mayBeEscaped || plainEnd(bytes, start + 1) === end - 1) return false;
    return decodeString(bytes, start + 1, end - 1) === text;
  }
  for (let index = 0; index < length; index += 1) {
    if (bytes[start + 1 + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

function containerEnd(bytes: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  while (at < bytes.length) {
    switch (bytes[at]) {
      case quote:
        at = skipString(bytes, at);
        continue;
      case openBrace:
      case openBracket:
        depth += 1;
        break;
      case closeBrace:
      case closeBracket:
        depth -= 1;
        if (depth === 0) return at + 1;
        break;
      default:
    }
    at += 1;
  }
  throw notScanned();
}

/** The end of a number or literal: a comma, a closing bracket or white space. */
function wordEnd(bytes: Buffer, start: number): number {
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === comma || byte === closeBrace || byte === closeBracket || isSpace(byte)) return at;
  }
  throw notScanned();
}

/** Whether an odd number of backslashes precedes the byte; those before `from` are paired. */
function isEscaped(bytes: Buffer, at: number, from: number): boolean {
  let run = at;
  while (run > from && bytes[run - 1] === backslash) run -= 1;
  return (at - run) % 2 === 1;
}

/** The error for a caller that passed a span that was not scanned. */
export function notScanned(): RangeError {
  return new RangeError('There is no scanned JSON value at this span.');
}
