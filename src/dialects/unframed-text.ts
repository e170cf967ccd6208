/**
 * Text of a stream that stands in no event, such as a document in place of events: only the end of
 * the stream says what it is.
 */

import { type ChunkBuffer, chunkBuffer } from '../bytes/chunk-buffer.ts';
import { asBuffer } from '../bytes/decode.ts';

/** What begins as no document is an error whatever follows: this much is kept of it. */
const maxNonDocumentBytes = 65_536;

/** The text of one stream. */
export interface UnframedText {
  add(text: string): void;
  byteLength(): number;
  /** All that was kept, given once. */
  take(): string;
}

/** None yet. */
export function unframedText(): UnframedText {
  // Most streams have none.
  let held: ChunkBuffer | undefined;
  let isDocument: boolean | undefined;
  return {
    add: (text) => {
      isDocument ??= startsAsDocument(text);
      const limit = isDocument === true ? Number.POSITIVE_INFINITY : maxNonDocumentBytes;
      held ??= chunkBuffer();
      const kept = Buffer.from(text.slice(0, limit)).subarray(0, limit - held.byteLength());
      if (kept.length > 0) held.add(kept);
    },
    byteLength: () => held?.byteLength() ?? 0,
    take: () => (held === undefined ? '' : asBuffer(held.drain()).toString()),
  };
}

/** Undefined for white space, which may stand in front of anything. */
function startsAsDocument(text: string): boolean | undefined {
  const first = /\S/.exec(text)?.[0];
  return first === undefined ? undefined : first === '{' || first === '[';
}
