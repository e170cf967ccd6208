/**
 * Limits that reserves carry from key records, operators' additions to them, and admission: exact
 * under races, all lines or none.
 */
import assert from 'node:assert/strict';
import { maxNanos } from '../../../money.ts';
import {
  countOf,
  expectInsufficient,
  expectRefused,
  line,
  newId,
  newIds,
  type QuotaCases,
  ttlMs,
} from './case-context.ts';

/** QS-50 to QS-53: limits that reserves carry. */
export const limitCases: QuotaCases = {
  async 'QS-50 a raised limit counts from the next reserve on'(quota) {
    await quota.reserve(newId(), [line('alice', 90n, { limit: 100n })]);

    const refused = await quota.reserve(newId(), [line('alice', 20n, { limit: 100n })]);
    const granted = await quota.reserve(newId(), [line('alice', 20n, { limit: 110n })]);

    expectInsufficient(refused, 10n);
    assert(granted.status === 'held');
    assert.deepEqual(granted.available, [0n]);
    assert.equal((await quota.read('alice'))?.limit, 110n);
  },
  async 'QS-50 a lowered limit counts immediately, also for the growth of running holds'(quota) {
    const running = newId();
    await quota.reserve(running, [line('alice', 40n, { limit: 100n })]);

    const refused = await quota.reserve(newId(), [line('alice', 20n, { limit: 50n })]);
    const extended = await quota.extend(running, [20n]);

    expectInsufficient(refused, 10n);
    expectInsufficient(extended, 10n);
    const state = await quota.read('alice');
    assert.deepEqual([state?.limit, state?.held, state?.inFlight], [50n, 40n, 1]);
  },
  async 'QS-50 a limit below the used amount refuses reserves, but running holds settle'(quota) {
    const running = newId();
    await quota.reserve(running, [line('alice', 40n, { limit: 100n })]);

    const refused = await quota.reserve(newId(), [line('alice', 1n, { limit: 10n })]);
    const settled = await quota.settle(running, [line('alice', 40n)]);

    expectInsufficient(refused, -30n);
    assert.equal(settled.status, 'settled');
    await quota.expectState('alice', { used: 40n, held: 0n, inFlight: 0 });
  },
  async 'QS-50 each reserve is judged by the limit it carries, in any order'(quota) {
    await quota.reserve(newId(), [line('alice', 50n, { limit: 100n })]);
    const statuses: string[] = [];
    for (const limit of [60n, 100n, 60n, 100n, 60n, 100n]) {
      statuses.push((await quota.reserve(newId(), [line('alice', 15n, { limit })])).status);
    }

    const [refused, held] = ['insufficient', 'held'];
    assert.deepEqual(statuses, [refused, held, refused, held, refused, held]);
  },
  async 'QS-50 concurrent reserves with two limits never hold more than their own limit'(quota) {
    const heldAfter = async (limit: bigint): Promise<bigint> => {
      const result = await quota.reserve(newId(), [line('alice', 10n, { limit })]);
      return result.status === 'held' ? limit - (result.available[0] ?? 0n) : 0n;
    };

    const totals = await Promise.all(
      Array.from({ length: 40 }, (_, index) => heldAfter(index % 2 === 0 ? 60n : 100n)),
    );

    totals.forEach((held, index) => {
      assert(held <= (index % 2 === 0 ? 60n : 100n));
    });
    await quota.expectState('alice', { used: 0n, held: 100n, inFlight: 10 });
  },
  async 'QS-50 the limit of every line is stored, even if one line refuses the hold'(quota) {
    const lines = (group: bigint, key: bigint) => [
      line('group', 10n, { limit: group }),
      line('key', 10n, { limit: key }),
    ];
    await quota.reserve(newId(), lines(100n, 100n));

    const refused = await quota.reserve(newId(), lines(10n, 50n));

    assert(refused.status === 'insufficient');
    assert.equal(refused.subject, 'group');
    assert.equal((await quota.read('group'))?.limit, 10n);
    assert.equal((await quota.read('key'))?.limit, 50n);
  },
  async 'QS-51 an operator’s addition is kept when the limit of the record changes'(quota) {
    await quota.reserve(newId(), [line('alice', 10n, { limit: 10n })]);
    const row = { partition: quota.partition, subject: 'alice', period: '' };
    await quota.store.adjust({ ...row, id: newId(), addLimit: 30n });

    const first = await quota.reserve(newId(), [line('alice', 30n, { limit: 10n })]);
    const lowered = await quota.reserve(newId(), [line('alice', 1n, { limit: 5n })]);
    const raised = await quota.reserve(newId(), [line('alice', 10n, { limit: 20n })]);

    assert.equal(first.status, 'held');
    expectInsufficient(lowered, -5n);
    assert.equal(raised.status, 'held');
    const state = await quota.read('alice');
    assert.deepEqual([state?.limit, state?.extra, state?.held], [20n, 30n, 50n]);
  },
  async 'QS-51 an operator’s addition counts for its period only'(quota) {
    const of = (period: string) => line('alice', 15n, { period, limit: 10n });
    const row = { partition: quota.partition, subject: 'alice', period: '2026-11' };
    await quota.store.adjust({ ...row, id: newId(), addLimit: 5n });

    const november = await quota.reserve(newId(), [of('2026-11')]);
    const december = await quota.reserve(newId(), [of('2026-12')]);

    assert.equal(november.status, 'held');
    expectInsufficient(december, 10n);
  },
  async 'QS-51 limit plus extra counts as 2^53 − 1 at most, and extra itself is bounded'(quota) {
    const row = { partition: quota.partition, subject: 'alice', period: '' };
    await quota.store.adjust({ ...row, id: newId(), addLimit: maxNanos });
    const before = await quota.read('alice');

    await expectRefused(() => quota.store.adjust({ ...row, id: newId(), addLimit: 1n }));
    assert.deepEqual(await quota.read('alice'), before);
    const result = await quota.reserve(newId(), [line('alice', 0n, { limit: maxNanos })]);

    assert(result.status === 'held');
    assert.deepEqual(result.available, [maxNanos]);
  },
  async 'QS-52 adjust refuses to set a limit that the latest reserve carried'(quota) {
    await quota.reserve(newId(), [line('alice', 10n, { limit: 100n })]);
    const before = await quota.read('alice');
    const change = {
      id: newId(),
      partition: quota.partition,
      subject: 'alice',
      period: '',
      limit: 500n,
    };

    await expectRefused(() => quota.store.adjust({ ...change, addLimit: 5n, enabled: false }));

    assert.deepEqual(await quota.read('alice'), before);
    // The id can still be used.
    const { limit: _, ...withoutLimit } = change;
    assert.equal((await quota.store.adjust({ ...withoutLimit, addLimit: 5n })).extra, 5n);
  },
  async 'QS-52 a limit set by adjust counts where the latest reserve carried none'(quota) {
    await quota.give('alice', 30n);
    await quota.hold('alice', 10n);
    assert.equal((await quota.give('alice', 50n)).limit, 50n);
    await quota.reserve(newId(), [line('alice', 10n, { limit: 20n })]);
    assert.equal((await quota.read('alice'))?.limit, 20n);

    const stated = await quota.reserve(newId(), [line('alice', 1n)]);
    const given = await quota.give('alice', 70n);

    expectInsufficient(stated, 0n);
    assert.equal(given.limit, 70n);
    await quota.hold('alice', 50n);
  },
};

