/**
 * The port that keeps output items of translated replies, so that a later request may refer to one
 * by its id: the AI SDK sends `item_reference` in place of earlier answers by default. Items are
 * user data, so by default they are kept in memory, and only for a short time.
 */
import type { CallOptions, MaybePromise } from '../call-options.ts';

/** An output item as its caller received it. */
export interface StoredItem {
  /** `/^[A-Za-z0-9_-]{1,128}$/` */
  readonly id: string;
  /** JSON. */
  readonly json: Uint8Array;
}

/** Keeps items. The store decides how many it keeps; those of different owners are independent. */
export interface ItemStore {
  /**
   * Keeps the items of one reply for `ttlMs`. The store must copy the bytes. A store that is full
   * forgets other items, first those that were not used for the longest time, and no owner's items
   * may displace all others'. Returns the ids of the items that are too large to be kept.
   */
  put(
    owner: string,
    items: readonly StoredItem[],
    ttlMs: number,
    options?: CallOptions,
  ): MaybePromise<readonly string[]>;
  /**
   * The bytes of the items, in the order of the ids. Undefined for an item that is no longer kept,
   * and in the same way for another owner's.
   */
  get(
    owner: string,
    ids: readonly string[],
    options?: CallOptions,
  ): MaybePromise<readonly (Uint8Array | undefined)[]>;
  /** Removes items of this owner. Unknown ids are ignored. */
  forget(owner: string, ids: readonly string[], options?: CallOptions): MaybePromise<void>;
  /**
   * Removes some items of this owner, and returns how many: call it until it returns 0. For
   * operators who remove a key; the gateway does not call it, and a store may leave it out.
   */
  forgetOwner?(owner: string, options?: CallOptions): MaybePromise<number>;
}
