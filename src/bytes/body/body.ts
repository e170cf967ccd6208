/**
 * A request body: the chunks as received, which are sent upstream, and a text of it without the
 * inside of long strings, which is scanned and read.
 */

import { asBuffer } from '../decode.ts';
import { concatBytes } from '../sse.ts';

/**
 * A body that has been received. If its text is valid JSON, so is the body, apart from control
 * characters in its elisions.
 */
export interface Body {
  readonly chunks: readonly Uint8Array[];
  readonly byteLength: number;
  /** The body without its elisions. All offsets into a body are offsets into this text. */
  readonly text: Buffer;
  /** In order. */
  readonly elisions: readonly Elision[];
}

/** Elided bytes in a string, replaced by a placeholder of one byte. */
export interface Elision {
  readonly at: number;
  /** The number of elided bytes, minus the placeholder. */
  readonly bytes: number;
}

export const bytesBeforeElision = 4096;

/** A body without elisions. Several chunks are joined; a single one is not copied. */
export function joinedBody(chunks: readonly Uint8Array[]): Body {
  return wholeBody(asBuffer(concatBytes(chunks)));
}

export function wholeBody(text: Buffer): Body {
  return { chunks: [text], byteLength: text.length, text, elisions: [] };
}

/** The size in the body of the text from `start` to `end`. */
export function originalLength(
  { elisions: gaps }: Pick<Body, 'elisions'>,
  start: number,
  end: number,
): number {
  let length = end - start;
  // A shorter value can't contain an elision, so that many short values don't cost a search each.
  if (gaps.length === 0 || length <= bytesBeforeElision) return length;
  for (const { at, bytes } of gaps) {
    if (at >= end) break;
    if (at >= start) length += bytes;
  }
  return length;
}

export function originalBytes(body: Body, start: number, end: number): Buffer {
  const length = originalLength(body, start, end);
  if (length === end - start) return body.text.subarray(start, end);
  return Buffer.concat(originalSlices(body, start, end), length);
}

/** As {@link originalBytes}, but as a list of views, without copying. */
export function originalSlices(body: Body, start: number, end: number): readonly Uint8Array[] {
  const from = originalLength(body, 0, start);
  const to = from + originalLength(body, start, end);
  const slices: Uint8Array[] = [];
  let pieceStart = 0;
  for (const chunk of body.chunks) {
    const first = Math.max(from - pieceStart, 0);
    const last = Math.min(to - pieceStart, chunk.length);
    if (first < last) slices.push(chunk.subarray(first, last));
    pieceStart += chunk.length;
  }
  return slices;
}
