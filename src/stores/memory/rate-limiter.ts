/** A rate limiter in this process's memory: token buckets that are forgotten once they are full. */
import type { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type {
  RateDecision,
  RateLimiter,
  RatePeriodMs,
  RateTake,
} from '../../ports/limits/rate-limiter.ts';
import { checkAdjustments, checkTakes } from '../../ports/limits/rates-schema.ts';
import { aClock, checkMakerOptions, positive, strict } from '../../ports/set-up.ts';
import { adjustAll, type Buckets, bucketAt, type TokenBucket, takeAll } from './token-bucket.ts';

/** Buckets by name. One that is not known is full. */
interface RecentBuckets {
  /** The bucket as it is now; undefined if it is full. */
  get(name: string, nowMs: number): TokenBucket | undefined;
  set(name: string, bucket: TokenBucket | undefined, nowMs: number): void;
}

/** How many full buckets each change forgets: more than one, so that their number falls. */
const forgottenPerChange = 2;

/**
 * Buckets over an empty map, at most `max` of them. The map keeps insertion order, and both methods
 * insert again: its first bucket is the least recently used, and full a period after its last use.
 */
export function recentBuckets(
  known: Map<string, TokenBucket>,
  periodMs: RatePeriodMs,
  max: number,
): RecentBuckets {
  const forgetFull = (nowMs: number): void => {
    let left = forgottenPerChange;
    for (const [name, bucket] of known) {
      if (left === 0 || bucketAt(bucket, periodMs, nowMs) !== undefined) return;
      known.delete(name);
      left -= 1;
    }
  };

  return {
    get: (name, nowMs) => {
      const bucket = known.get(name);
      if (bucket === undefined) return undefined;
      known.delete(name);
      known.set(name, bucket);
      return bucketAt(bucket, periodMs, nowMs);
    },
    set: (name, bucket, nowMs) => {
      known.delete(name);
      if (bucket !== undefined) known.set(name, bucket);
      forgetFull(nowMs);
      const [oldest] = known.size > max ? known.keys() : [];
      if (oldest !== undefined) known.delete(oldest);
    },
  };
}

/** The clock, and a bound on memory. */
export interface MemoryRateLimiterOptions {
  /** What tells the time. Default: the machine's; a test passes a fake one. */
  readonly clock?: Clock;
  /**
   * How many buckets of each period (minute, hour, day) are remembered at most; the least recently
   * used are forgotten first, which fills them. Default: 100,000.
   */
  readonly maxBuckets?: number;
}

const optionsSchema = strict('must be an object', {
  clock: aClock.optional(),
  maxBuckets: positive.optional(),
} satisfies Record<keyof MemoryRateLimiterOptions, z.ZodType>);

/** A {@link RateLimiter} whose methods return directly, never a promise. */
export interface MemoryRateLimiter extends RateLimiter {
  /** @throws RangeError where an amount or a limit is outside its range */
  take(takes: readonly RateTake[]): RateDecision;
  /** @throws RangeError where an amount or a limit is outside its range */
  adjust(takes: readonly RateTake[]): void;
}

/**
 * A rate limiter in memory. Each process counts for itself; those of databases count for all.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function memoryRateLimiter(options: MemoryRateLimiterOptions = {}): MemoryRateLimiter {
  checkMakerOptions('memoryRateLimiter', optionsSchema, options);
  const { clock = systemClock(), maxBuckets = 100_000 } = options;
  const minutes = recentBuckets(new Map(), 60_000, maxBuckets);
  const hours = recentBuckets(new Map(), 3_600_000, maxBuckets);
  const days = recentBuckets(new Map(), 86_400_000, maxBuckets);
  const of = ({ periodMs }: RateTake): RecentBuckets =>
    periodMs === 60_000 ? minutes : periodMs === 3_600_000 ? hours : days;
  const at = (nowMs: number): Buckets => ({
    get: (take) => of(take).get(nameOf(take), nowMs),
    set: (take, bucket) => of(take).set(nameOf(take), bucket, nowMs),
  });
  const wholeMs = (): number => Math.floor(clock.monotonicMs());

  return {
    take: (takes) => {
      checkTakes(takes);
      const nowMs = wholeMs();
      return takeAll(takes, at(nowMs), nowMs);
    },
    adjust: (takes) => {
      checkAdjustments(takes);
      const nowMs = wholeMs();
      adjustAll(takes, at(nowMs), nowMs);
    },
  };
}

function nameOf({ owner, bucket }: RateTake): string {
  return `${owner}\n${bucket}`;
}
