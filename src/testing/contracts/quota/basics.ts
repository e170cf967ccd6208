/**
 * The basic operations: hold, settle, release, an operator's adjustments, and what a reader sees of
 * them.
 */
import assert from 'node:assert/strict';
import {
  type CaseContext,
  countOf,
  expectBalances,
  expectInsufficient,
  expectRefused,
  line,
  newId,
  newIds,
  type QuotaCases,
  ttlMs,
} from './case-context.ts';

/** QS-01 to QS-09, and QS-41: hold, settle, release, adjust, and refusals. */
export const basicCases: QuotaCases = {
  'QS-01 a settle below the hold returns the rest': settling(100n, 60n, 25n),
  'QS-02 a settle equal to the hold uses it up': settling(60n, 60n, 60n),
  'QS-03 a settle above the hold is charged in full and may leave a debt': settling(
    100n,
    90n,
    130n,
  ),
  'QS-06 a hold of 0 is a hold, also with a limit of 0': settling(0n, 0n, 0n),
  async 'QS-04 a release returns exactly the held amount'(quota) {
    await quota.give('alice', 100n);
    const kept = await quota.hold('alice', 7n);
    const id = await quota.hold('alice', 60n);

    const result = await quota.release(id, [line('alice', 60n)]);

    assert.equal(result.status, 'released');
    await quota.expectState('alice', { used: 0n, held: 7n, inFlight: 1 });
    assert.notEqual(kept, id);
  },
  async 'QS-06 a hold of 0 is granted in debt, and counts as running'(quota) {
    await quota.give('alice', 10n);
    await quota.settle(await quota.hold('alice', 10n), [line('alice', 30n)]);

    const free = await quota.reserve(newId(), [line('alice', 0n)], { maxConcurrentCalls: [1] });
    const second = await quota.reserve(newId(), [line('alice', 0n)], { maxConcurrentCalls: [1] });

    assert(free.status === 'held');
    assert.deepEqual(free.available, [-20n]);
    assert.equal(second.status, 'too_many_in_flight');
    await quota.expectState('alice', { used: 30n, held: 0n, inFlight: 1 });
  },
  async 'QS-07 a subject without a limit is unknown, and a reserve does not create it'(quota) {
    const result = await quota.reserve(newId(), [line('nobody', 1n)]);

    assert(result.status === 'unknown_subject');
    assert.equal(result.subject, 'nobody');
    assert.equal(await quota.read('nobody'), undefined);
  },
  async 'QS-07 a reserve that carries a limit creates the row'(quota) {
    const first = await quota.reserve(newId(), [line('alice', 40n, { limit: 100n })]);
    const second = await quota.reserve(newId(), [line('alice', 80n, { limit: 100n })]);

    assert.equal(first.status, 'held');
    expectInsufficient(second, 60n);
    assert.equal((await quota.read('alice'))?.limit, 100n);
  },
  async 'QS-07 a disabled subject refuses reserves, but settles, extends and releases'(quota) {
    await quota.give('alice', 100n);
    const settled = await quota.hold('alice', 30n);
    const released = await quota.hold('alice', 20n);
    await quota.give('alice', 100n, { enabled: false });

    const refused = await quota.reserve(newId(), [line('alice', 1n)]);

    assert(refused.status === 'disabled_subject');
    assert.equal(refused.subject, 'alice');
    assert.equal((await quota.extend(settled)).status, 'held');
    assert.equal((await quota.settle(settled, [line('alice', 25n)])).status, 'settled');
    assert.equal((await quota.release(released, [line('alice', 20n)])).status, 'released');
    await quota.expectState('alice', { used: 25n, held: 0n, inFlight: 0 });
    assert.equal((await quota.give('alice', 100n, { enabled: true })).enabled, true);
    await quota.hold('alice', 1n);
  },
  async 'QS-08 a limit of 0 refuses every amount above 0'(quota) {
    await quota.give('alice', 0n);

    const results = await Promise.all(
      newIds(5).map((id) => quota.reserve(id, [line('alice', 1n)])),
    );

    assert.equal(countOf(results, 'insufficient'), 5);
    await quota.expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
  },
  async 'QS-09 a limit below the used amount refuses reserves, but settles are accepted'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 60n);
    await quota.give('alice', 10n);

    const refused = await quota.reserve(newId(), [line('alice', 1n)]);
    const settled = await quota.settle(id, [line('alice', 50n)]);

    expectInsufficient(refused, -50n);
    assert.equal(settled.status, 'settled');
    await quota.expectState('alice', { used: 50n, held: 0n, inFlight: 0 });
  },
  async 'QS-09 repeating an adjustment’s id changes nothing, and no limit falls below 0'(quota) {
    await quota.give('alice', 100n);
    const topUp = {
      id: newId(),
      partition: quota.partition,
      subject: 'alice',
      period: '',
      addLimit: 50n,
    };

    const first = await quota.store.adjust(topUp);
    const repeated = await quota.store.adjust(topUp);
    await quota.store.adjust({ ...topUp, id: newId(), addLimit: -1n });

    assert.deepEqual([first.replay, repeated.replay], [false, true]);
    assert.deepEqual([repeated.limit, repeated.extra], [100n, 50n]);
    assert.equal((await quota.read('alice'))?.extra, 49n);
    const emptied = await quota.store.adjust({ ...topUp, id: newId(), addLimit: -500n });
    assert.deepEqual([emptied.limit, emptied.extra], [100n, -451n]);
    const refused = await quota.reserve(newId(), [line('alice', 1n)]);
    expectInsufficient(refused, 0n);
  },
  async 'QS-09 of adjustments with one id exactly one is no replay, and only it is applied'(quota) {
    const row = { partition: quota.partition, subject: 'alice', period: '' };
    for (const addLimit of [50n, 0n]) {
      const topUp = { ...row, id: newId(), addLimit };

      const results = await Promise.all(
        Array.from({ length: 20 }, () => quota.store.adjust(topUp)),
      );

      assert.equal(results.filter(({ replay }) => !replay).length, 1);
    }
    assert.equal((await quota.read('alice'))?.extra, 50n);
  },
  async 'QS-09 additions and subtractions count in any order'(quota) {
    const row = { partition: quota.partition, subject: 'alice', period: '' };
    for (const addLimit of [-30n, 50n, -20n, 40n]) {
      await quota.store.adjust({ ...row, id: newId(), addLimit });
    }

    await quota.hold('alice', 40n);

    await quota.expectState('alice', { used: 0n, held: 40n, inFlight: 1 });
  },
  async 'QS-09 a version grows with every change of its row and not otherwise'(quota) {
    const created = await quota.give('alice', 100n);
    const id = await quota.hold('alice', 10n);
    const held = await quota.read('alice');
    await quota.settle(id, [line('alice', 10n)]);
    const settled = await quota.read('alice');

    assert(held !== undefined && settled !== undefined);
    assert(created.version < held.version && held.version < settled.version);
    assert.equal((await quota.read('alice'))?.version, settled.version);
  },
  async 'QS-05 a sweep without a bound is refused'(quota) {
    for (const max of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expectRefused(() => quota.store.sweep({ max, partition: quota.partition }));
    }
  },
  async 'QS-63 a charge states the balance of each line, with what operators have added'(quota) {
    await quota.give('alice', 100n);
    await quota.give('team', 50n, { addLimit: -20n });
    await quota.settle(await quota.hold('alice', 10n), [line('alice', 10n)]);
    const id = newId();
    await quota.reserve(id, [line('alice', 5n), line('team', 5n)]);

    const result = await quota.settle(id, [line('alice', 3n), line('team', 4n)]);

    expectBalances(result, [
      { used: 13n, limit: 100n },
      { used: 4n, limit: 30n },
    ]);
  },
  async 'QS-41 check finds no problems, and the store can be closed'(quota) {
    assert.deepEqual(await quota.store.check(), { ok: true });
    await quota.store.close();
  },
};

