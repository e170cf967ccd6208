/**
 * Elides the inside of long strings from a body's text: a body of 5 MB is mostly one image in
 * Base64, which is never read. Elided bytes are ASCII without quotes and escapes, so the text is
 * valid JSON if the body is. The reverse does not hold: elided bytes are not checked for control
 * characters, which would take a tenth of the time of a large call. Such a body is refused when it
 * is parsed as a whole (`parsePart`), or when an upstream fails on it (`findElidedFault`).
 */
import { isAscii } from 'node:buffer';
import { asBuffer } from '../decode.ts';
import { backslash, quote } from '../json/text.ts';
import { type Body, bytesBeforeElision, type Elision, joinedBody } from './body.ts';

const minBodyBytes = 32 * 1024;
/** Shorter runs are not worth the search. */
const minElidedBytes = 4096;
/** A body that arrived as one chunk is processed in windows of this size. */
const windowBytes = 64 * 1024;
/**
 * Replaces the elided bytes. It is valid only in a string: an elision anywhere else makes the text
 * invalid JSON, and then the whole body is scanned.
 */
const placeholder = Buffer.from('~');

interface ElidedText {
  readonly parts: Uint8Array[];
  byteLength: number;
  readonly elisions: { readonly at: number; bytes: number }[];
  /** The last elision reaches to the end of the bytes so far, and may continue. */
  isInElision: boolean;
}

/**
 * Creates a body from its chunks. If less than half of it can be elided, all of it becomes text,
 * joined, and the chunks are not kept.
 */
export function bodyFromChunks(chunks: readonly Uint8Array[], byteLength: number): Body {
  if (byteLength < minBodyBytes) return joinedBody(chunks);
  const text: ElidedText = { parts: [], byteLength: 0, elisions: [], isInElision: false };
  for (const chunk of chunks) {
    const bytes = asBuffer(chunk);
    for (let at = 0; at < bytes.length; at += windowBytes) {
      addWindow(text, bytes.subarray(at, at + windowBytes));
    }
  }
  if (2 * text.byteLength > byteLength) return joinedBody(chunks);
  const elisions: readonly Elision[] = text.elisions;
  return { chunks, byteLength, text: Buffer.concat(text.parts, text.byteLength), elisions };
}

/** A long string comes from the previous window or continues in the next. */
function addWindow(text: ElidedText, window: Buffer): void {
  const head = firstDelimiter(window);
  const at = elide(text, window, { from: 0, start: 0, end: head });
  if (at === window.length) return;
  text.isInElision = false;
  const tail = head === window.length ? head : afterLastDelimiter(window);
  const rest = elide(text, window, { from: at, start: tail, end: window.length });
  if (rest < window.length) append(text, window.subarray(rest));
}

/** Returns the offset up to which the window is done: `from` if nothing was elided. */
function elide(
  text: ElidedText,
  window: Buffer,
  { from, start, end }: { readonly from: number; readonly start: number; readonly end: number },
): number {
  const last = text.isInElision ? text.elisions.at(-1) : undefined;
  const begin = last === undefined ? start + bytesBeforeElision : start;
  const bytes = end - begin;
  const isWorthIt = last === undefined ? bytes >= minElidedBytes : bytes > 0;
  if (!isWorthIt || !isAscii(window.subarray(begin, end))) return from;
  if (last === undefined) {
    append(text, window.subarray(from, begin));
    text.elisions.push({ at: text.byteLength, bytes: bytes - placeholder.length });
    append(text, placeholder);
    text.isInElision = true;
  } else {
    last.bytes += bytes;
  }
  return end;
}

function append(text: ElidedText, bytes: Uint8Array): void {
  text.parts.push(bytes);
  text.byteLength += bytes.length;
}

function firstDelimiter(window: Buffer): number {
  const end = indexOrEnd(window, quote);
  return indexOrEnd(end === window.length ? window : window.subarray(0, end), backslash);
}

function afterLastDelimiter(window: Buffer): number {
  const start = window.lastIndexOf(quote) + 1;
  return start + window.subarray(start).lastIndexOf(backslash) + 1;
}

function indexOrEnd(bytes: Buffer, byte: number): number {
  const index = bytes.indexOf(byte);
  return index === -1 ? bytes.length : index;
}
