/**
 * The basic operations: hold, settle, release, an operator's adjustments, and what a reader sees of
 * them.
 */
import assert from 'node:assert/strict';
import { rule } from '../contract-case.ts';
import {
  type CaseContext,
  countOf,
  expectInsufficient,
  expectRefused,
  line,
  newId,
  newIds,
  type QuotaCase,
  ttlMs,
} from './case-context.ts';

/** Each with the limit, the amount held and the charge. */
const settles = [
  ['QS-01 a settle below the hold returns the rest', 100n, 60n, 25n],
  ['QS-02 a settle equal to the hold uses it up', 60n, 60n, 60n],
  ['QS-03 a settle above the hold is charged in full and may leave a debt', 100n, 90n, 130n],
  ['QS-06 a hold of 0 is a hold, also with a limit of 0', 0n, 0n, 0n],
] as const;

/** QS-01 to QS-09, and QS-41: hold, settle, release, adjust, and refusals. */
export const basicCases: readonly QuotaCase[] = [
  ...settles.map(([name, limit, held, charged]) => ({
    name,
    run: async ({ give, hold, settle, reserve, expectState }: CaseContext) => {
      await give('alice', limit);
      const id = await hold('alice', held);
      await expectState('alice', { used: 0n, held, inFlight: 1 });

      const result = await settle(id, [line('alice', charged)]);

      assert.equal(result.status, 'settled');
      await expectState('alice', { used: charged, held: 0n, inFlight: 0 });
      const left = limit - charged;
      const next = await reserve(newId(), [line('alice', left < 0n ? 1n : left + 1n)]);
      expectInsufficient(next, left);
    },
  })),
  rule(
    'QS-04 a release returns exactly the held amount',
    async ({ give, hold, release, expectState }) => {
      await give('alice', 100n);
      const kept = await hold('alice', 7n);
      const id = await hold('alice', 60n);

      const result = await release(id, [line('alice', 60n)]);

      assert.equal(result.status, 'released');
      await expectState('alice', { used: 0n, held: 7n, inFlight: 1 });
      assert.notEqual(kept, id);
    },
  ),
  rule(
    'QS-06 a hold of 0 is granted in debt, and counts as running',
    async ({ give, hold, settle, reserve, expectState }) => {
      await give('alice', 10n);
      await settle(await hold('alice', 10n), [line('alice', 30n)]);

      const free = await reserve(newId(), [line('alice', 0n)], { maxConcurrentCalls: [1] });
      const second = await reserve(newId(), [line('alice', 0n)], { maxConcurrentCalls: [1] });

      assert(free.status === 'held');
      assert.deepEqual(free.available, [-20n]);
      assert.equal(second.status, 'too_many_in_flight');
      await expectState('alice', { used: 30n, held: 0n, inFlight: 1 });
    },
  ),
  rule(
    'QS-07 a subject without a limit is unknown, and a reserve does not create it',
    async ({ reserve, read }) => {
      const result = await reserve(newId(), [line('nobody', 1n)]);

      assert(result.status === 'unknown_subject');
      assert.equal(result.subject, 'nobody');
      assert.equal(await read('nobody'), undefined);
    },
  ),
  rule('QS-07 a reserve that carries a limit creates the row', async ({ reserve, read }) => {
    const first = await reserve(newId(), [line('alice', 40n, { limit: 100n })]);
    const second = await reserve(newId(), [line('alice', 80n, { limit: 100n })]);

    assert.equal(first.status, 'held');
    expectInsufficient(second, 60n);
    assert.equal((await read('alice'))?.limit, 100n);
  }),
  rule(
    'QS-07 a disabled subject refuses reserves, but settles, extends and releases',
    async ({ give, hold, reserve, settle, extend, release, expectState }) => {
      await give('alice', 100n);
      const settled = await hold('alice', 30n);
      const released = await hold('alice', 20n);
      await give('alice', 100n, { enabled: false });

      const refused = await reserve(newId(), [line('alice', 1n)]);

      assert(refused.status === 'disabled_subject');
      assert.equal(refused.subject, 'alice');
      assert.equal((await extend(settled)).status, 'held');
      assert.equal((await settle(settled, [line('alice', 25n)])).status, 'settled');
      assert.equal((await release(released, [line('alice', 20n)])).status, 'released');
      await expectState('alice', { used: 25n, held: 0n, inFlight: 0 });
      assert.equal((await give('alice', 100n, { enabled: true })).enabled, true);
      await hold('alice', 1n);
    },
  ),
  rule(
    'QS-08 a limit of 0 refuses every amount above 0',
    async ({ give, reserve, expectState }) => {
      await give('alice', 0n);

      const results = await Promise.all(newIds(5).map((id) => reserve(id, [line('alice', 1n)])));

      assert.equal(countOf(results, 'insufficient'), 5);
      await expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
    },
  ),
  rule(
    'QS-09 a limit below the used amount refuses reserves, but settles are accepted',
    async ({ give, hold, reserve, settle, expectState }) => {
      await give('alice', 100n);
      const id = await hold('alice', 60n);
      await give('alice', 10n);

      const refused = await reserve(newId(), [line('alice', 1n)]);
      const settled = await settle(id, [line('alice', 50n)]);

      expectInsufficient(refused, -50n);
      assert.equal(settled.status, 'settled');
      await expectState('alice', { used: 50n, held: 0n, inFlight: 0 });
    },
  ),
  rule(
    'QS-09 repeating the id of an adjustment changes nothing, and no limit falls below 0',
    async ({ store, partition, give, read, reserve }) => {
      await give('alice', 100n);
      const topUp = { id: newId(), partition, subject: 'alice', period: '', addLimit: 50n };

      const first = await store.adjust(topUp);
      const repeated = await store.adjust(topUp);
      await store.adjust({ ...topUp, id: newId(), addLimit: -1n });

      assert.deepEqual([first.replay, repeated.replay], [false, true]);
      assert.deepEqual([repeated.limit, repeated.extra], [100n, 50n]);
      assert.equal((await read('alice'))?.extra, 49n);
      const emptied = await store.adjust({ ...topUp, id: newId(), addLimit: -500n });
      assert.deepEqual([emptied.limit, emptied.extra], [100n, -451n]);
      const refused = await reserve(newId(), [line('alice', 1n)]);
      expectInsufficient(refused, 0n);
    },
  ),
  rule(
    'QS-09 of adjustments with one id, exactly one is no replay, and only it is applied',
    async ({ store, partition, read }) => {
      const row = { partition, subject: 'alice', period: '' };
      for (const addLimit of [50n, 0n]) {
        const topUp = { ...row, id: newId(), addLimit };

        const results = await Promise.all(Array.from({ length: 20 }, () => store.adjust(topUp)));

        assert.equal(results.filter(({ replay }) => !replay).length, 1);
      }
      assert.equal((await read('alice'))?.extra, 50n);
    },
  ),
  rule(
    'QS-09 additions and subtractions count in any order',
    async ({ store, partition, hold, expectState }) => {
      const row = { partition, subject: 'alice', period: '' };
      for (const addLimit of [-30n, 50n, -20n, 40n]) {
        await store.adjust({ ...row, id: newId(), addLimit });
      }

      await hold('alice', 40n);

      await expectState('alice', { used: 0n, held: 40n, inFlight: 1 });
    },
  ),
  rule(
    'QS-09 a version grows with every change of its row and not otherwise',
    async ({ give, hold, settle, read }) => {
      const created = await give('alice', 100n);
      const id = await hold('alice', 10n);
      const held = await read('alice');
      await settle(id, [line('alice', 10n)]);
      const settled = await read('alice');

      assert(held !== undefined && settled !== undefined);
      assert(created.version < held.version && held.version < settled.version);
      assert.equal((await read('alice'))?.version, settled.version);
    },
  ),
  rule('QS-05 a sweep without a bound is refused', async ({ store, partition }) => {
    for (const max of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expectRefused(() => store.sweep({ max, partition }));
    }
  }),
  rule('QS-41 check finds no problems, and the store can be closed', async ({ store }) => {
    assert.deepEqual(await store.check(), { ok: true });
    await store.close();
  }),
];

