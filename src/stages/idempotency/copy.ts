/** Copies a reply while it is sent to its caller, within a memory bound that all keys share. */
import type { ByteBudget } from '../../bytes/body/fair-shares.ts';
import { chunkBuffer } from '../../bytes/chunk-buffer.ts';
import type { HeaderMap } from '../../http.ts';
import type { StoredResult } from '../../ports/result-store.ts';

/** The memory for the copies of all calls, divided among their keys. */
export const maxCopiedBytes: number = 64 * 1024 * 1024;
/** A larger reply is not kept, so that the copies of one key leave room for those of others. */
const maxReplyBytes = maxCopiedBytes / 4;

export interface ReplyCopy {
  begin(headers: HeaderMap): void;
  add(bytes: Uint8Array): void;
}

export interface CollectedReply extends ReplyCopy {
  /** The whole reply; undefined if it did not fit into the bound. */
  result(): StoredResult | undefined;
  /** Releases its memory. A result that was returned stays valid. */
  drop(): void;
}

/** Makes an empty copy. If the reply does not fit, the copy is dropped; the call continues. */
export function replyCopy(budget: ByteBudget): CollectedReply {
  let collected = chunkBuffer();
  let headers: HeaderMap = {};
  let isWhole = true;

  const drop = (): void => {
    isWhole = false;
    budget.give(collected.byteLength());
    collected = chunkBuffer();
  };

  return {
    begin: (replyHeaders) => {
      headers = replyHeaders;
    },
    add: (bytes) => {
      if (!isWhole) return;
      const fits = collected.byteLength() + bytes.byteLength <= maxReplyBytes;
      if (fits && budget.take(bytes.byteLength)) collected.add(bytes);
      else drop();
    },
    result: () => (isWhole ? { headers, body: collected.join() } : undefined),
    drop,
  };
}
