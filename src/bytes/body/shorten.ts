/**
 * Leaves the inside of long strings out of a body's text: a body of 5 MB is mostly one picture in
 * Base64, of which nothing is ever read. What is left out is ASCII without quotes and escapes, so
 * that the text is JSON if the body is. The body may be none where the text is: control characters
 * in what was left out are not looked for, which would be a tenth of a large call. Whoever parses
 * all of it refuses it (`parsedPart`), and so do we if an upstream fails at it (`faultInGaps`).
 */
import { isAscii } from 'node:buffer';
import { asBuffer } from '../decode.ts';
import { backslash, quote } from '../json/text.ts';
import { type Body, bytesBeforeGap, type Gap, joinedBody } from './body.ts';

/** A smaller body is scanned as it is. */
const leastBodyBytes = 32 * 1024;
/** Shorter gaps are not worth their search. */
const leastGapBytes = 4096;
/** A body that came as one is looked through in parts of this size. */
const windowBytes = 64 * 1024;
/**
 * Stands for a gap. Only a string may hold it: a gap in anything else makes the text no JSON, and
 * then the body itself is asked.
 */
const standIn = Buffer.from('~');

/** A text under way. */
interface Text {
  readonly kept: Uint8Array[];
  byteLength: number;
  readonly gaps: { readonly at: number; bytes: number }[];
  /** The last gap reaches to the end of what was taken in, and may go on. */
  isInGap: boolean;
}

/**
 * The body that came in these pieces. Where less than half of it can be left out all of it is text,
 * joined, and the pieces are not kept.
 */
export function bodyOf(pieces: readonly Uint8Array[], byteLength: number): Body {
  if (byteLength < leastBodyBytes) return joinedBody(pieces);
  const text: Text = { kept: [], byteLength: 0, gaps: [], isInGap: false };
  for (const piece of pieces) {
    const bytes = asBuffer(piece);
    for (let at = 0; at < bytes.length; at += windowBytes) {
      takeIn(text, bytes.subarray(at, at + windowBytes));
    }
  }
  if (2 * text.byteLength > byteLength) return joinedBody(pieces);
  const gaps: readonly Gap[] = text.gaps;
  return { pieces, byteLength, text: Buffer.concat(text.kept, text.byteLength), gaps };
}

/** Gaps are sought at both ends of a window: a long string comes from the last or goes on. */
function takeIn(text: Text, window: Buffer): void {
  const head = headEnd(window);
  const at = leaveOut(text, window, { from: 0, start: 0, end: head });
  if (at === window.length) return;
  text.isInGap = false;
  const tail = head === window.length ? head : tailStart(window);
  const rest = leaveOut(text, window, { from: at, start: tail, end: window.length });
  if (rest < window.length) keep(text, window.subarray(rest));
}

/**
 * Makes a gap of the string's inside from `start` to `end`, but for its beginning, and keeps what
 * lies before it, from `from`. Gives the place up to which all is done: `from`, if that is no gap.
 */
function leaveOut(
  text: Text,
  window: Buffer,
  { from, start, end }: { readonly from: number; readonly start: number; readonly end: number },
): number {
  const last = text.isInGap ? text.gaps.at(-1) : undefined;
  const begin = last === undefined ? start + bytesBeforeGap : start;
  const bytes = end - begin;
  const isWorthIt = last === undefined ? bytes >= leastGapBytes : bytes > 0;
  if (!isWorthIt || !isAscii(window.subarray(begin, end))) return from;
  if (last === undefined) {
    keep(text, window.subarray(from, begin));
    text.gaps.push({ at: text.byteLength, bytes: bytes - standIn.length });
    keep(text, standIn);
    text.isInGap = true;
  } else {
    last.bytes += bytes;
  }
  return end;
}

function keep(text: Text, bytes: Uint8Array): void {
  text.kept.push(bytes);
  text.byteLength += bytes.length;
}

/** Where the first quote or backslash is. */
function headEnd(window: Buffer): number {
  const end = indexOrEnd(window, quote);
  return indexOrEnd(end === window.length ? window : window.subarray(0, end), backslash);
}

/** Where what follows the last quote or backslash begins. */
function tailStart(window: Buffer): number {
  const start = window.lastIndexOf(quote) + 1;
  return start + window.subarray(start).lastIndexOf(backslash) + 1;
}

function indexOrEnd(bytes: Buffer, byte: number): number {
  const index = bytes.indexOf(byte);
  return index === -1 ? bytes.length : index;
}
