/** Repeated, late or reordered operations get the same result and change nothing. */
import assert from 'node:assert/strict';
import {
  type CaseContext,
  countOf,
  line,
  newId,
  newIds,
  type QuotaCases,
  ttlMs,
} from './case-context.ts';

/** QS-17 to QS-24: repeated, late and reordered operations. */
export const idempotenceCases: QuotaCases = {
  async 'QS-17 a repeated reserve is the same hold, with the same end of its lease'(quota) {
    await quota.give('alice', 10n);
    const id = newId();
    const first = await quota.reserve(id, [line('alice', 10n)]);
    await quota.advance(5_000);

    const second = await quota.reserve(id, [line('alice', 10n)]);

    assert(first.status === 'held' && second.status === 'held');
    assert.equal(first.replay, false);
    assert.equal(second.replay, true);
    assert.equal(second.expiresAtMs, first.expiresAtMs);
    assert.deepEqual(second.available, first.available);
    await quota.expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
  },
  async 'QS-17 twenty concurrent reserves with one id are one hold'(quota) {
    await quota.give('alice', 100n);
    const id = newId();

    const results = await Promise.all(
      Array.from({ length: 20 }, () => quota.reserve(id, [line('alice', 10n)])),
    );

    assert.equal(countOf(results, 'held'), 20);
    const fresh = results.filter((result) => result.status === 'held' && !result.replay);
    assert.equal(fresh.length, 1);
    await quota.expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
  },
  async 'QS-17 a reserve that is repeated after the hold has grown is the same hold'(quota) {
    await quota.give('alice', 100n);
    const id = newId();
    await quota.reserve(id, [line('alice', 10n)]);
    await quota.extend(id, [15n]);

    const result = await quota.reserve(id, [line('alice', 10n)]);

    assert(result.status === 'held');
    assert.equal(result.replay, true);
    await quota.expectState('alice', { used: 0n, held: 25n, inFlight: 1 });
  },
  async 'QS-18 a repeated reserve with other lines is a conflict and changes nothing'(quota) {
    await quota.give('alice', 100n);
    await quota.give('bob', 100n);
    const id = newId();
    await quota.reserve(id, [line('alice', 10n)]);

    const others = [
      await quota.reserve(id, [line('alice', 11n)]),
      await quota.reserve(id, [line('bob', 10n)]),
      await quota.reserve(id, [line('alice', 10n), line('bob', 10n)]),
    ];

    assert.equal(countOf(others, 'id_conflict'), 3);
    await quota.expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
    await quota.expectState('bob', { used: 0n, held: 0n, inFlight: 0 });
  },
  async 'QS-19 the first settle wins over any later one'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 50n);
    await quota.settle(id, [line('alice', 20n)]);

    const second = await quota.settle(id, [line('alice', 45n)]);

    assert(second.status === 'already');
    assert.deepEqual(second.charged, [20n]);
    await quota.expectState('alice', { used: 20n, held: 0n, inFlight: 0 });
    const again = await quota.reserve(id, [line('alice', 50n)]);
    assert(again.status === 'resolved');
    assert.equal(again.as, 'settled');
  },
  async 'QS-19 twenty concurrent settles of one hold charge once'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 50n);

    const results = await Promise.all(
      Array.from({ length: 20 }, () => quota.settle(id, [line('alice', 20n)])),
    );

    assert.equal(countOf(results, 'settled'), 1);
    assert.equal(countOf(results, 'already'), 19);
    await quota.expectState('alice', { used: 20n, held: 0n, inFlight: 0 });
  },
  async 'QS-20 a release after a settle does nothing, and so does a second release'(quota) {
    await quota.give('alice', 100n);
    const settled = await quota.hold('alice', 50n);
    await quota.settle(settled, [line('alice', 20n)]);
    const released = await quota.hold('alice', 30n);
    await quota.release(released, [line('alice', 30n)]);

    const afterSettle = await quota.release(settled, [line('alice', 50n)]);
    const afterRelease = await quota.release(released, [line('alice', 30n)]);

    assert.deepEqual(afterSettle, { status: 'already', as: 'settled' });
    assert.deepEqual(afterRelease, { status: 'already', as: 'released' });
    await quota.expectState('alice', { used: 20n, held: 0n, inFlight: 0 });
  },
  async 'QS-21 a settle after a release is a conflict that charges nothing'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 50n);
    await quota.release(id, [line('alice', 50n)]);

    const result = await quota.settle(id, [line('alice', 20n)]);

    assert.deepEqual(result, { status: 'conflict', as: 'released' });
    await quota.expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
  },
  async 'QS-22 a release that overtakes its reserve blocks it'(quota) {
    await quota.give('alice', 100n);
    const id = newId();
    const overtaking = await quota.release(id, [line('alice', 50n)]);

    const late = await quota.reserve(id, [line('alice', 50n)]);

    assert.equal(overtaking.status, 'released');
    assert.deepEqual(late, { status: 'resolved', as: 'released' });
    await quota.expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
  },
  async 'QS-22 a release that races its reserve leaves nothing held'(quota) {
    await quota.give('alice', 100n);

    await Promise.all(
      newIds(20).flatMap((id) => [
        quota.reserve(id, [line('alice', 5n)]),
        quota.release(id, [line('alice', 5n)]),
      ]),
    );

    await quota.expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
  },
  async 'QS-23 an extend after any ending returns gone and how the hold ended'(quota) {
    await quota.give('alice', 100n);
    const settled = await quota.hold('alice', 10n);
    const released = await quota.hold('alice', 10n);
    const expired = await quota.hold('alice', 10n);
    await quota.settle(settled, [line('alice', 10n)]);
    await quota.release(released, [line('alice', 10n)]);
    await quota.advance(ttlMs + 1);

    const results = [];
    for (const id of [settled, released, expired, newId()])
      results.push(await quota.extend(id, [1n]));

    const gone = (as: string) => ({ status: 'gone', as });
    assert.deepEqual(results, ['settled', 'released', 'expired', 'unknown'].map(gone));
    const late = await quota.reserve(expired, [line('alice', 10n)]);
    assert.deepEqual(late, { status: 'resolved', as: 'expired' });
    await quota.expectState('alice', { used: 10n, held: 0n, inFlight: 0 });
  },
  async 'QS-24 duplicates in any order result in the same state'(quota) {
    await quota.give('alice', 1_000n);
    for (let round = 0; round < 100; round += 1) await deliver(quota, round);

    await quota.expectState('alice', { used: 500n, held: 0n, inFlight: 0 });
  },
};

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
