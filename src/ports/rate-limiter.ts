/**
 * The optional port that limits how often a key calls. How much it may spend is limited by
 * `QuotaStore`.
 */
import type { MaybePromise } from './call-options.ts';

/** The call is granted, or how long to wait. */
export type RateDecision =
  | { readonly granted: true }
  | { readonly granted: false; readonly retryAfterMs: number };

/**
 * Counts calls by subject. `rate-limiter-flexible` fits in one expression:
 *
 * ```ts
 * consume: (subject, points) =>
 *   limiter.consume(subject, points).then(
 *     () => ({ granted: true }),
 *     (refused) => ({ granted: false, retryAfterMs: refused.msBeforeNext }),
 *   )
 * ```
 *
 * Rethrow errors of its store, as `examples/custom-stores.ts` does.
 */
export interface RateLimiter {
  /** Takes `points` from the subject's allowance, or takes nothing and returns how long to wait. */
  consume(subject: string, points: number): MaybePromise<RateDecision>;
}
