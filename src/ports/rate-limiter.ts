/** The optional port that limits how often; quota, which limits how much, is `QuotaStore`. */
import type { MaybePromise } from './call-options.ts';

/** Granted, or how long to wait. */
export type RateDecision =
  | { readonly granted: true }
  | { readonly granted: false; readonly retryAfterMs: number };

/**
 * Counts calls by subject. `rate-limiter-flexible` fits by one line:
 *
 * ```ts
 * consume: (subject, points) =>
 *   limiter.consume(subject, points).then(
 *     () => ({ granted: true }),
 *     (refused) => ({ granted: false, retryAfterMs: refused.msBeforeNext }),
 *   )
 * ```
 *
 * An error of its store should be thrown on, as `examples/custom-stores.ts` does.
 */
export interface RateLimiter {
  /** Takes `points` from the subject's allowance, or takes nothing and says how long to wait. */
  consume(subject: string, points: number): MaybePromise<RateDecision>;
}
