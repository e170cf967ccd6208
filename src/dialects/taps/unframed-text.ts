/**
 * Collects text of a stream that belongs to no event, such as a document sent in place of events.
 * What it is can be decided only at the end of the stream.
 */

import { ChunkBuffer } from '../../bytes/chunk-buffer.ts';
import { asBuffer } from '../../bytes/decode.ts';

/**
 * Text that does not begin like a document is an error in any case, so only this much of it is
 * kept.
 */
const maxNonDocumentBytes = 65_536;

export interface UnframedText {
  add(text: string): void;
  byteLength(): number;
  /** Returns everything that was kept. Called once. */
  take(): string;
}

export function unframedText(): UnframedText {
  // Created on first use: most streams have no such text.
  let held: ChunkBuffer | undefined;
  let isDocument: boolean | undefined;
  return {
    add: (text) => {
      isDocument ??= startsAsDocument(text);
      const limit = isDocument === true ? Number.POSITIVE_INFINITY : maxNonDocumentBytes;
      held ??= new ChunkBuffer();
      const kept = Buffer.from(text.slice(0, limit)).subarray(0, limit - held.byteLength());
      if (kept.length > 0) held.add(kept);
    },
    byteLength: () => held?.byteLength() ?? 0,
    take: () => (held === undefined ? '' : asBuffer(held.drain()).toString()),
  };
}

/** Undefined for white space, which may precede anything. */
function startsAsDocument(text: string): boolean | undefined {
  const first = /\S/.exec(text)?.[0];
  return first === undefined ? undefined : first === '{' || first === '[';
}
