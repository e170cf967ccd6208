/** The optional port that limits how often; quota, which limits how much, is `QuotaStore`. */
import type { MaybePromise } from './call-options.ts';

export type RateDecision =
  | { readonly granted: true }
  | { readonly granted: false; readonly retryAfterMs: number };

/**
 * Counts calls by subject. `rate-limiter-flexible` fits by one line:
 * `{ consume: (subject, points) => limiter.consume(subject, points).then(() => ({ granted: true }), (no) => { if (no instanceof Error) throw no; return { granted: false, retryAfterMs: no.msBeforeNext }; }) }`
 */
export interface RateLimiter {
  /** Takes `points` from the subject's allowance, or takes nothing and says how long to wait. */
  consume(subject: string, points: number): MaybePromise<RateDecision>;
}
