/**
 * A rate limiter in this process's memory, by GCRA (ITU-T I.371): it keeps one number per subject,
 * the time at which its allowance is full again.
 */
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { systemClock } from '../../clock.ts';
import type { RateDecision, RateLimiter } from '../../ports/rate-limiter.ts';
import { aClock, checkMakerOptions, positive } from '../../ports/set-up.ts';

/** How many points a subject may spend, and how fast they come back. */
export interface MemoryRateLimiterOptions {
  /** How many points a subject may spend at once; they come back evenly over `durationMs`. */
  readonly points: number;
  readonly durationMs: number;
  readonly clock?: Clock;
  /**
   * How many recent subjects are remembered at least; at most it is twice as many. Default: 50,000.
   */
  readonly maxSubjects?: number;
}

const optionsSchema = z.strictObject(
  {
    points: positive,
    durationMs: positive,
    clock: aClock.optional(),
    maxSubjects: positive.optional(),
  } satisfies Record<keyof MemoryRateLimiterOptions, z.ZodType>,
  'must be an object',
);

/** A {@link RateLimiter} whose `consume` returns directly, never a promise. */
export interface MemoryRateLimiter extends RateLimiter {
  /**
   * A refused call takes no points, so that retrying does not prolong the wait.
   *
   * @throws RangeError where `points` is not positive or is above the allowance
   */
  consume(subject: string, points: number): RateDecision;
}

/**
 * A rate limiter in memory.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function memoryRateLimiter(options: MemoryRateLimiterOptions): MemoryRateLimiter {
  checkMakerOptions('memoryRateLimiter', optionsSchema, options, {
    points: 'Say how many points a subject may spend at once',
    durationMs: 'Say over how many ms they come back',
  });
  const { points: allowance, durationMs, clock = systemClock(), maxSubjects = 50_000 } = options;
  // Whole microseconds: rounded sums of fractions would refuse the last point.
  const durationUs = durationMs * 1_000;
  const fullAtUs = recentNumbers(maxSubjects);

  return {
    consume: (subject, points) => {
      if (!(points > 0 && points <= allowance)) {
        throw new RangeError(`points must be above 0 and at most ${allowance}`);
      }
      const nowUs = Math.floor(clock.monotonicMs() * 1_000);
      // Rounded down, as in Redis, so that the whole allowance can be spent.
      const costUs = Math.floor((points * durationUs) / allowance);
      const nextUs = Math.max(fullAtUs.get(subject) ?? nowUs, nowUs) + costUs;
      const retryAfterMs = Math.ceil((nextUs - durationUs - nowUs) / 1_000);
      if (retryAfterMs > 0) return { granted: false, retryAfterMs };
      fullAtUs.set(subject, nextUs);
      return { granted: true };
    },
  };
}

interface RecentNumbers {
  get(name: string): number | undefined;
  set(name: string, value: number): void;
}

/**
 * Remembers at least the latest `size` names, in two generations: when the young one is full, it
 * replaces the old one, which is dropped as a whole. This needs no order and no clean-up.
 */
function recentNumbers(size: number): RecentNumbers {
  let young = new Map<string, number>();
  let old = new Map<string, number>();

  return {
    get: (name) => young.get(name) ?? old.get(name),
    set: (name, value) => {
      if (young.size >= size && !young.has(name)) {
        old = young;
        young = new Map();
      }
      young.set(name, value);
    },
  };
}
