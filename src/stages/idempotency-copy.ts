/** Collects a copy of what a caller is sent, within a bound that all calls share. */
import type { ByteBudget } from '../bytes/body/budget.ts';
import { chunkBuffer } from '../bytes/chunk-buffer.ts';
import type { HeaderMap } from '../http.ts';
import type { StoredResult } from '../ports/result-store.ts';

/** What the relay fills. */
export interface ReplyCopy {
  /** The headers that belong to the reply. */
  begin(headers: HeaderMap): void;
  /** The next piece, in the caller's words. */
  add(bytes: Uint8Array): void;
}

/** The same for whoever began it. */
export interface CollectedReply extends ReplyCopy {
  /** All of it; undefined where there was no room. */
  result(): StoredResult | undefined;
  /** Gives its room back. What was handed out stays. */
  drop(): void;
}

/** Empty at first. A reply that finds no room is given up, and its call is not. */
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
    begin: (own) => {
      headers = own;
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
