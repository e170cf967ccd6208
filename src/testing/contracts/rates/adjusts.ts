/** The cases of the rate limiter contract for `adjust`, and for limits that change. */
import assert from 'node:assert/strict';
import type { RateTake } from '../../../ports/rate-limiter.ts';
import { everyId } from '../ids.ts';
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
export const adjustCases: readonly SubjectCase<RateLimiterSetup>[] = [
  rule('RL-16 gives back an amount', async (setup) => {
    const own = bucket();
    await grantedOf(take(setup, own(60)));

    await adjust(setup, own(-20));

    assert.deepEqual(await grantsOf(setup, own, [20, 1]), [true, false]);
  }),
  rule('RL-17 gives back no more than was taken', async (setup) => {
    const own = bucket();
    await grantedOf(take(setup, own(10)));

    await adjust(setup, own(-50));

    assert.deepEqual(await grantsOf(setup, own, [60, 1]), [true, false]);
  }),
  rule('RL-18 gives back nothing to a bucket that is full', async (setup) => {
    const own = bucket();

    await adjust(setup, own(-50));

    assert.deepEqual(await grantsOf(setup, own, [60, 1]), [true, false]);
  }),
  rule('RL-19 takes a further amount, also from a full bucket', async (setup) => {
    const [own, full] = [bucket(), bucket()];
    await grantedOf(take(setup, own(10)));

    await adjust(setup, own(20), full(20));

    assert.deepEqual(await grantsOf(setup, own, [31, 30]), [false, true]);
    assert.deepEqual(await grantsOf(setup, full, [41, 40]), [false, true]);
  }),
  rule('RL-20 empties a bucket at most, whatever the further amount is', async (setup) => {
    const [own, full] = [bucket(), bucket()];
    await grantedOf(take(setup, own(10)));

    await adjust(setup, own(1_000), full(1_000));

    for (const known of [own, full]) {
      const { retryAfterMs, remaining } = await waitOf(take(setup, known(1)));
      assert(retryAfterMs <= 1_000, `${retryAfterMs} ms is the wait for more than 1`);
      assert.deepEqual(remaining, [0]);
    }
  }),
  rule('RL-21 makes all of several concurrent corrections', async (setup) => {
    const own = bucket();
    await grantedOf(take(setup, own(20)));

    const changes = Array.from({ length: 10 }, () => [own(3), own(-1)]).flat();
    await Promise.all(changes.map((change) => adjust(setup, change)));

    assert.deepEqual(await grantsOf(setup, own, [21, 20]), [false, true]);
  }),
  rule('RL-22 keeps refilling while it is corrected', async (setup) => {
    const own = bucket();
    await grantedOf(take(setup, own(60)));

    await setup.advance(1_500);
    await adjust(setup, own(-10));
    await setup.advance(1_500);

    assert.deepEqual(await grantsOf(setup, own, [13, 2]), [true, false]);
  }),
  rule('RL-23 grants by a raised limit at once', async (setup) => {
    const own = bucket();
    await grantedOf(take(setup, own(60)));

    await grantedOf(take(setup, own(60, 120)));
    await waitOf(take(setup, own(2, 120)));
  }),
  rule('RL-24 refuses by a lowered limit at once, with a true wait', async (setup) => {
    const own = bucket();
    await grantedOf(take(setup, own(30)));

    const { retryAfterMs } = await waitOf(take(setup, own(1, 30)));
    await setup.advance(retryAfterMs);

    await grantedOf(take(setup, own(1, 30)));
  }),
  rule(
    'RL-25 corrects a bucket by the limit that it has now, and not by an earlier one',
    async (setup) => {
      const own = bucket();
      await grantedOf(take(setup, own(50)));
      await grantedOf(take(setup, own(450, 600)));

      await adjust(setup, own(-50));

      const { remaining } = await take(setup, own(1, 600));
      assert.deepEqual(remaining, [149]);
    },
  ),
  rule('RL-26 keeps owners and buckets with any printable characters apart', async (setup) => {
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
  }),
];

async function adjust({ limiter }: RateLimiterSetup, ...takes: readonly RateTake[]): Promise<void> {
  await limiter.adjust(takes);
}
