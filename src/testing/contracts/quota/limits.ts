/** Limits that reserves carry from key records, and operators' additions to them. */
import assert from 'node:assert/strict';
import { maxNanos } from '../../../money.ts';
import { rule } from '../over-setups.ts';
import type { QuotaCase } from './case-context.ts';
import { expectRefused, line, newId } from './case-context.ts';

/** QS-50 to QS-53: limits that reserves carry. */
export const limitCases: readonly QuotaCase[] = [
  rule('QS-50 a raised limit counts from the next reserve on', async ({ reserve, read }) => {
    await reserve(newId(), [line('alice', 90n, { limit: 100n })]);

    const refused = await reserve(newId(), [line('alice', 20n, { limit: 100n })]);
    const granted = await reserve(newId(), [line('alice', 20n, { limit: 110n })]);

    assert(refused.status === 'insufficient');
    assert.equal(refused.available, 10n);
    assert(granted.status === 'held');
    assert.deepEqual(granted.available, [0n]);
    assert.equal((await read('alice'))?.limit, 110n);
  }),
  rule(
    'QS-50 a lowered limit counts immediately, also for the growth of running holds',
    async ({ reserve, extend, read }) => {
      const running = newId();
      await reserve(running, [line('alice', 40n, { limit: 100n })]);

      const refused = await reserve(newId(), [line('alice', 20n, { limit: 50n })]);
      const extended = await extend(running, [20n]);

      assert(refused.status === 'insufficient');
      assert.equal(refused.available, 10n);
      assert(extended.status === 'insufficient');
      assert.equal(extended.available, 10n);
      const state = await read('alice');
      assert.deepEqual([state?.limit, state?.held, state?.inFlight], [50n, 40n, 1]);
    },
  ),
  rule(
    'QS-50 a limit below the used amount refuses reserves, but running holds settle',
    async ({ reserve, settle, expectState }) => {
      const running = newId();
      await reserve(running, [line('alice', 40n, { limit: 100n })]);

      const refused = await reserve(newId(), [line('alice', 1n, { limit: 10n })]);
      const settled = await settle(running, [line('alice', 40n)]);

      assert(refused.status === 'insufficient');
      assert.equal(refused.available, -30n);
      assert.equal(settled.status, 'settled');
      await expectState('alice', { used: 40n, held: 0n, inFlight: 0 });
    },
  ),
  rule(
    'QS-50 each reserve is judged by the limit it carries, in any order',
    async ({ reserve }) => {
      await reserve(newId(), [line('alice', 50n, { limit: 100n })]);
      const statuses: string[] = [];
      for (const limit of [60n, 100n, 60n, 100n, 60n, 100n]) {
        statuses.push((await reserve(newId(), [line('alice', 15n, { limit })])).status);
      }

      const [refused, held] = ['insufficient', 'held'];
      assert.deepEqual(statuses, [refused, held, refused, held, refused, held]);
    },
  ),
  rule(
    'QS-50 concurrent reserves with two limits never hold more than their own limit',
    async ({ reserve, expectState }) => {
      const heldAfter = async (limit: bigint): Promise<bigint> => {
        const result = await reserve(newId(), [line('alice', 10n, { limit })]);
        return result.status === 'held' ? limit - (result.available[0] ?? 0n) : 0n;
      };

      const totals = await Promise.all(
        Array.from({ length: 40 }, (_, index) => heldAfter(index % 2 === 0 ? 60n : 100n)),
      );

      totals.forEach((held, index) => {
        assert(held <= (index % 2 === 0 ? 60n : 100n));
      });
      await expectState('alice', { used: 0n, held: 100n, inFlight: 10 });
    },
  ),
  rule(
    'QS-50 the limit of every line is stored, even if one line refuses the hold',
    async ({ reserve, read }) => {
      const lines = (group: bigint, key: bigint) => [
        line('group', 10n, { limit: group }),
        line('key', 10n, { limit: key }),
      ];
      await reserve(newId(), lines(100n, 100n));

      const refused = await reserve(newId(), lines(10n, 50n));

      assert(refused.status === 'insufficient');
      assert.equal(refused.subject, 'group');
      assert.equal((await read('group'))?.limit, 10n);
      assert.equal((await read('key'))?.limit, 50n);
    },
  ),
  rule(
    'QS-51 an operator’s addition is kept when the limit of the record changes',
    async ({ store, partition, reserve, read }) => {
      await reserve(newId(), [line('alice', 10n, { limit: 10n })]);
      const row = { partition, subject: 'alice', period: '' };
      await store.adjust({ ...row, id: newId(), addLimit: 30n });

      const first = await reserve(newId(), [line('alice', 30n, { limit: 10n })]);
      const lowered = await reserve(newId(), [line('alice', 1n, { limit: 5n })]);
      const raised = await reserve(newId(), [line('alice', 10n, { limit: 20n })]);

      assert.equal(first.status, 'held');
      assert(lowered.status === 'insufficient');
      assert.equal(lowered.available, -5n);
      assert.equal(raised.status, 'held');
      const state = await read('alice');
      assert.deepEqual([state?.limit, state?.extra, state?.held], [20n, 30n, 50n]);
    },
  ),
  rule(
    'QS-51 an operator’s addition counts for its period only',
    async ({ store, partition, reserve }) => {
      const of = (period: string) => line('alice', 15n, { period, limit: 10n });
      const row = { partition, subject: 'alice', period: '2026-11' };
      await store.adjust({ ...row, id: newId(), addLimit: 5n });

      const november = await reserve(newId(), [of('2026-11')]);
      const december = await reserve(newId(), [of('2026-12')]);

      assert.equal(november.status, 'held');
      assert(december.status === 'insufficient');
      assert.equal(december.available, 10n);
    },
  ),
  rule(
    'QS-51 limit plus extra counts as 2^53 − 1 at most, and extra itself is bounded',
    async ({ store, partition, reserve, read }) => {
      const row = { partition, subject: 'alice', period: '' };
      await store.adjust({ ...row, id: newId(), addLimit: maxNanos });
      const before = await read('alice');

      await expectRefused(() => store.adjust({ ...row, id: newId(), addLimit: 1n }));
      assert.deepEqual(await read('alice'), before);
      const result = await reserve(newId(), [line('alice', 0n, { limit: maxNanos })]);

      assert(result.status === 'held');
      assert.deepEqual(result.available, [maxNanos]);
    },
  ),
  rule(
    'QS-52 adjust refuses to set a limit that the latest reserve carried',
    async ({ store, partition, reserve, read }) => {
      await reserve(newId(), [line('alice', 10n, { limit: 100n })]);
      const before = await read('alice');
      const change = { id: newId(), partition, subject: 'alice', period: '', limit: 500n };

      await expectRefused(() => store.adjust({ ...change, addLimit: 5n, enabled: false }));

      assert.deepEqual(await read('alice'), before);
      // The id can still be used.
      const { limit: _, ...withoutLimit } = change;
      assert.equal((await store.adjust({ ...withoutLimit, addLimit: 5n })).extra, 5n);
    },
  ),
  rule(
    'QS-52 a limit set by adjust counts where the latest reserve carried none',
    async ({ give, hold, reserve, read }) => {
      await give('alice', 30n);
      await hold('alice', 10n);
      assert.equal((await give('alice', 50n)).limit, 50n);
      await reserve(newId(), [line('alice', 10n, { limit: 20n })]);
      assert.equal((await read('alice'))?.limit, 20n);

      const stated = await reserve(newId(), [line('alice', 1n)]);
      const given = await give('alice', 70n);

      assert(stated.status === 'insufficient');
      assert.equal(stated.available, 0n);
      assert.equal(given.limit, 70n);
      await hold('alice', 50n);
    },
  ),
];