/** QS-41, QS-46 and QS-48: reading. */
export const observationCases: readonly QuotaCase[] = [
  rule(
    'QS-41 balances are kept longer than leases and ended holds',
    async ({ give, hold, settle, advance, read }) => {
      await give('alice', 100n);
      const id = await hold('alice', 10n);
      await settle(id, [line('alice', 10n)]);

      for (let day = 0; day < 40; day += 1) await advance(86_400_000);

      const state = await read('alice');
      assert.deepEqual([state?.limit, state?.used, state?.held], [100n, 10n, 0n]);
    },
  ),
  rule(
    'QS-41 an ended hold is remembered for the 15 minutes in which a settle may be retried',
    async ({ give, hold, settle, advance, expectState }) => {
      await give('alice', 100n);
      const id = await hold('alice', 10n);
      await settle(id, [line('alice', 10n)]);
      await advance(15 * 60_000);
      for (let count = 0; count < 5; count += 1) {
        await settle(await hold('alice', 1n), [line('alice', 0n)]);
      }

      assert.equal((await settle(id, [line('alice', 10n)])).status, 'already');
      await expectState('alice', { used: 10n, held: 0n, inFlight: 0 });
    },
  ),
  rule('QS-46 readers under load always see consistent rows', async (context) => {
    await context.give('alice', 500n);
    const observe = async (): Promise<void> => {
      const state = await context.read('alice');
      assert(state !== undefined);
      assert(state.used >= 0n && state.held >= 0n);
      assert(state.used + state.held <= state.limit);
      // Each hold of the load is 10.
      assert.equal(state.held, BigInt(state.inFlight) * 10n);
    };

    await Promise.all(
      newIds(100).flatMap((id, index) => [cycle(context, id, index), observe(), observe()]),
    );

    await observe();
  }),
  rule(
    'QS-48 after all calls have ended nothing is held, and used is the sum of the charges',
    async (context) => {
      await context.give('alice', 100_000n);

      const charges = await Promise.all(newIds(100).map((id, index) => cycle(context, id, index)));
      await context.advance(ttlMs + 1);
      const sweep = await context.store.sweep({ max: 1_000, partition: context.partition });

      assert.equal(sweep.more, false);
      const used = charges.reduce((sum, charge) => sum + charge, 0n);
      await context.expectState('alice', { used, held: 0n, inFlight: 0 });
    },
  ),
  rule('QS-48 an unknown subject has no row', async ({ read }) => {
    assert.equal(await read(newId()), undefined);
  }),
];

/**
 * Runs one request: reserves, then settles, releases, or lets the lease run out. Returns its
 * charge.
 */
async function cycle(context: CaseContext, id: string, index: number): Promise<bigint> {
  const { reserve, settle, release } = context;
  const result = await reserve(id, [line('alice', 10n)]);
  if (result.status !== 'held' || index % 4 === 3) return 0n;
  if (index % 4 === 2) {
    await release(id, [line('alice', 10n)]);
    return 0n;
  }
  await settle(id, [line('alice', 6n)]);
  return 6n;
}
