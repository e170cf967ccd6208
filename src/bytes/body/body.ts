/**
 * A request body: the pieces in which it came, which go upstream, and a text of it without the
 * inside of long strings, which is what gets scanned and read.
 */

import { asBuffer } from '../decode.ts';
import { joined } from '../sse.ts';

/** A body that has come, and is JSON if its text is, but for control characters in its gaps. */
export interface Body {
  readonly pieces: readonly Uint8Array[];
  /** Of the pieces together. */
  readonly byteLength: number;
  /** The body but for its gaps. Whatever says where something in a body is speaks of this text. */
  readonly text: Buffer;
  /** In their order. */
  readonly gaps: readonly Gap[];
}

/** Bytes in the midst of a string for which one stands in the text. */
export interface Gap {
  /** Where that one is. */
  readonly at: number;
  /** How many more bytes the body has. */
  readonly bytes: number;
}

/** So many bytes of a string are in the text before its first gap. */
export const bytesBeforeGap = 4096;

/** A body of which the text is all; only more pieces than one are copied. */
export function joinedBody(pieces: readonly Uint8Array[]): Body {
  return wholeBody(asBuffer(joined(pieces)));
}

/** The same of bytes that are one already. */
export function wholeBody(text: Buffer): Body {
  return { pieces: [text], byteLength: text.length, text, gaps: [] };
}

/** How many bytes of the body the text from `start` to `end` stands for. */
export function lengthOf({ gaps }: Pick<Body, 'gaps'>, start: number, end: number): number {
  let length = end - start;
  // Of a shorter value no gap can be part, so that many short ones cost no look at many gaps.
  if (gaps.length === 0 || length <= bytesBeforeGap) return length;
  for (const { at, bytes } of gaps) {
    if (at >= end) break;
    if (at >= start) length += bytes;
  }
  return length;
}

/** The bytes of the body that the text from `start` to `end` stands for. */
export function bytesOf(body: Body, start: number, end: number): Buffer {
  const length = lengthOf(body, start, end);
  if (length === end - start) return body.text.subarray(start, end);
  return Buffer.concat(slicesOf(body, start, end), length);
}

/** The same in pieces, of which none is copied. */
export function slicesOf(body: Body, start: number, end: number): readonly Uint8Array[] {
  const from = lengthOf(body, 0, start);
  const to = from + lengthOf(body, start, end);
  const slices: Uint8Array[] = [];
  let pieceStart = 0;
  for (const piece of body.pieces) {
    const first = Math.max(from - pieceStart, 0);
    const last = Math.min(to - pieceStart, piece.length);
    if (first < last) slices.push(piece.subarray(first, last));
    pieceStart += piece.length;
  }
  return slices;
}
