/** The token buckets of one period, of which the full and the least recently used are forgotten. */
import type { RatePeriodMs } from '../../ports/rate-limiter.ts';
import { bucketAt, type TokenBucket } from './token-bucket.ts';

/** Buckets by name. One that is not known is full. */
export interface RecentBuckets {
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
