/**
 * The contract of `RateLimiter`: grants never exceed the limits, all amounts of a call are taken or
 * none, waits are exact, and corrections keep buckets between empty and full.
 */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { RateDecision, RateLimiter, RateTake } from '../../ports/limits/rate-limiter.ts';
import {
  type Cases,
  type Cleanable,
  type ContractCase,
  everyId,
  overSetups,
} from './contract-case.ts';

/**
 * The cases of the rate limiter contract. `make` is called once per case; limiters may share a
 * store, since each case uses new owners.
 */
export function rateLimiterContract(
  make: () => MaybePromise<RateLimiterSetup>,
): readonly ContractCase[] {
  return overSetups({ ...takeCases, ...adjustCases }, make, (setup) => setup);
}

/** A limiter to test. */
export interface RateLimiterSetup extends Cleanable {
  /** The limiter to test, with full buckets. */
  readonly limiter: RateLimiter;
  /** Advances the limiter's clock; a limiter on a real clock waits that long, at most a minute. */
  advance(ms: number): MaybePromise<void>;
}

/** Makes takes of one amount from a bucket. */
type BucketOf = (amount: number, limit?: number) => RateTake;

/** A new bucket that holds 60 and refills in a minute, unless stated otherwise. */
function bucket(properties: Partial<RateTake> = {}): BucketOf {
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
async function take(
  { limiter }: RateLimiterSetup,
  ...takes: readonly RateTake[]
): Promise<RateDecision> {
  return limiter.take(takes);
}

/** Which of these amounts are granted, one after the other. */
async function grantsOf(
  setup: RateLimiterSetup,
  own: BucketOf,
  amounts: readonly number[],
): Promise<readonly boolean[]> {
  const grants: boolean[] = [];
  for (const amount of amounts) grants.push(isGranted(await take(setup, own(amount))));
  return grants;
}

function isGranted({ granted }: RateDecision): boolean {
  return granted;
}

/** Fails if the take was refused. */
async function grantedOf(decision: Promise<RateDecision>): Promise<void> {
  assert.equal(isGranted(await decision), true, 'refused although the bucket has the amount');
}

/** Fails if the take was granted; otherwise returns the refusal. */
async function waitOf(
  pending: Promise<RateDecision>,
): Promise<Extract<RateDecision, { readonly granted: false }>> {
  const decision = await pending;
  if (decision.granted) throw new assert.AssertionError({ message: 'granted above the limit' });
  return decision;
}

/** What a bucket grants, and hardly more, after a take, a wait and a correction. */
function leaves(
  amount: number,
  { taken = 0, waitMs = 0, adjusted = 0 }: { taken?: number; waitMs?: number; adjusted?: number },
) {
  return async (setup: RateLimiterSetup): Promise<void> => {
    const own = bucket();
    if (taken > 0) await grantedOf(take(setup, own(taken)));
    if (waitMs > 0) await setup.advance(waitMs);
    if (adjusted !== 0) await adjust(setup, own(adjusted));

    assert.deepEqual(await grantsOf(setup, own, [amount, 2]), [true, false]);
  };
}

/** A bucket holds 60 and refills by 1 in each second. */
const takeCases: Cases<RateLimiterSetup> = {
  async 'RL-01 grants the whole limit and nothing above it'(setup) {
    const own = bucket();
    assert.deepEqual(await grantsOf(setup, own, [20, 20, 20, 20, 1, 1]), [
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  },
  async 'RL-02 grants the limit once to concurrent calls'(setup) {
    const own = bucket();
    const calls = Array.from({ length: 20 }, async () => take(setup, own(10)));

    assert.equal((await Promise.all(calls)).filter(({ granted }) => granted).length, 6);
  },
  async 'RL-03 counts amounts, not calls'(setup) {
    const own = bucket();
    await grantedOf(take(setup, own(50)));

    await waitOf(take(setup, own(11)));
    await grantedOf(take(setup, own(10)));
  },
  async 'RL-04 keeps the buckets of owners, of names and of periods apart'(setup) {
    const own = bucket();
    await grantedOf(take(setup, own(60)));
    const { owner } = own(1);

    await grantedOf(take(setup, bucket()(60)));
    await grantedOf(take(setup, bucket({ owner, bucket: 'tokens.minute' })(60)));
    await grantedOf(take(setup, bucket({ owner, bucket: 'calls.hour', periodMs: 3_600_000 })(60)));
  },
  async 'RL-05 returns a wait in whole milliseconds that is no longer than necessary'(setup) {
    const own = bucket();
    await grantedOf(take(setup, own(60)));

    const { retryAfterMs } = await waitOf(take(setup, own(2)));

    assert(Number.isSafeInteger(retryAfterMs) && retryAfterMs >= 1, `${retryAfterMs} ms`);
    assert(retryAfterMs <= 2_000, `${retryAfterMs} ms is longer than 2 of 60 a minute take`);
  },
  async 'RL-06 grants the call after the wait that it returned'(setup) {
    const own = bucket();
    await grantedOf(take(setup, own(60)));
    const { retryAfterMs } = await waitOf(take(setup, own(2)));

    await setup.advance(retryAfterMs);

    await grantedOf(take(setup, own(2)));
  },
  async 'RL-07 takes nothing for a refused call, so that retries do not prolong the wait'(setup) {
    const own = bucket();
    await grantedOf(take(setup, own(60)));
    const { retryAfterMs } = await waitOf(take(setup, own(1)));

    await grantsOf(setup, own, [1, 1, 1, 60, 1]);
    await setup.advance(retryAfterMs);

    await grantedOf(take(setup, own(1)));
  },
  'RL-08 is full again after the period, and no fuller': leaves(60, { taken: 60, waitMs: 60_000 }),
  'RL-09 refills evenly, and not at the end of the period': leaves(3, { taken: 60, waitMs: 3_000 }),
  async 'RL-10 takes nothing from a bucket if another of the same owner refuses'(setup) {
    const [calls, tokens] = pairOfOneOwner();
    await grantedOf(take(setup, tokens(60)));

    await waitOf(take(setup, calls(1), tokens(1)));
    await waitOf(take(setup, tokens(1), calls(1)));

    await grantedOf(take(setup, calls(60)));
  },
  async 'RL-11 takes nothing from an owner if another refuses'(setup) {
    const [key, group, model] = [bucket(), bucket(), bucket()];
    await grantedOf(take(setup, model(60)));

    await waitOf(take(setup, key(30), group(30), model(1)));
    await waitOf(take(setup, model(1), group(30), key(30)));

    await grantedOf(take(setup, key(60), group(60)));
  },
  async 'RL-12 names the take that has to wait longest, with its wait'(setup) {
    const [key, group, model] = [bucket(), bucket(), bucket()];
    await grantedOf(take(setup, key(60), model(60)));

    const decision = await waitOf(take(setup, key(1), group(1), model(5)));

    assert.equal(decision.refused, 2);
    assert(decision.retryAfterMs > 3_000, `${decision.retryAfterMs} ms is the wait of another`);
  },
  async 'RL-13 returns what remains in each bucket, in the order of the takes'(setup) {
    const [calls, tokens] = pairOfOneOwner();
    const group = bucket();

    const granted = await take(setup, calls(1), tokens(40), group(10));
    const refused = await take(setup, calls(1), tokens(40), group(10));

    assert.deepEqual(granted.remaining, [59, 20, 50]);
    assert.deepEqual(refused.remaining, [59, 20, 50]);
  },
  async 'RL-14 refills by the hour and by the day'(setup) {
    for (const [periodMs, oneMs] of [
      [3_600_000, 60_000],
      [86_400_000, 1_440_000],
    ] as const) {
      const own = bucket({ periodMs });
      await grantedOf(take(setup, own(60)));

      const { retryAfterMs } = await waitOf(take(setup, own(1)));

      assert(retryAfterMs <= oneMs, `${retryAfterMs} ms is too long`);
      assert(retryAfterMs > oneMs / 2, `${retryAfterMs} ms is too short`);
    }
  },
  async 'RL-15 counts limits of ten billion to the last one'(setup) {
    const own = bucket({ limit: 10_000_000_000, periodMs: 86_400_000 });
    await grantedOf(take(setup, own(9_999_000_000)));

    assert.equal(isGranted(await take(setup, own(10_000_000_000))), false);
    await grantedOf(take(setup, own(1_000_000)));
  },
};

function pairOfOneOwner(): readonly [ReturnType<typeof bucket>, ReturnType<typeof bucket>] {
  const calls = bucket();
  const { owner } = calls(1);
  return [calls, bucket({ owner, bucket: 'tokens.minute' })];
}

/** A bucket holds 60 and refills by 1 in each second. */
const adjustCases: Cases<RateLimiterSetup> = {
  'RL-16 gives back an amount': leaves(20, { taken: 60, adjusted: -20 }),
  'RL-17 gives back no more than was taken': leaves(60, { taken: 10, adjusted: -50 }),
  'RL-18 gives back nothing to a bucket that is full': leaves(60, { adjusted: -50 }),
  async 'RL-19 takes a further amount, also from a full bucket'(setup) {
    const [own, full] = [bucket(), bucket()];
    await grantedOf(take(setup, own(10)));

    await adjust(setup, own(20), full(20));

    assert.deepEqual(await grantsOf(setup, own, [31, 30]), [false, true]);
    assert.deepEqual(await grantsOf(setup, full, [41, 40]), [false, true]);
  },
  async 'RL-20 empties a bucket at most, whatever the further amount is'(setup) {
    const [own, full] = [bucket(), bucket()];
    await grantedOf(take(setup, own(10)));

    await adjust(setup, own(1_000), full(1_000));

    for (const known of [own, full]) {
      const { retryAfterMs, remaining } = await waitOf(take(setup, known(1)));
      assert(retryAfterMs <= 1_000, `${retryAfterMs} ms is the wait for more than 1`);
      assert.deepEqual(remaining, [0]);
    }
  },
  async 'RL-21 makes all of several concurrent corrections'(setup) {
    const own = bucket();
    await grantedOf(take(setup, own(20)));

    const changes = Array.from({ length: 10 }, () => [own(3), own(-1)]).flat();
    await Promise.all(changes.map((change) => adjust(setup, change)));

    assert.deepEqual(await grantsOf(setup, own, [21, 20]), [false, true]);
  },
  async 'RL-22 keeps refilling while it is corrected'(setup) {
    const own = bucket();
    await grantedOf(take(setup, own(60)));

    await setup.advance(1_500);
    await adjust(setup, own(-10));
    await setup.advance(1_500);

    assert.deepEqual(await grantsOf(setup, own, [13, 2]), [true, false]);
  },
  async 'RL-23 grants by a raised limit at once'(setup) {
    const own = bucket();
    await grantedOf(take(setup, own(60)));

    await grantedOf(take(setup, own(60, 120)));
    await waitOf(take(setup, own(2, 120)));
  },
  async 'RL-24 refuses by a lowered limit at once, with a true wait'(setup) {
    const own = bucket();
    await grantedOf(take(setup, own(30)));

    const { retryAfterMs } = await waitOf(take(setup, own(1, 30)));
    await setup.advance(retryAfterMs);

    await grantedOf(take(setup, own(1, 30)));
  },
  async 'RL-25 corrects a bucket by the limit that it has now, and not by an earlier one'(setup) {
    const own = bucket();
    await grantedOf(take(setup, own(50)));
    await grantedOf(take(setup, own(450, 600)));

    await adjust(setup, own(-50));

    const { remaining } = await take(setup, own(1, 600));
    assert.deepEqual(remaining, [149]);
  },
  async 'RL-26 keeps owners and buckets with any printable characters apart'(setup) {
    // They don't refill while the case runs.
    const { owner, periodMs } = bucket({ periodMs: 86_400_000 })(1);
    const all = everyId.flatMap((id) => [
      bucket({ owner: `${owner}.${id}`, periodMs }),
      bucket({ owner, bucket: `calls.day.${id}`, periodMs }),
    ]);
    for (const own of all) await grantedOf(take(setup, own(60)));

    for (const [index, own] of all.entries()) if (index % 3 === 0) await adjust(setup, own(-1));

    for (const [index, own] of all.entries()) {
      assert.equal(isGranted(await take(setup, own(1))), index % 3 === 0);
    }
  },
};

async function adjust({ limiter }: RateLimiterSetup, ...takes: readonly RateTake[]): Promise<void> {
  await limiter.adjust(takes);
}
