/** The option that limits how many invalid keys a caller may send. */
import type { MaybePromise } from '../call-options.ts';
import type { KeyRequest } from './key-store.ts';

/**
 * Limits the requests with an invalid key from one address. Above the limit the address gets 429
 * without a lookup in the key store, whatever key it sends, until a minute's share has passed. Each
 * process counts for itself.
 */
export interface FailedKeyLimit {
  /**
   * The caller's address as the host knows it; undefined if it should not be limited. A gateway
   * sees no socket, so let a middleware of the host write the address into a header of its own, and
   * read it here. Never read a header that callers can send themselves. May answer without a
   * promise.
   *
   * ```ts
   * app.use((req, _res, next) => {
   *   req.headers['x-client-address'] = req.ip;
   *   next();
   * });
   * ```
   */
  addressOf(request: KeyRequest): MaybePromise<string | undefined>;
  /** How many invalid keys an address may send in a minute. Default: 30. */
  readonly perMinute?: number;
}
