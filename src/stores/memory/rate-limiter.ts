/**
 * A rate limiter in this process's memory, by GCRA (ITU-T I.371): one number a subject, the time at
 * which its allowance is whole again.
 */
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { systemClock } from '../../clock.ts';
import type { RateDecision, RateLimiter } from '../../ports/rate-limiter.ts';
import { aClock, checkMakerOptions, positive } from '../../ports/set-up.ts';

/** How many points a subject may take in which time. */
export interface MemoryRateLimiterOptions {
  /** How many points a subject may spend at once; they come back evenly over `durationMs`. */
  readonly points: number;
  readonly durationMs: number;
  readonly clock?: Clock;
  /**
   * How many subjects are remembered at least, the latest ones, and at most twice as many; 50,000.
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

/** A {@link RateLimiter} that answers at once. */
export interface MemoryRateLimiter extends RateLimiter {
  /**
   * A refused call takes nothing, so that asking again does not push the end away.
   *
   * @throws RangeError where `points` could never be granted: above the allowance, or not positive
   */
  consume(subject: string, points: number): RateDecision;
}

/**
 * A rate limiter in memory.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function memoryRateLimiter(options: MemoryRateLimiterOptions): MemoryRateLimiter {
  checkMakerOptions('memoryRateLimiter', optionsSchema, options, {
    points: 'Say how many points a subject may spend at once',
    durationMs: 'Say over how many ms they come back',
  });
  const { points: allowance, durationMs, clock = systemClock(), maxSubjects = 50_000 } = options;
  // Whole microseconds: sums of fractions are rounded, and would refuse the last of the points.
  const durationUs = durationMs * 1_000;
  const wholeAtUs = recentNumbers(maxSubjects);

  return {
    consume: (subject, points) => {
      if (!(points > 0 && points <= allowance)) {
        throw new RangeError(`points must be above 0 and at most ${allowance}`);
      }
      const nowUs = Math.floor(clock.monotonicMs() * 1_000);
      // Rounded in the caller's favour, as in Redis: all of the points must fit.
      const costUs = Math.floor((points * durationUs) / allowance);
      const nextUs = Math.max(wholeAtUs.get(subject) ?? nowUs, nowUs) + costUs;
      const retryAfterMs = Math.ceil((nextUs - durationUs - nowUs) / 1_000);
      if (retryAfterMs > 0) return { granted: false, retryAfterMs };
      wholeAtUs.set(subject, nextUs);
      return { granted: true };
    },
  };
}

interface RecentNumbers {
  get(name: string): number | undefined;
  set(name: string, value: number): void;
}

/**
 * Remembers the latest `size` names at least, in two generations: when the young one is full it
 * becomes the old one, whose forgotten rest goes at once. No order to keep, nothing to sweep.
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
