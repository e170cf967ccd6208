/**
 * The contract of `QuotaStore`: every guarantee that can be tested in one process without network
 * failures.
 */
import assert from 'node:assert/strict';
import { type ContractCase, overSetups } from './contract-case.ts';
import { basicCases, observationCases } from './quota/basics.ts';
import {
  type CaseContext,
  caseContext,
  expectRefused,
  line,
  type MakeQuotaStore,
  newId,
  type QuotaCases,
  ttlMs,
} from './quota/case-context.ts';
import { idempotenceCases } from './quota/idempotence.ts';
import { leaseCases } from './quota/lease.ts';
import { admissionCases, limitCases } from './quota/limits.ts';
import { numberCases } from './quota/numbers.ts';

/**
 * The cases of the quota contract, for your own store. `make` is called once per case; stores may
 * share a database, since each case uses a new partition and new ids.
 */
export function quotaStoreContract(make: MakeQuotaStore): readonly ContractCase[] {
  const cases = {
    ...basicCases,
    ...admissionCases,
    ...idempotenceCases,
    ...leaseCases,
    ...numberCases,
    ...observationCases,
    ...limitCases,
    ...idleCases,
  };
  return overSetups(cases, make, caseContext);
}

/** QS-60 to QS-62: idle holds. */
const idleCases: QuotaCases = {
  async 'QS-60 an idle hold keeps its money but doesn’t count as running, also if repeated'(quota) {
    const { give, hold, reserve, expectState } = quota;
    const cap = { maxConcurrentCalls: [2] };
    await give('alice', 100n);
    const doubtful = await hold('alice', 30n, cap);
    await hold('alice', 10n, cap);
    assert.equal((await reserve(newId(), [line('alice', 1n)], cap)).status, 'too_many_in_flight');

    for (let times = 0; times < 3; times += 1) {
      assert.equal((await makeIdle(quota, doubtful)).status, 'held');
      await expectState('alice', { used: 0n, held: 40n, inFlight: 1 });
    }
    await hold('alice', 60n, cap);

    assert.equal((await reserve(newId(), [line('alice', 1n)])).status, 'insufficient');
    assert.equal((await reserve(newId(), [line('alice', 0n)], cap)).status, 'too_many_in_flight');
    await expectState('alice', { used: 0n, held: 100n, inFlight: 2 });
  },
  async 'QS-60 an idle hold never runs again'(quota) {
    const { give, hold, extend, store, partition, expectState } = quota;
    await give('alice', 100n);
    const id = await hold('alice', 30n);
    await makeIdle(quota, id);

    await extend(id, [5n]);
    await store.extend([{ id, partition, ttlMs, idle: false }]);

    await expectState('alice', { used: 0n, held: 35n, inFlight: 0 });
  },
  async 'QS-61 an idle hold ends like any other, and once'(quota) {
    const { give, hold, settle, release, advance, expectState } = quota;
    await give('alice', 100n);
    const settled = await hold('alice', 10n);
    const released = await hold('alice', 20n);
    await hold('alice', 5n);
    const expired = await hold('alice', 30n, { onExpire: { charge: [4n] } });
    for (const id of [settled, released]) await makeIdle(quota, id, 900_000);
    await makeIdle(quota, expired, 1_000);
    await expectState('alice', { used: 0n, held: 65n, inFlight: 1 });

    await advance(ttlMs + 1);
    await expectState('alice', { used: 4n, held: 30n, inFlight: 0 });
    assert.equal((await settle(settled, [line('alice', 7n)])).status, 'settled');
    assert.equal((await release(released, [line('alice', 20n)])).status, 'released');

    await expectState('alice', { used: 11n, held: 0n, inFlight: 0 });
    for (const id of [settled, released, expired]) {
      assert.equal((await makeIdle(quota, id)).status, 'gone');
    }
    await hold('alice', 1n, { maxConcurrentCalls: [1] });
    await expectState('alice', { used: 11n, held: 1n, inFlight: 1 });
  },
  async 'QS-61 an idle hold stops counting on every line, once for each subject'(quota) {
    const { give, reserve, settle, expectState } = quota;
    for (const subject of ['group', 'key']) await give(subject, 100n);
    const id = newId();
    const lines = [
      line('group', 10n),
      line('key', 10n),
      line('key', 10n, { period: '2026-11', limit: 100n }),
    ];
    await reserve(id, lines);
    await makeIdle(quota, id);
    const cap = { maxConcurrentCalls: [1, 1, undefined] };
    const next = newId();

    assert.equal((await reserve(next, lines, cap)).status, 'held');
    assert.equal((await reserve(newId(), lines, cap)).status, 'too_many_in_flight');
    await settle(id, lines);

    assert.equal((await reserve(newId(), lines, cap)).status, 'too_many_in_flight');
    await settle(next, lines);
    assert.equal((await reserve(newId(), lines, cap)).status, 'held');
    await expectState('group', { used: 20n, held: 10n, inFlight: 1 });
    await expectState('key', { used: 20n, held: 10n, inFlight: 1, period: '2026-11' });
  },
  async 'QS-62 a hold becomes idle even if the same extend can’t grow it'(quota) {
    const { give, hold, store, partition, expectState } = quota;
    await give('alice', 30n);
    const id = await hold('alice', 30n);

    const [result] = await store.extend([{ id, partition, ttlMs, add: [1n], idle: true }]);

    assert.equal(result?.status, 'insufficient');
    await expectState('alice', { used: 0n, held: 30n, inFlight: 0 });
  },
  async 'QS-62 idle must be true or false'(quota) {
    await quota.give('alice', 30n);
    const id = await quota.hold('alice', 10n);

    // A host without types might pass this.
    const input = { id, partition: quota.partition, ttlMs, ...JSON.parse('{ "idle": "no" }') };
    await expectRefused(() => quota.store.extend([input]));

    await quota.expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
  },
};

async function makeIdle({ store, partition }: CaseContext, id: string, forMs: number = ttlMs) {
  const [result] = await store.extend([{ id, partition, ttlMs: forMs, idle: true }]);
  assert(result !== undefined);
  return result;
}