function settling(limit: bigint, held: bigint, charged: bigint) {
  return async (quota: CaseContext): Promise<void> => {
    await quota.give('alice', limit);
    const id = await quota.hold('alice', held);
    await quota.expectState('alice', { used: 0n, held, inFlight: 1 });

    const result = await quota.settle(id, [line('alice', charged)]);

    assert.equal(result.status, 'settled');
    expectBalances(result, [{ used: charged, limit }]);
    await quota.expectState('alice', { used: charged, held: 0n, inFlight: 0 });
    const left = limit - charged;
    const next = await quota.reserve(newId(), [line('alice', left < 0n ? 1n : left + 1n)]);
    expectInsufficient(next, left);
  };
}

/** QS-41, QS-46 and QS-48: reading. */
export const observationCases: QuotaCases = {
  async 'QS-41 balances are kept longer than leases and ended holds'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 10n);
    await quota.settle(id, [line('alice', 10n)]);

    for (let day = 0; day < 40; day += 1) await quota.advance(86_400_000);

    const state = await quota.read('alice');
    assert.deepEqual([state?.limit, state?.used, state?.held], [100n, 10n, 0n]);
  },
  async 'QS-41 an ended hold is remembered for 15 minutes while a settle may be retried'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 10n);
    await quota.settle(id, [line('alice', 10n)]);
    await quota.advance(15 * 60_000);
    for (let count = 0; count < 5; count += 1) {
      await quota.settle(await quota.hold('alice', 1n), [line('alice', 0n)]);
    }

    assert.equal((await quota.settle(id, [line('alice', 10n)])).status, 'already');
    await quota.expectState('alice', { used: 10n, held: 0n, inFlight: 0 });
  },
  async 'QS-46 readers under load always see consistent rows'(quota) {
    await quota.give('alice', 500n);
    const observe = async (): Promise<void> => {
      const state = await quota.read('alice');
      assert(state !== undefined);
      assert(state.used >= 0n && state.held >= 0n);
      assert(state.used + state.held <= state.limit);
      // Each hold of the load is 10.
      assert.equal(state.held, BigInt(state.inFlight) * 10n);
    };

    await Promise.all(
      newIds(100).flatMap((id, index) => [cycle(quota, id, index), observe(), observe()]),
    );

    await observe();
  },
  async 'QS-48 after all calls nothing is held, and used is the sum of the charges'(quota) {
    await quota.give('alice', 100_000n);

    const charges = await Promise.all(newIds(100).map((id, index) => cycle(quota, id, index)));
    await quota.advance(ttlMs + 1);
    const sweep = await quota.store.sweep({ max: 1_000, partition: quota.partition });

    assert.equal(sweep.more, false);
    const used = charges.reduce((sum, charge) => sum + charge, 0n);
    await quota.expectState('alice', { used, held: 0n, inFlight: 0 });
  },
  async 'QS-48 an unknown subject has no row'(quota) {
    assert.equal(await quota.read(newId()), undefined);
  },
};

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
