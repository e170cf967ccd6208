/** Repeated, late or reordered operations get the same result and change nothing. */
import assert from 'node:assert/strict';
import { rule } from '../contract-case.ts';
import {
  type CaseContext,
  countOf,
  line,
  newId,
  newIds,
  type QuotaCase,
  ttlMs,
} from './case-context.ts';

/** QS-17 to QS-24: repeated, late and reordered operations. */
export const idempotenceCases: readonly QuotaCase[] = [
  rule(
    'QS-17 a repeated reserve is the same hold, with the same end of its lease',
    async ({ give, reserve, advance, expectState }) => {
      await give('alice', 10n);
      const id = newId();
      const first = await reserve(id, [line('alice', 10n)]);
      await advance(5_000);

      const second = await reserve(id, [line('alice', 10n)]);

      assert(first.status === 'held' && second.status === 'held');
      assert.equal(first.replay, false);
      assert.equal(second.replay, true);
      assert.equal(second.expiresAtMs, first.expiresAtMs);
      assert.deepEqual(second.available, first.available);
      await expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
    },
  ),
  rule(
    'QS-17 twenty concurrent reserves with one id are one hold',
    async ({ give, reserve, expectState }) => {
      await give('alice', 100n);
      const id = newId();

      const results = await Promise.all(
        Array.from({ length: 20 }, () => reserve(id, [line('alice', 10n)])),
      );

      assert.equal(countOf(results, 'held'), 20);
      const fresh = results.filter((result) => result.status === 'held' && !result.replay);
      assert.equal(fresh.length, 1);
      await expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
    },
  ),
  rule(
    'QS-17 a reserve that is repeated after the hold has grown is the same hold',
    async ({ give, reserve, extend, expectState }) => {
      await give('alice', 100n);
      const id = newId();
      await reserve(id, [line('alice', 10n)]);
      await extend(id, [15n]);

      const result = await reserve(id, [line('alice', 10n)]);

      assert(result.status === 'held');
      assert.equal(result.replay, true);
      await expectState('alice', { used: 0n, held: 25n, inFlight: 1 });
    },
  ),
  rule(
    'QS-18 a repeated reserve with other lines is a conflict and changes nothing',
    async ({ give, reserve, expectState }) => {
      await give('alice', 100n);
      await give('bob', 100n);
      const id = newId();
      await reserve(id, [line('alice', 10n)]);

      const others = [
        await reserve(id, [line('alice', 11n)]),
        await reserve(id, [line('bob', 10n)]),
        await reserve(id, [line('alice', 10n), line('bob', 10n)]),
      ];

      assert.equal(countOf(others, 'id_conflict'), 3);
      await expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
      await expectState('bob', { used: 0n, held: 0n, inFlight: 0 });
    },
  ),
  rule(
    'QS-19 the first settle wins over any later one',
    async ({ give, hold, settle, reserve, expectState }) => {
      await give('alice', 100n);
      const id = await hold('alice', 50n);
      await settle(id, [line('alice', 20n)]);

      const second = await settle(id, [line('alice', 45n)]);

      assert(second.status === 'already');
      assert.deepEqual(second.charged, [20n]);
      await expectState('alice', { used: 20n, held: 0n, inFlight: 0 });
      const again = await reserve(id, [line('alice', 50n)]);
      assert(again.status === 'resolved');
      assert.equal(again.as, 'settled');
    },
  ),
  rule(
    'QS-19 twenty concurrent settles of one hold charge once',
    async ({ give, hold, settle, expectState }) => {
      await give('alice', 100n);
      const id = await hold('alice', 50n);

      const results = await Promise.all(
        Array.from({ length: 20 }, () => settle(id, [line('alice', 20n)])),
      );

      assert.equal(countOf(results, 'settled'), 1);
      assert.equal(countOf(results, 'already'), 19);
      await expectState('alice', { used: 20n, held: 0n, inFlight: 0 });
    },
  ),
  rule(
    'QS-20 a release after a settle does nothing, and so does a second release',
    async ({ give, hold, settle, release, expectState }) => {
      await give('alice', 100n);
      const settled = await hold('alice', 50n);
      await settle(settled, [line('alice', 20n)]);
      const released = await hold('alice', 30n);
      await release(released, [line('alice', 30n)]);

      const afterSettle = await release(settled, [line('alice', 50n)]);
      const afterRelease = await release(released, [line('alice', 30n)]);

      assert.deepEqual(afterSettle, { status: 'already', as: 'settled' });
      assert.deepEqual(afterRelease, { status: 'already', as: 'released' });
      await expectState('alice', { used: 20n, held: 0n, inFlight: 0 });
    },
  ),
  rule(
    'QS-21 a settle after a release is a conflict that charges nothing',
    async ({ give, hold, settle, release, expectState }) => {
      await give('alice', 100n);
      const id = await hold('alice', 50n);
      await release(id, [line('alice', 50n)]);

      const result = await settle(id, [line('alice', 20n)]);

      assert.deepEqual(result, { status: 'conflict', as: 'released' });
      await expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
    },
  ),
  rule(
    'QS-22 a release that overtakes its reserve blocks it',
    async ({ give, reserve, release, expectState }) => {
      await give('alice', 100n);
      const id = newId();
      const overtaking = await release(id, [line('alice', 50n)]);

      const late = await reserve(id, [line('alice', 50n)]);

      assert.equal(overtaking.status, 'released');
      assert.deepEqual(late, { status: 'resolved', as: 'released' });
      await expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
    },
  ),
  rule(
    'QS-22 a release that races its reserve leaves nothing held',
    async ({ give, reserve, release, expectState }) => {
      await give('alice', 100n);

      await Promise.all(
        newIds(20).flatMap((id) => [
          reserve(id, [line('alice', 5n)]),
          release(id, [line('alice', 5n)]),
        ]),
      );

      await expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
    },
  ),
  rule(
    'QS-23 an extend after any ending returns gone and how the hold ended',
    async ({ give, hold, settle, release, extend, advance, reserve, expectState }) => {
      await give('alice', 100n);
      const settled = await hold('alice', 10n);
      const released = await hold('alice', 10n);
      const expired = await hold('alice', 10n);
      await settle(settled, [line('alice', 10n)]);
      await release(released, [line('alice', 10n)]);
      await advance(ttlMs + 1);

      const results = [];
      for (const id of [settled, released, expired, newId()]) results.push(await extend(id, [1n]));

      const gone = (as: string) => ({ status: 'gone', as });
      assert.deepEqual(results, ['settled', 'released', 'expired', 'unknown'].map(gone));
      const late = await reserve(expired, [line('alice', 10n)]);
      assert.deepEqual(late, { status: 'resolved', as: 'expired' });
      await expectState('alice', { used: 10n, held: 0n, inFlight: 0 });
    },
  ),
  rule('QS-24 duplicates in any order result in the same state', async (context) => {
    await context.give('alice', 1_000n);
    for (let round = 0; round < 100; round += 1) await deliver(context, round);

    await context.expectState('alice', { used: 500n, held: 0n, inFlight: 0 });
  }),
];

/** Delivers a reserve twice and its settle three times, in a different order each round. */
async function deliver({ reserve, settle, release }: CaseContext, round: number): Promise<void> {
  const id = newId();
  const steps = [
    () => settle(id, [line('alice', 5n)]),
    () => reserve(id, [line('alice', 8n)]),
    () => settle(id, [line('alice', 5n)]),
    () => reserve(id, [line('alice', 8n)]),
    () => settle(id, [line('alice', 5n)]),
  ];
  for (let step = 0; step < steps.length; step += 1) {
    // 1, 2, 3 and 4 are coprime to 5, so each stride visits every step once.
    await steps[((step + round) * ((round % 4) + 1)) % steps.length]?.();
  }
  await release(id, [line('alice', 8n)]);
}
