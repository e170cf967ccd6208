/** Amounts and names at their bounds and beyond. */
import assert from 'node:assert/strict';
import { maxNanos, type Nanos } from '../../../money.ts';
import type { QuotaLine, ReserveInput } from '../../../ports/limits/quota-store.ts';
import { everyId } from '../contract-case.ts';
import {
  expectInsufficient,
  expectRefused,
  line,
  newId,
  type QuotaCases,
  ttlMs,
} from './case-context.ts';

/** QS-05, QS-38 and QS-39: invalid input, large amounts, valid names. */
export const numberCases: QuotaCases = {
  async 'QS-05 an amount that is negative, too large, fractional or no bigint is refused'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 10n);
    const before = await quota.read('alice');

    for (const amount of invalidAmounts()) {
      const lines = [line('alice', amount)];
      const adjustment = { id: newId(), partition: quota.partition, subject: 'alice', period: '' };
      await expectRefused(() => quota.reserve(newId(), lines));
      await expectRefused(() => quota.reserve(newId(), [line('alice', 1n, { limit: amount })]));
      await expectRefused(() => quota.settle(id, lines));
      await expectRefused(() => quota.extend(id, [amount]));
      await expectRefused(() => quota.store.adjust({ ...adjustment, limit: amount }));
      await expectRefused(() =>
        quota.reserve(newId(), [line('alice', 5n)], { onExpire: { charge: [amount] } }),
      );
    }

    assert.deepEqual(await quota.read('alice'), before);
  },
  async 'QS-05 a reserve with invalid input is refused and holds nothing'(quota) {
    for (const subject of ['a', 'b']) await quota.give(subject, 100n);
    const before = await quota.read('a');
    const [a, b] = [line('a', 1n), line('b', 1n)];
    const invalid: readonly (readonly [readonly QuotaLine[], Partial<ReserveInput>?])[] = [
      [[]],
      [[b, a]],
      [[a, a]],
      [Array.from({ length: 9 }, (_, index) => line(`s${index}`, 1n))],
      [[a], { ttlMs: 999 }],
      [[a], { ttlMs: 900_001 }],
      [[a], { ttlMs: 1_000.5 }],
      [[a], { onExpire: { charge: [] } }],
      [[a], { onExpire: { charge: [2n] } }],
      [[a], { maxConcurrentCalls: [] }],
      [[a], { maxConcurrentCalls: [0] }],
      [[a], { maxConcurrentCalls: [1.5] }],
    ];

    for (const [lines, change] of invalid) {
      await expectRefused(() => quota.reserve(newId(), lines, change));
    }

    assert.deepEqual(await quota.read('a'), before);
  },
  async 'QS-05 an extend with a wrong number of amounts or ttlMs changes nothing'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 10n);
    const before = await quota.read('alice');

    await expectRefused(() => quota.extend(id, [1n, 1n]));
    await expectRefused(() => quota.extend(id, []));
    await expectRefused(() => quota.extend(id, undefined, 999));
    await expectRefused(() => quota.extend(id, undefined, 900_001));

    assert.deepEqual(await quota.read('alice'), before);
  },
  async 'QS-38 every amount up to 2^53 − 1 is exact'(quota) {
    for (const [index, amount] of boundaryAmounts.entries()) {
      const subject = `boundary-${index}`;
      await quota.give(subject, maxNanos);
      const id = await quota.hold(subject, amount);
      assert.equal((await quota.read(subject))?.held, amount);

      await quota.settle(id, [line(subject, amount)]);

      const state = await quota.read(subject);
      assert.deepEqual([state?.limit, state?.used, state?.held], [maxNanos, amount, 0n]);
    }
  },
  async 'QS-38 sums above 2^31, 2^32 and 1e15 are exact'(quota) {
    await quota.give('alice', maxNanos);
    const step = 333_333_333_333_333n;
    let used = 0n;
    for (const amount of [1n, 2_147_483_647n, 2_147_483_649n, step, step, step, step]) {
      const id = await quota.hold('alice', amount + 1n);
      await quota.settle(id, [line('alice', amount)]);
      used += amount;
      await quota.expectState('alice', { used, held: 0n, inFlight: 0 });
    }

    const rest = maxNanos - used;
    await quota.hold('alice', rest);
    assert.equal((await quota.read('alice'))?.held, rest);
  },
  async 'QS-38 the last nano of a limit is granted and not one more'(quota) {
    await quota.give('alice', maxNanos);
    await quota.hold('alice', maxNanos - 1n);
    await quota.hold('alice', 1n);

    const result = await quota.reserve(newId(), [line('alice', 1n)]);

    expectInsufficient(result, 0n);
  },
  async 'QS-39 names with every valid character and of maximum length stay distinct'(quota) {
    for (const name of everyId) await quota.give(name, 1_000n);

    for (const [index, name] of everyId.entries()) await quota.hold(name, BigInt(index + 1));

    for (const [index, name] of everyId.entries()) {
      await quota.expectState(name, { used: 0n, held: BigInt(index + 1), inFlight: 1 });
    }
  },
  async 'QS-39 ids of the minimum and maximum length work'(quota) {
    await quota.give('alice', 100n);
    // With a random end, since a store may remember ids forever.
    const long = `AZaz09_-${newId()}${newId()}`.slice(0, 64);
    const short = newId().replaceAll('-', '').slice(0, 16);

    for (const id of [long, short]) {
      assert.equal((await quota.reserve(id, [line('alice', 10n)])).status, 'held');
      assert.equal((await quota.settle(id, [line('alice', 10n)])).status, 'settled');
    }

    await quota.expectState('alice', { used: 20n, held: 0n, inFlight: 0 });
  },
  async 'QS-39 a subject and its period are kept apart'(quota) {
    const limit = 100n;
    await quota.reserve(newId(), [line('a', 1n, { limit })]);
    await quota.reserve(newId(), [line('a', 2n, { limit, period: '2026-11' })]);
    await quota.reserve(newId(), [line('a', 3n, { limit, period: '2026-11-20' })]);
    await quota.reserve(newId(), [line('a-2026-11', 4n, { limit })]);

    await quota.expectState('a', { used: 0n, held: 1n, inFlight: 1 });
    await quota.expectState('a', { period: '2026-11', used: 0n, held: 2n, inFlight: 1 });
    await quota.expectState('a', { period: '2026-11-20', used: 0n, held: 3n, inFlight: 1 });
    await quota.expectState('a-2026-11', { used: 0n, held: 4n, inFlight: 1 });
  },
  async 'QS-39 partitions share nothing'(quota) {
    await quota.give('alice', 100n);
    const partition = `contract-${newId()}`;

    await quota.reserve(newId(), [line('alice', 1n, { limit: 5n })], { partition });

    assert.equal((await quota.read('alice'))?.held, 0n);
    const other = await quota.store.read('alice', '', partition);
    assert.deepEqual([other?.limit, other?.held], [5n, 1n]);
  },
  async 'QS-39 every operation refuses invalid names'(quota) {
    for (const bad of invalidSubjects) {
      const lines = [line(bad, 1n)];
      await expectRefused(() => quota.reserve(newId(), lines));
      await expectRefused(() => quota.settle(newId(), lines));
      await expectRefused(() => quota.release(newId(), lines));
      await expectRefused(() => quota.read(bad));
      const adjustment = {
        id: newId(),
        partition: quota.partition,
        subject: bad,
        period: '',
        limit: 1n,
      };
      await expectRefused(() => quota.store.adjust(adjustment));
    }
    for (const bad of invalidPartitions) {
      await expectRefused(() => quota.store.read('alice', '', bad));
      await expectRefused(() => quota.store.sweep({ max: 1, partition: bad }));
    }
  },
  async 'QS-39 every operation refuses invalid ids and periods'(quota) {
    const lines = [line('alice', 1n, { limit: 10n })];
    for (const bad of ['short', 'x'.repeat(65), `${'x'.repeat(16)}:`, `${'x'.repeat(16)}\n`]) {
      await expectRefused(() => quota.reserve(bad, lines));
      await expectRefused(() => quota.settle(bad, lines));
      await expectRefused(() => quota.release(bad, lines));
      await expectRefused(() => quota.extend(bad));
      const row = { partition: quota.partition, subject: 'alice', period: '', limit: 1n };
      await expectRefused(() => quota.store.adjust({ id: bad, ...row }));
    }
    for (const period of ['2026', '2026-11|a', '2026-11\n', '*', ' ']) {
      await expectRefused(() =>
        quota.reserve(newId(), [line('alice', 1n, { period, limit: 10n })]),
      );
      await expectRefused(() => quota.read('alice', period));
    }
    await expectRefused(async () =>
      quota.store.extend([
        { id: newId(), partition: quota.partition, ttlMs },
        { id: 'short', partition: quota.partition, ttlMs },
      ]),
    );

    assert.equal(await quota.read('alice'), undefined);
  },
};

const boundaryAmounts: readonly Nanos[] = [
  1n,
  2n ** 31n,
  2n ** 32n,
  16_777_217n,
  999_999_999_999_999n,
  1_000_000_000_000_001n,
  2n ** 53n - 1n,
];

const invalidSubjects: readonly string[] = [
  ...['', 'a b', ' ', 'a\n', 'a\t', 'a\u0000', 'a\u007f', 'ä', '１', 'x'.repeat(129)],
];
const invalidPartitions: readonly string[] = [
  ...['', 'a|b', 'a:b', '{a}', 'a*', 'a b', 'a\n', 'a\u0000', 'ä', "a'--", 'x'.repeat(65)],
];

/** Invalid amounts; those that the types don't allow are made by `JSON.parse`. */
function invalidAmounts(): readonly Nanos[] {
  return [-1n, maxNanos + 1n, JSON.parse('5'), JSON.parse('1.5'), JSON.parse('"5"')];
}