/** QS-10 to QS-16, and QS-33 and QS-47: admission. */
export const admissionCases: QuotaCases = {
  async 'QS-10 fifty concurrent reserves on a quota for ten hold exactly ten'(quota) {
    for (let round = 0; round < 10; round += 1) {
      const subject = `round-${round}`;
      await quota.give(subject, 100n);

      const results = await Promise.all(
        newIds(50).map((id) => quota.reserve(id, [line(subject, 10n)])),
      );

      assert.equal(countOf(results, 'held'), 10);
      assert.equal(countOf(results, 'insufficient'), 40);
      await quota.expectState(subject, { used: 0n, held: 100n, inFlight: 10 });
    }
  },
  async 'QS-11 concurrent holds and settles never exceed the limit'(quota) {
    await quota.give('alice', 200n);
    const spend = async (id: string): Promise<bigint> => {
      const result = await quota.reserve(id, [line('alice', 10n)]);
      if (result.status !== 'held') return 0n;
      await quota.settle(id, [line('alice', 7n)]);
      return 7n;
    };

    const charges = await Promise.all(newIds(100).map(spend));

    const used = charges.reduce((sum, charge) => sum + charge, 0n);
    assert(used > 0n && used <= 200n);
    await quota.expectState('alice', { used, held: 0n, inFlight: 0 });
  },
  async 'QS-12 a subject with a large balance is held like any other'(quota) {
    await quota.give('rich', 1_000_000n);

    await quota.hold('rich', 10n);

    await quota.expectState('rich', { used: 0n, held: 10n, inFlight: 1 });
    const rest = await quota.reserve(newId(), [line('rich', 999_991n)]);
    assert.equal(rest.status, 'insufficient');
  },
  async 'QS-13 a refused reserve holds nothing and leaves its id free'(quota) {
    await quota.give('alice', 10n);
    const id = newId();

    const refused = await quota.reserve(id, [line('alice', 11n)]);

    expectInsufficient(refused, 10n, 'alice');
    await quota.expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
    assert.equal((await quota.reserve(id, [line('alice', 10n)])).status, 'held');
  },
  async 'QS-14 a settle above the balance is accepted and recorded'(quota) {
    await quota.give('alice', 10n);
    const id = await quota.hold('alice', 10n);

    const result = await quota.settle(id, [line('alice', 1_000n)]);

    assert.equal(result.status, 'settled');
    await quota.expectState('alice', { used: 1_000n, held: 0n, inFlight: 0 });
  },
  async 'QS-15 a cap on concurrent holds is exact under races, and each ending frees one'(quota) {
    await quota.give('alice', 1_000n);
    const cap = { maxConcurrentCalls: [3] };
    const ids = newIds(20);

    const results = await Promise.all(ids.map((id) => quota.reserve(id, [line('alice', 1n)], cap)));

    assert.equal(countOf(results, 'held'), 3);
    assert.equal(countOf(results, 'too_many_in_flight'), 17);
    const held = ids.filter((_id, index) => results[index]?.status === 'held');
    const [first = '', second = ''] = held;
    const again = async (): Promise<string> =>
      (await quota.reserve(newId(), [line('alice', 1n)], cap)).status;
    assert.equal(await again(), 'too_many_in_flight');
    await quota.settle(first, [line('alice', 1n)]);
    assert.equal(await again(), 'held');
    await quota.release(second, [line('alice', 1n)]);
    assert.equal(await again(), 'held');
    await quota.advance(ttlMs + 1);
    assert.equal(await again(), 'held');
    await quota.expectState('alice', { used: 1n, held: 1n, inFlight: 1 });
  },
  async 'QS-15 a cap counts the holds of a subject in all periods'(quota) {
    const november = line('alice', 1n, { period: '2026-11', limit: 10n });
    const december = line('alice', 1n, { period: '2026-12', limit: 10n });
    await quota.reserve(newId(), [november], { maxConcurrentCalls: [1] });

    const result = await quota.reserve(newId(), [december], { maxConcurrentCalls: [1] });

    assert(result.status === 'too_many_in_flight');
    assert.equal(result.subject, 'alice');
  },
  async 'QS-15 a cap on one line does not limit other lines'(quota) {
    await quota.give('group', 100n);
    await quota.give('key', 100n);
    const lines = [line('group', 1n), line('key', 1n)];
    const change = { maxConcurrentCalls: [undefined, 1] };
    await quota.reserve(newId(), lines, change);

    const capped = await quota.reserve(newId(), lines, change);
    const uncapped = await quota.reserve(newId(), [line('group', 1n)], {
      maxConcurrentCalls: [undefined],
    });

    assert(capped.status === 'too_many_in_flight');
    assert.equal(capped.subject, 'key');
    assert.equal(uncapped.status, 'held');
  },
  async 'QS-16 a request is charged once on each of its lines'(quota) {
    await quota.give('group', 100n);
    await quota.give('key', 50n);
    const id = newId();

    await quota.reserve(id, [line('group', 20n), line('key', 20n)]);
    await quota.settle(id, [line('group', 12n), line('key', 12n)]);

    await quota.expectState('group', { used: 12n, held: 0n, inFlight: 0 });
    await quota.expectState('key', { used: 12n, held: 0n, inFlight: 0 });
  },
  async 'QS-33 if the third line does not fit, the first two are unchanged'(quota) {
    await quota.give('a', 100n);
    await quota.give('b', 100n);
    await quota.give('c', 4n);
    const before = (await quota.read('a'))?.version;

    const result = await quota.reserve(newId(), [line('a', 5n), line('b', 5n), line('c', 5n)]);

    expectInsufficient(result, 4n, 'c');
    for (const subject of ['a', 'b', 'c']) {
      await quota.expectState(subject, { used: 0n, held: 0n, inFlight: 0 });
    }
    assert.equal((await quota.read('a'))?.version, before);
  },
  async 'QS-33 concurrent reserves of several lines are held on all lines or on none'(quota) {
    await quota.give('group', 70n);
    await quota.give('key-1', 40n);
    await quota.give('key-2', 1_000n);
    const lines = (key: string) => [line('group', 10n), line(key, 10n)];

    const results = await Promise.all([
      ...newIds(20).map((id) => quota.reserve(id, lines('key-1'))),
      ...newIds(20).map((id) => quota.reserve(id, lines('key-2'))),
    ]);

    const ones = BigInt(countOf(results.slice(0, 20), 'held'));
    const twos = BigInt(countOf(results.slice(20), 'held'));
    assert.equal(ones + twos, 7n);
    assert(ones <= 4n);
    await quota.expectState('group', { used: 0n, held: 70n, inFlight: 7 });
    await quota.expectState('key-1', { used: 0n, held: ones * 10n });
    await quota.expectState('key-2', { used: 0n, held: twos * 10n });
  },
  async 'QS-47 a reserve returns the amount that is left at that moment'(quota) {
    await quota.give('group', 100n);
    await quota.give('key', 30n);
    const available = async (amount: bigint): Promise<readonly bigint[] | undefined> => {
      const lines = [line('group', amount), line('key', amount)];
      const result = await quota.reserve(newId(), lines);
      return result.status === 'held' ? result.available : undefined;
    };

    assert.deepEqual(await available(10n), [90n, 20n]);
    assert.deepEqual(await available(20n), [70n, 0n]);
    assert.deepEqual(await available(0n), [70n, 0n]);
    assert.equal(await available(1n), undefined);
  },
};
