/** Copies a reply while it is sent to its caller, within a memory bound that all calls share. */
import type { ByteBudget } from '../bytes/body/budget.ts';
import { chunkBuffer } from '../bytes/chunk-buffer.ts';
import type { HeaderMap } from '../http.ts';
import type { StoredResult } from '../ports/result-store.ts';

/** Receives the reply from the relay. */
export interface ReplyCopy {
  /** Sets the headers that belong to the reply. */
  begin(headers: HeaderMap): void;
  /** Adds the next chunk, as it is sent to the caller. */
  add(bytes: Uint8Array): void;
}

/** The copy, as its creator sees it. */
export interface CollectedReply extends ReplyCopy {
  /** The whole reply; undefined if it did not fit into the bound. */
  result(): StoredResult | undefined;
  /** Releases its memory. A result that was returned stays valid. */
  drop(): void;
}

/**
 * Makes an empty copy. If the reply does not fit into the budget, the copy is dropped; the call
 * continues.
 */
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
      if (budget.take(bytes.byteLength)) collected.add(bytes);
      else drop();
    },
    result: () => (isWhole ? { headers, body: collected.join() } : undefined),
    drop,
  };
}
