/** What the cases of the rate limiter contract share: buckets, and the checks of decisions. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { MaybePromise } from '../../../ports/call-options.ts';
import type { RateDecision, RateLimiter, RateTake } from '../../../ports/rate-limiter.ts';
import type { Cleanable } from '../over-setups.ts';

/** A limiter to test. */
export interface RateLimiterSetup extends Cleanable {
  readonly limiter: RateLimiter;
  /** Advances the limiter's clock; a limiter on a real clock waits that long, at most a minute. */
  advance(ms: number): MaybePromise<void>;
}

/** Makes takes of one amount from a bucket. */
export type BucketOf = (amount: number, limit?: number) => RateTake;

/** A new bucket that holds 60 and refills in a minute, unless stated otherwise. */
export function bucket(properties: Partial<RateTake> = {}): BucketOf {
  const known: Omit<RateTake, 'amount'> = {
    owner: `subject.${randomUUID()}`,
    bucket: 'calls.minute',
    limit: 60,
    periodMs: 60_000,
    ...properties,
  };
  return (amount, limit = known.limit) => ({ ...known, amount, limit });
}

/** Takes all of these or nothing. */
export async function take(
  { limiter }: RateLimiterSetup,
  ...takes: readonly RateTake[]
): Promise<RateDecision> {
  return limiter.take(takes);
}

/** Which of these amounts are granted, one after the other. */
export async function grantsOf(
  setup: RateLimiterSetup,
  own: BucketOf,
  amounts: readonly number[],
): Promise<readonly boolean[]> {
  const grants: boolean[] = [];
  for (const amount of amounts) grants.push(isGranted(await take(setup, own(amount))));
  return grants;
}

export function isGranted({ granted }: RateDecision): boolean {
  return granted;
}

/** Fails if the take was refused. */
export async function grantedOf(decision: Promise<RateDecision>): Promise<void> {
  assert.equal(isGranted(await decision), true, 'refused although the bucket has the amount');
}

/** Fails if the take was granted; otherwise returns the refusal. */
export async function waitOf(
  pending: Promise<RateDecision>,
): Promise<Extract<RateDecision, { readonly granted: false }>> {
  const decision = await pending;
  if (decision.granted) throw new assert.AssertionError({ message: 'granted above the limit' });
  return decision;
}
