/**
 * The port that keeps replies of calls with an `Idempotency-Key`, to replay them. Replies are user
 * data: they are kept in memory by default, or in object storage that the host provides, and never
 * in the stores of quota and claims.
 */
import type { HeaderMap } from '../../http.ts';
import type { CallOptions, MaybePromise } from '../call-options.ts';

/** A 200 reply, as its caller received it. */
export interface StoredResult {
  /** The few headers that belong to the reply: its content type, and notes about a translation. */
  readonly headers: HeaderMap;
  /** The body of the reply, as its first caller got it. */
  readonly body: Uint8Array;
}

/** Whose reply is stored. */
export interface ResultOptions extends CallOptions {
  /** The id of the key that made the call, for `forgetOwner`. */
  readonly owner?: string;
}

/** Stores replies. The store decides how many it keeps and for how long. */
export interface ResultStore {
  /**
   * Keeps a reply under a unique name: `/^[0-9a-f]{64}\.[\w-]{16,64}$/`. The store must copy the
   * bytes. A store that is full may forget other replies, or not keep this one.
   */
  put(name: string, result: StoredResult, options?: ResultOptions): MaybePromise<void>;
  /** The reply byte for byte, or undefined if it is no longer kept. */
  get(name: string, options?: CallOptions): MaybePromise<StoredResult | undefined>;
  /**
   * Removes some replies of this owner, and returns how many: call it until it returns 0. For
   * operators who remove a key; the gateway does not call it, and a store may leave it out.
   */
  forgetOwner?(owner: string, options?: CallOptions): MaybePromise<number>;
}
