/** The cases of the rate limiter contract for `take`. */
import assert from 'node:assert/strict';
import { rule, type SubjectCase } from '../over-setups.ts';
import {
  bucket,
  grantedOf,
  grantsOf,
  isGranted,
  type RateLimiterSetup,
  take,
  waitOf,
} from './rate-case.ts';

/** A bucket holds 60 and refills by 1 in each second. */
export const takeCases: readonly SubjectCase<RateLimiterSetup>[] = [
  rule('RL-01 grants the whole limit and nothing above it', async (setup) => {
    const own = bucket();
    assert.deepEqual(await grantsOf(setup, own, [20, 20, 20, 20, 1, 1]), [
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  }),
  rule('RL-02 grants the limit once to concurrent calls', async (setup) => {
    const own = bucket();
    const calls = Array.from({ length: 20 }, async () => take(setup, own(10)));

    assert.equal((await Promise.all(calls)).filter(({ granted }) => granted).length, 6);
  }),
  rule('RL-03 counts amounts, not calls', async (setup) => {
    const own = bucket();
    await grantedOf(take(setup, own(50)));

    await waitOf(take(setup, own(11)));
    await grantedOf(take(setup, own(10)));
  }),
  rule('RL-04 keeps the buckets of owners, of names and of periods apart', async (setup) => {
    const own = bucket();
    await grantedOf(take(setup, own(60)));
    const { owner } = own(1);

    await grantedOf(take(setup, bucket()(60)));
    await grantedOf(take(setup, bucket({ owner, bucket: 'tokens.minute' })(60)));
    await grantedOf(take(setup, bucket({ owner, bucket: 'calls.hour', periodMs: 3_600_000 })(60)));
  }),
  rule(
    'RL-05 returns a wait in whole milliseconds that is no longer than necessary',
    async (setup) => {
      const own = bucket();
      await grantedOf(take(setup, own(60)));

      const { retryAfterMs } = await waitOf(take(setup, own(2)));

      assert(Number.isSafeInteger(retryAfterMs) && retryAfterMs >= 1, `${retryAfterMs} ms`);
      assert(retryAfterMs <= 2_000, `${retryAfterMs} ms is longer than 2 of 60 a minute take`);
    },
  ),
  rule('RL-06 grants the call after the wait that it returned', async (setup) => {
    const own = bucket();
    await grantedOf(take(setup, own(60)));
    const { retryAfterMs } = await waitOf(take(setup, own(2)));

    await setup.advance(retryAfterMs);

    await grantedOf(take(setup, own(2)));
  }),
  rule(
    'RL-07 takes nothing for a refused call, so that retries do not prolong the wait',
    async (setup) => {
      const own = bucket();
      await grantedOf(take(setup, own(60)));
      const { retryAfterMs } = await waitOf(take(setup, own(1)));

      await grantsOf(setup, own, [1, 1, 1, 60, 1]);
      await setup.advance(retryAfterMs);

      await grantedOf(take(setup, own(1)));
    },
  ),
  rule('RL-08 is full again after the period, and no fuller than that', async (setup) => {
    const own = bucket();
    await grantedOf(take(setup, own(60)));

    await setup.advance(60_000);

    assert.deepEqual(await grantsOf(setup, own, [60, 1]), [true, false]);
  }),
  rule('RL-09 refills evenly, and not at the end of the period', async (setup) => {
    const own = bucket();
    await grantedOf(take(setup, own(60)));

    await setup.advance(3_000);

    assert.deepEqual(await grantsOf(setup, own, [3, 2]), [true, false]);
  }),
  rule('RL-10 takes nothing from a bucket if another of the same owner refuses', async (setup) => {
    const [calls, tokens] = pairOfOneOwner();
    await grantedOf(take(setup, tokens(60)));

    await waitOf(take(setup, calls(1), tokens(1)));
    await waitOf(take(setup, tokens(1), calls(1)));

    await grantedOf(take(setup, calls(60)));
  }),
  rule('RL-11 takes nothing from an owner if another refuses', async (setup) => {
    const [key, group, model] = [bucket(), bucket(), bucket()];
    await grantedOf(take(setup, model(60)));

    await waitOf(take(setup, key(30), group(30), model(1)));
    await waitOf(take(setup, model(1), group(30), key(30)));

    await grantedOf(take(setup, key(60), group(60)));
  }),
  rule('RL-12 names the take that has to wait longest, with its wait', async (setup) => {
    const [key, group, model] = [bucket(), bucket(), bucket()];
    await grantedOf(take(setup, key(60), model(60)));

    const decision = await waitOf(take(setup, key(1), group(1), model(5)));

    assert.equal(decision.refused, 2);
    assert(decision.retryAfterMs > 3_000, `${decision.retryAfterMs} ms is the wait of another`);
  }),
  rule('RL-13 returns what remains in each bucket, in the order of the takes', async (setup) => {
    const [calls, tokens] = pairOfOneOwner();
    const group = bucket();

    const granted = await take(setup, calls(1), tokens(40), group(10));
    const refused = await take(setup, calls(1), tokens(40), group(10));

    assert.deepEqual(granted.remaining, [59, 20, 50]);
    assert.deepEqual(refused.remaining, [59, 20, 50]);
  }),
  rule('RL-14 refills by the hour and by the day', async (setup) => {
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
  }),
  rule('RL-15 counts limits of ten billion to the last one', async (setup) => {
    const own = bucket({ limit: 10_000_000_000, periodMs: 86_400_000 });
    await grantedOf(take(setup, own(9_999_000_000)));

    assert.equal(isGranted(await take(setup, own(10_000_000_000))), false);
    await grantedOf(take(setup, own(1_000_000)));
  }),
];

function pairOfOneOwner(): readonly [ReturnType<typeof bucket>, ReturnType<typeof bucket>] {
  const calls = bucket();
  const { owner } = calls(1);
  return [calls, bucket({ owner, bucket: 'tokens.minute' })];
}
