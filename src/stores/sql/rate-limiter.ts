/** A rate limiter in a table: token buckets that any number of processes share. */
import { type Clock, systemClock } from '../../clock.ts';
import { items, type JsonValue, member } from '../../json.ts';
import type { RateDecision, RateLimiter, RateTake } from '../../ports/limits/rate-limiter.ts';
import { checkAdjustments, checkTakes, maxRate } from '../../ports/limits/rates-schema.ts';
import { corrupt, flagAt, integerAt } from './columns.ts';
import type { RatesInput, SqlEngine } from './engine.ts';

/** A {@link RateLimiter} whose methods always return promises. */
export interface SqlRateLimiter extends RateLimiter {
  take(...args: Parameters<RateLimiter['take']>): Promise<RateDecision>;
  adjust(...args: Parameters<RateLimiter['adjust']>): Promise<void>;
}

/** How often a process deletes full buckets. */
const sweepMs = 60_000;

/** A limiter over migrated tables. All the takes of a call are one atomic step. */
export function sqlRateLimiter(
  engine: SqlEngine,
  clock: Pick<Clock, 'monotonicMs'> = systemClock(),
): SqlRateLimiter {
  let sweepAtMs = Number.NEGATIVE_INFINITY;
  const inputOf = (operation: RatesInput['operation'], takes: readonly RateTake[]): RatesInput => {
    const nowMs = clock.monotonicMs();
    const sweep = nowMs >= sweepAtMs;
    if (sweep) sweepAtMs = nowMs + sweepMs;
    return { operation, takes, sweep };
  };
  return {
    take: async (takes, options) => {
      checkTakes(takes);
      return decisionFrom(
        await engine.call('rates', inputOf('take', takes), options),
        takes.length,
      );
    },
    adjust: async (takes, options) => {
      checkAdjustments(takes);
      // A bucket is never less than empty and never more than full: larger amounts change no more.
      const bounded = takes.map((take) => ({
        ...take,
        amount: Math.max(-maxRate, Math.min(take.amount, maxRate)),
      }));
      await engine.call('rates', inputOf('adjust', bounded), options);
    },
  };
}

function decisionFrom(reply: JsonValue | undefined, count: number): RateDecision {
  const remaining = items(member(reply, 'remaining')).map((amount) =>
    typeof amount === 'number' && Number.isSafeInteger(amount) ? amount : corrupt('remaining'),
  );
  if (remaining.length !== count) corrupt('remaining');
  if (flagAt(reply, 'granted')) return { granted: true, remaining };
  const refused = integerAt(reply, 'refused');
  return { granted: false, refused, retryAfterMs: integerAt(reply, 'retryAfterMs'), remaining };
}
