/** The port that finds the record of an API key by its secret. */

import type { Nanos } from '../money.ts';
import type { CallOptions, MaybePromise } from './call-options.ts';

/** A budget that a key is charged to. A key usually has two: its own and its group's. */
export interface QuotaSubject {
  /** `/^[A-Za-z0-9._-]{1,64}$/`; never a secret. */
  readonly id: string;
  /** The period that the limit is for, in UTC; `total` never resets. */
  readonly period: 'total' | 'day' | 'month';
  /**
   * The most that the subject may spend in each period; a change applies from the next call on.
   * Leave it out where the limit is kept in the quota store and set by `adjust({ limit })`.
   */
  readonly limitNanos?: Nanos;
  /** How many calls of this subject may run at once. Default: unbounded. */
  readonly maxConcurrentCalls?: number;
  /**
   * Shows this subject's limit and usage to the key's owner in `GET /v1/key`. Default: only the
   * subject with the key's own id is shown, because others may be shared with other owners.
   */
  readonly visible?: boolean;
}

/** The record of an issued key. It holds no secret. */
export interface ApiKey {
  /** `/^[A-Za-z0-9._-]{1,64}$/` */
  readonly id: string;
  /** Decides which models the key may use. */
  readonly group: string;
  readonly disabled: boolean;
  /** Unix milliseconds; the key is refused from then on. */
  readonly expiresAtMs?: number;
  /** 1 to 8 subjects with distinct ids. Every call is held and charged in full on each of them. */
  readonly quota: readonly QuotaSubject[];
  /**
   * The shard that holds all subjects of the key. Default: one for all keys. It must never change
   * during a key's life.
   */
  readonly quotaPartition?: string;
  /** How many calls of this key may run at once, checked in the same atomic step as the hold. */
  readonly maxConcurrentCalls?: number;
  /** The host's own labels; they appear in usage records and nowhere else. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Finds keys. Implemented by the host over its user database, or `memoryKeyStore()`. */
export interface KeyStore {
  /**
   * The key that this secret belongs to, or undefined if there is none. The store decides how to
   * digest secrets and must never keep one in plain text. May answer without a promise.
   *
   * @throws StoreUnavailable if the store can't tell; the caller then gets 503, never 401
   */
  find(secret: string, options?: CallOptions): MaybePromise<ApiKey | undefined>;
}
