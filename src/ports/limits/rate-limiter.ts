/**
 * The optional port that keeps the token buckets of rate limits. The limits are in the records of
 * keys and in models; how much a key may spend is limited by `QuotaStore`.
 */
import type { CallOptions, MaybePromise } from '../call-options.ts';

/** The period of a limit, in ms: a minute, an hour or a day. */
export type RatePeriodMs = 60_000 | 3_600_000 | 86_400_000;

/** A bucket, and the amount that a call takes from it or changes in it. */
export interface RateTake {
  /** Whose limit it is: `subject.ada`, `subject.group.pro`, `model.gpt-4o`. */
  readonly owner: string;
  /** The bucket among those of its owner: `calls.minute`, `tokens.day`, `tokens.minute.gpt-4o`. */
  readonly bucket: string;
  /** A whole number. For `take` from 1 to `limit`; for `adjust` possibly negative. */
  readonly amount: number;
  /**
   * The size of the bucket, from 1 to 10,000,000,000. It refills by this amount in each period,
   * evenly. It may differ from call to call, because hosts change their limits.
   */
  readonly limit: number;
  /** How long an empty bucket takes to refill, in ms. */
  readonly periodMs: RatePeriodMs;
}

/**
 * Whether the amounts were taken. `remaining`: the whole amounts in the buckets, in the order of
 * the takes.
 */
export type RateDecision =
  | {
      readonly granted: true;
      /** What is left of each bucket, in the order of the takes. */
      readonly remaining: readonly number[];
    }
  | {
      readonly granted: false;
      /** The index of the take that has to wait longest. */
      readonly refused: number;
      /** After this wait all takes will be granted, if nobody else takes anything. */
      readonly retryAfterMs: number;
      /** What is left of each bucket, in the order of the takes. */
      readonly remaining: readonly number[];
    };

/**
 * Keeps token buckets. A bucket that is not known is full.
 *
 * The gateway calls `take` twice for a call: before its body is read, for the limits of calls, and
 * after it, for those of tokens and of single models. `adjust` corrects the second one when the
 * call ends.
 */
export interface RateLimiter {
  /**
   * Takes all the amounts, or nothing. Each call names a bucket at most once, and lists the takes
   * of one owner together. All takes of one owner are one atomic step. Several owners may be
   * several steps, in their order; where a later one refuses, the earlier ones get their amounts
   * back.
   *
   * A take is granted where the bucket, refilled since its last grant by the limit of that grant,
   * and `limit` in size, has the amount. A refused take changes nothing.
   *
   * @throws StoreUnavailable if the limiter can't answer; the caller then gets 503
   */
  take(takes: readonly RateTake[], options?: CallOptions): MaybePromise<RateDecision>;
  /**
   * Takes further amounts, or gives back negative ones, and never refuses. A bucket is never less
   * than empty and never more than full, by the limit of its last grant, or by `limit` where it is
   * not known.
   */
  adjust(takes: readonly RateTake[], options?: CallOptions): MaybePromise<unknown>;
}
