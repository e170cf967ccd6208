/**
 * The port that keeps how often requests were refused, and why. It gets counts: no request has a
 * row of its own, and a count has no field for a secret or for a text as long as a caller likes.
 */
import type { ErrorCode } from '../errors.ts';
import type { FailureReason } from '../failure-reasons.ts';
import type { CallOptions, MaybePromise } from './call-options.ts';
import type { ProtocolName } from './models/catalog.ts';

/**
 * Stands for the key, the group and the model of refusals that are counted together: those beyond
 * the thousand different counts that a process keeps in a minute, so that a flood takes little
 * memory.
 */
export const otherRefusals = '(other)';

/** How many requests a process refused in one minute for the same reason, to the same key. */
export interface RecordedRefusals {
  /** Unique, up to 72 characters of `A-Za-z0-9_.-`. After a failure the count is sent again. */
  readonly id: string;
  /** Unix ms: the beginning of the minute in which the requests were refused. */
  readonly atMs: number;
  /** The key's id, also of one that may not be used, or `(other)`; undefined if none was found. */
  readonly keyId: string | undefined;
  /** The key's group, or `(other)`. */
  readonly group: string | undefined;
  /** Undefined for a path that is no call. */
  readonly protocol: ProtocolName | undefined;
  /**
   * The model's id in the catalog, or `(other)`; undefined if it was not looked up, or is not in
   * the catalog.
   */
  readonly modelId: string | undefined;
  /** The error that callers got, as in docs/errors.md. */
  readonly code: ErrorCode;
  /** More specific than the code. */
  readonly reason: FailureReason | undefined;
  /**
   * Where the request is wrong: the member, without indexes, as `messages[].content`, or of
   * `route_not_found` a known path of an API, as `/v1/files`; or the limit that was reached, as
   * `key:calls/minute` (see `limit` of the event `call_refused`). Up to 64 characters of
   * `A-Za-z0-9._:/{}[]-`. Callers may choose names of members, so a process records 16 in a day for
   * each key and code; it is undefined for others, and if nothing of the request is to blame.
   */
  readonly detail: string | undefined;
  /** How many: 1 to 2^53 − 1. */
  readonly refusals: number;
}

/** Keeps counts of refused requests. The usage sinks for memory and databases are such logs too. */
export interface RefusalLog {
  /**
   * Adds up to 500 counts, all or none of them. A count whose id is known is not added again,
   * because the gateway can't know whether a write that failed has taken effect.
   *
   * @throws StoreUnavailable, or anything else; the gateway then sends the counts again, for 15
   *   minutes
   */
  recordRefusals(counts: readonly RecordedRefusals[], options?: CallOptions): MaybePromise<void>;
}
