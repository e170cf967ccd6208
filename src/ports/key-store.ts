/** The port that knows the keys: a secret goes in, the record of its key comes out. */

import type { Nanos } from '../money.ts';
import type { CallOptions, MaybePromise } from './call-options.ts';

/** What a key is charged to. Usually two: the key's own subject and its group's. */
export interface QuotaSubject {
  /** `/^[A-Za-z0-9._-]{1,64}$/`; never a secret. */
  readonly id: string;
  /** The span one limit is for, in UTC; `total` never turns. */
  readonly period: 'total' | 'day' | 'month';
  /**
   * What the subject may use in each period; a change counts with the next call. Left out where the
   * limit lives in the quota store, set there by `adjust({ limit })`.
   */
  readonly limitNanos?: Nanos;
  /** How many calls of this subject may run at once; unbounded where left out. */
  readonly maxConcurrentCalls?: number;
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
  /** 1 to 8 subjects, each held and charged in full by every call; distinct ids. */
  readonly quota: readonly QuotaSubject[];
  /**
   * The shard all of its subjects live in; one for all by default, never changed in a key's life.
   */
  readonly quotaPartition?: string;
  /** How many calls of this key may run at once, checked in the same atomic step as the hold. */
  readonly maxConcurrentCalls?: number;
  /** The host's own labels; they reach usage records and nothing else. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Where keys are found. Made by the host over its own user database, or `memoryKeyStore()`. */
export interface KeyStore {
  /**
   * The key of this secret as the caller sent it, or undefined where there is none. How a secret is
   * digested is the store's affair; a store never keeps the secret itself. May answer directly.
   *
   * @throws StoreUnavailable when it can't tell; the caller then gets 503, never 401
   */
  find(secret: string, options?: CallOptions): MaybePromise<ApiKey | undefined>;
}
