/** The port that finds the record of an API key by its secret. */

import type { IncomingHeaders } from '../../http.ts';
import type { Nanos } from '../../money.ts';
import type { CallOptions, MaybePromise } from '../call-options.ts';
import type { KeyRateLimits } from '../limits/rates.ts';

/** The periods of a limit. */
export const quotaPeriods = ['total', 'day', 'week', 'month'] as const;

/** How often a limit begins anew, in UTC: weeks begin on Monday, and `total` never resets. */
export type QuotaPeriod = (typeof quotaPeriods)[number];

/** The period of a limit. */
export interface PeriodOfLimit {
  /** How often the limit begins anew, in UTC. */
  readonly period: QuotaPeriod;
  /**
   * The day on which a `month` begins, 1 to 31; in a shorter month its last day. Another day is
   * another period, in which nothing is used yet. Default: 1.
   */
  readonly anchorDay?: number;
}

/** A budget that a key is charged to. A key usually has two: its own and its group's. */
export interface QuotaSubject extends PeriodOfLimit {
  /**
   * 1 to 128 printable ASCII characters without spaces, such as the id that an identity provider
   * gives; never a secret.
   */
  readonly id: string;
  /**
   * The most that the subject may spend in each period; a change applies from the next call on.
   * Leave it out where the limit is kept in the quota store and set by `adjust({ limit })`.
   */
  readonly limitNanos?: Nanos;
  /**
   * The only models whose calls are held and charged on this subject: ids and aliases, or the id of
   * a wildcard for all models that it serves. A call that no subject of its key is for is refused,
   * and none falls back to a model that a further subject is for. Default: all models.
   */
  readonly models?: readonly string[];
  /** How many calls of this subject may run at once. Default: unbounded. */
  readonly maxConcurrentCalls?: number;
  /**
   * Shows this subject's limit and usage to the key's owner: in `GET /v1/key`, in errors, and of
   * its rate limits in headers. Default: only the subject with the key's own id is shown, because
   * others may be shared with other owners.
   */
  readonly visible?: boolean;
}

/** The record of an issued key. It holds no secret. */
export interface ApiKey {
  /** 1 to 128 printable ASCII characters without spaces. */
  readonly id: string;
  /** Decides which models the key may use. */
  readonly group: string;
  /**
   * The only models of its group that the key may use: ids and aliases, or the id of a wildcard for
   * all models that it serves. Default: all models of the group.
   */
  readonly models?: readonly string[];
  /**
   * The id of the owner of the key. A key store with owners adds the owner's budget and its rate
   * limits to the record when it finds the key; elsewhere it is a label.
   */
  readonly owner?: string;
  /** Refuses the key with 401. */
  readonly disabled: boolean;
  /** Unix milliseconds; the key is refused from then on. */
  readonly expiresAtMs?: number;
  /**
   * 1 to 8 subjects with distinct ids. Every call is held and charged in full on each of them that
   * is for its model.
   */
  readonly quota: readonly QuotaSubject[];
  /**
   * The shard that holds all subjects of the key. Default: one for all keys. It must never change
   * during a key's life.
   */
  readonly quotaPartition?: string;
  /**
   * How many calls of this key may run at once, whatever their models, checked in the same atomic
   * step as the hold.
   */
  readonly maxConcurrentCalls?: number;
  /**
   * How many calls and tokens the key may use per minute, hour and day: its own limits, lower ones
   * for single models, and limits that it shares; at most 32 entries. A change applies from the
   * next call on. Default: `defaultRates` of the gateway.
   */
  readonly rates?: readonly KeyRateLimits[];
  /**
   * Further limits, besides `rates` or `defaultRates`: those of the owner, which a key store with
   * owners adds when it finds the key.
   */
  readonly sharedRates?: readonly KeyRateLimits[];
  /**
   * Keys with the same value may refer to each other's responses and output items. Give a new key
   * the id of the key that it replaces. Default: the key's id, so that each key has its own.
   */
  readonly responseOwner?: string;
  /** The host's own labels; they appear in usage records, together with those of a `Guard`. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * The request that a key belongs to: a copy, so that changing it does not change the call. The
 * object is frozen, its `headers` are not.
 */
export interface KeyRequest {
  /** `POST` */
  readonly method: string;
  /** The raw path, beginning with `/v1` or `/v1beta` wherever the gateway is mounted. */
  readonly path: string;
  /** A copy of all headers, with lower-case names. They contain the key, and cookies. */
  readonly headers: IncomingHeaders;
}

/** The deadline of a lookup, and the request that it is for. */
export interface KeyLookupOptions extends CallOptions {
  /**
   * Set by the gateway. `cachedKeyStore` passes it on only with its option `vary`, because
   * what was decided for one request would otherwise be served to all others.
   */
  readonly request?: KeyRequest;
}

/** Finds keys. Implemented by the host over its user database, or `memoryKeyStore()`. */
export interface KeyStore {
  /**
   * The key that this secret belongs to. Undefined (and null, from JavaScript) means that there is
   * none, so `rows[0]` of a query may be the answer: the caller gets 401, and the event
   * `call_refused` has the reason `key_unknown`. The store decides how to digest secrets and must
   * never keep one in plain text.
   * May answer without a promise.
   *
   * The secret is printable ASCII of at most 8 KiB, so it may be a JWT. Answer with an `id` that
   * stays the same for all tokens of a user, and with the token's end as `expiresAtMs`.
   *
   * @throws StoreUnavailable if the store can't answer; the caller then gets 503, never 401
   */
  find(secret: string, options?: KeyLookupOptions): MaybePromise<ApiKey | undefined>;
}

/**
 * Lets the signed-in users of the host's own web app call the gateway with their session in place
 * of a key. A session is never looked up for a request with a header that may carry a key on any of
 * the APIs: `authorization`, `x-api-key` and `nativeKeyHeaders`.
 *
 * Browsers send cookies with requests that other sites cause. A session is therefore looked up only
 * for a request with `content-type: application/json` and `sec-fetch-site: same-origin`, neither of
 * which another site can send. Every other request gets 401, `GET` included.
 */
export interface SessionStore {
  /**
   * For browsers that do not send `sec-fetch-site`, which they send over HTTPS and to localhost:
   * the origins of the app, as in `https://app.example`. A request without that header must then
   * have one of them as its `origin`. Default: none.
   */
  readonly origins?: readonly string[];
  /**
   * The key of the user that is signed in, or undefined if none is. May answer without a promise.
   *
   * @throws StoreUnavailable if the store can't answer; the caller then gets 503, never 401
   */
  find(request: KeyRequest, options?: CallOptions): MaybePromise<ApiKey | undefined>;
}
