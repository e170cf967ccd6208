/**
 * The port that keeps replies for those who ask again. They are user data: in memory by default, in
 * object storage where a host hands it in, never in the stores of quota and claims.
 */
import type { HeaderMap } from '../http.ts';
import type { CallOptions, MaybePromise } from './call-options.ts';

/** A reply of 200, as its caller got it. */
export interface StoredResult {
  /** The few headers that belong to the reply: its content type, and what a translation notes. */
  readonly headers: HeaderMap;
  readonly body: Uint8Array;
}

/** Where replies are kept, for as long and as many as the store likes. */
export interface ResultStore {
  /**
   * Keeps a reply under a name that no other has: `/^[0-9a-f]{64}\.[\w-]{16,64}$/`. The bytes are
   * the store's to copy. One that has no room may forget others, or not keep this one.
   */
  put(name: string, result: StoredResult, options?: CallOptions): MaybePromise<void>;
  /** The reply byte for byte, or undefined where it is not kept any more. */
  get(name: string, options?: CallOptions): MaybePromise<StoredResult | undefined>;
}
