/**
 * The arithmetic of token buckets, in integers, so that no rounding adds up: time counts in ticks
 * of 1/60,000 of the period (1 ms of a minute), and amounts in parts of 1/60,000. A bucket of
 * `limit` then refills by exactly `limit` parts in each tick.
 */
import type { RateDecision, RatePeriodMs, RateTake } from '../../ports/limits/rate-limiter.ts';

/** Ticks of a period, and parts of an amount of 1. */
const parts = 60_000;

/** A bucket after its last change. */
export interface TokenBucket {
  /** How many parts are missing from the full bucket, at `tick`. */
  readonly used: number;
  readonly tick: number;
  /** The limit of the last grant, by which the bucket refills. */
  readonly limit: number;
}

/** Where buckets are kept. */
export interface Buckets {
  /** The bucket of a take as it is now; undefined if it is full. */
  get(take: RateTake): TokenBucket | undefined;
  set(take: RateTake, bucket: TokenBucket | undefined): void;
}

/** Takes all amounts, or nothing. */
export function takeAll(takes: readonly RateTake[], buckets: Buckets, nowMs: number): RateDecision {
  const before = takes.map(buckets.get);
  const waits = takes.map((take, index) => waitMsOf(before[index], take, nowMs));
  const retryAfterMs = Math.max(0, ...waits);
  if (retryAfterMs > 0) {
    const remaining = takes.map((take, index) => remainingOf(before[index], take));
    return { granted: false, refused: waits.indexOf(retryAfterMs), retryAfterMs, remaining };
  }
  const remaining = takes.map((take, index) => {
    const bucket = afterTake(before[index], take, nowMs);
    buckets.set(take, bucket);
    return remainingOf(bucket, take);
  });
  return { granted: true, remaining };
}

/** Takes or gives back amounts without refusing. */
export function adjustAll(takes: readonly RateTake[], buckets: Buckets, nowMs: number): void {
  for (const take of takes) {
    buckets.set(take, afterAdjust(buckets.get(take), take, nowMs));
  }
}

/** When a bucket will be full, in ms. */
export function fullAtMs({ used, tick, limit }: TokenBucket, periodMs: RatePeriodMs): number {
  return (tick + Math.ceil(used / limit)) * tickMsOf(periodMs);
}

function tickMsOf(periodMs: RatePeriodMs): number {
  return periodMs / parts;
}

/** The bucket as it is at a time; undefined if it is full. */
export function bucketAt(
  bucket: TokenBucket | undefined,
  periodMs: RatePeriodMs,
  nowMs: number,
): TokenBucket | undefined {
  if (bucket === undefined) return undefined;
  // A clock that was set back refills nothing.
  const tick = Math.max(Math.floor(nowMs / tickMsOf(periodMs)), bucket.tick);
  const used = bucket.used - (tick - bucket.tick) * bucket.limit;
  return used > 0 ? { used, tick, limit: bucket.limit } : undefined;
}

/** How long a take has to wait for a bucket as it is now, in ms; 0 if it is granted. */
function waitMsOf(
  bucket: TokenBucket | undefined,
  { amount, limit, periodMs }: RateTake,
  nowMs: number,
): number {
  if (bucket === undefined) return 0;
  const missing = bucket.used + (amount - limit) * parts;
  if (missing <= 0) return 0;
  const dueTick = bucket.tick + Math.ceil(missing / bucket.limit);
  return dueTick * tickMsOf(periodMs) - nowMs;
}

export function afterTake(
  bucket: TokenBucket | undefined,
  { amount, limit, periodMs }: RateTake,
  nowMs: number,
): TokenBucket {
  const { used, tick } = bucket ?? unusedAt(periodMs, nowMs);
  return { used: used + amount * parts, tick, limit };
}

function afterAdjust(
  bucket: TokenBucket | undefined,
  { amount, limit: givenLimit, periodMs }: RateTake,
  nowMs: number,
): TokenBucket | undefined {
  const { used, tick, limit } = bucket ?? { ...unusedAt(periodMs, nowMs), limit: givenLimit };
  const adjusted = Math.min(used + amount * parts, limit * parts);
  return adjusted > 0 ? { used: adjusted, tick, limit } : undefined;
}

function remainingOf(bucket: TokenBucket | undefined, { limit }: RateTake): number {
  return Math.max(0, Math.floor(limit - (bucket?.used ?? 0) / parts));
}

function unusedAt(periodMs: RatePeriodMs, nowMs: number): Pick<TokenBucket, 'used' | 'tick'> {
  return { used: 0, tick: Math.floor(nowMs / tickMsOf(periodMs)) };
}
