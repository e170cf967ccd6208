/** Leases end by the store's clock alone, independently, with or without sweeps. */
import assert from 'node:assert/strict';
import { maxLazyExpirations } from '../../../ports/limits/quota-input.ts';
import {
  type CaseContext,
  countOf,
  expectBalances,
  expectInsufficient,
  line,
  newId,
  newIds,
  type QuotaCases,
  ttlMs,
} from './case-context.ts';

/** QS-25 to QS-32: leases, expiry and periods. */
export const leaseCases: QuotaCases = {
  async 'QS-25 a lease runs out independently of other active holds of its subject'(quota) {
    await quota.give('alice', 100n);
    await quota.hold('alice', 10n);
    const busy = await quota.hold('alice', 20n);
    for (let beat = 0; beat < 5; beat += 1) {
      await quota.advance(ttlMs / 3);
      assert.equal((await quota.extend(busy)).status, 'held');
      const brief = await quota.hold('alice', 1n);
      await quota.settle(brief, [line('alice', 0n)]);
    }

    await quota.expectState('alice', { used: 0n, held: 20n, inFlight: 1 });
  },
  async 'QS-25 a lease lasts until its last millisecond and ends exactly then'(quota) {
    await quota.give('alice', 100n);
    await quota.hold('alice', 10n);

    await quota.advance(ttlMs - 1);
    await quota.expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
    await quota.advance(1);

    await quota.expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
  },
  async 'QS-26 an extend renews a hold for ttlMs from now'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 10n);
    await quota.advance(ttlMs - 1);
    const extended = await quota.extend(id, undefined, 60_000);
    assert.equal(extended.status, 'held');
    await quota.advance(59_999);

    await quota.expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
    await quota.advance(1);
    await quota.expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
  },
  async 'QS-26 an extend never shortens a lease'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 10n);
    await quota.extend(id, undefined, 60_000);
    const late = await quota.extend(id, undefined, 1_000);
    assert.equal(late.status, 'held');
    await quota.advance(59_999);

    await quota.expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
    await quota.advance(1);
    await quota.expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
  },
  async 'QS-26 an extend grows the hold on all lines or none, and renews it in both cases'(quota) {
    await quota.give('group', 100n);
    await quota.give('key', 30n);
    const id = newId();
    await quota.reserve(id, [line('group', 20n), line('key', 20n)]);
    await quota.advance(ttlMs - 1);

    const refused = await quota.extend(id, [11n, 11n]);
    await quota.advance(ttlMs - 1);
    const extended = await quota.extend(id, [10n, 10n]);

    expectInsufficient(refused, 10n, 'key');
    assert.equal(extended.status, 'held');
    await quota.expectState('group', { used: 0n, held: 30n, inFlight: 1 });
    await quota.expectState('key', { used: 0n, held: 30n, inFlight: 1 });
  },
  async 'QS-26 the results of a batch are in the order of its inputs'(quota) {
    await quota.give('alice', 100n);
    const ended = await quota.hold('alice', 10n);
    await quota.settle(ended, [line('alice', 10n)]);
    const running = await quota.hold('alice', 10n);

    const results = await quota.store.extend(
      [running, ended, running, newId()].map((id) => ({ id, partition: quota.partition, ttlMs })),
    );

    const statuses = results.map((result) => (result.status === 'gone' ? result.as : 'held'));
    assert.deepEqual(statuses, ['held', 'settled', 'held', 'unknown']);
    assert.deepEqual(await quota.store.extend([]), []);
  },
  async 'QS-27 a settle after an expiry without a charge charges in full, once'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 10n);
    await quota.advance(ttlMs + 1);

    const late = await quota.settle(id, [line('alice', 8n)]);
    const again = await quota.settle(id, [line('alice', 9n)]);

    assert(late.status === 'settled_late');
    assert.equal(late.from, 'expired');
    expectBalances(late, [{ used: 8n, limit: 100n }]);
    assert(again.status === 'already');
    assert.deepEqual(again.charged, [8n]);
    const released = await quota.release(id, [line('alice', 10n)]);
    assert.deepEqual(released, { status: 'already', as: 'settled' });
    await quota.expectState('alice', { used: 8n, held: 0n, inFlight: 0 });
  },
  async 'QS-27 a settle after an expiry with a charge corrects it, up or down'(quota) {
    await quota.give('alice', 100n);
    const onExpire = { charge: [6n] };
    const less = await quota.hold('alice', 10n, { onExpire });
    const more = await quota.hold('alice', 10n, { onExpire });
    const never = await quota.hold('alice', 10n, { onExpire });
    await quota.advance(ttlMs + 1);
    await quota.expectState('alice', { used: 18n, held: 0n, inFlight: 0 });

    await quota.settle(less, [line('alice', 2n)]);
    await quota.settle(more, [line('alice', 9n)]);
    const released = await quota.release(never, [line('alice', 10n)]);

    assert.deepEqual(released, { status: 'already', as: 'expired' });
    await quota.expectState('alice', { used: 17n, held: 0n, inFlight: 0 });
  },
  async 'QS-27 a settle of an unknown hold is charged once'(quota) {
    await quota.give('alice', 100n);
    const id = newId();

    const late = await quota.settle(id, [line('alice', 8n)]);
    const again = await quota.settle(id, [line('alice', 8n)]);

    assert(late.status === 'settled_late');
    assert.equal(late.from, 'unknown');
    expectBalances(late, [{ used: 8n, limit: 100n }]);
    assert.equal(again.status, 'already');
    const reserved = await quota.reserve(id, [line('alice', 8n)]);
    assert.deepEqual(reserved, { status: 'resolved', as: 'settled' });
    await quota.expectState('alice', { used: 8n, held: 0n, inFlight: 0 });
  },
  async 'QS-27 a charge on an unknown row is kept, and the next reserve carries the limit'(quota) {
    await quota.settle(newId(), [line('lost', 8n)]);

    const result = await quota.reserve(newId(), [line('lost', 90n, { limit: 100n })]);

    assert(result.status === 'held');
    assert.deepEqual(result.available, [2n]);
    const state = await quota.read('lost');
    assert.deepEqual([state?.limit, state?.used, state?.held], [100n, 8n, 90n]);
  },
  async 'QS-28 a reserve can use the amount of an expired lease without a sweep'(quota) {
    await quota.give('alice', 10n);
    await quota.hold('alice', 10n);
    await quota.advance(ttlMs + 1);

    await quota.hold('alice', 10n);

    await quota.expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
  },
  async 'QS-28 an operation on one line expires a due lease on all its lines'(quota) {
    await quota.give('group', 100n);
    await quota.give('key', 100n);
    const onExpire = { charge: [3n, 2n] };
    await quota.reserve(newId(), [line('group', 10n), line('key', 10n)], { onExpire });
    await quota.advance(ttlMs + 1);

    await quota.expectState('key', { used: 2n, held: 0n, inFlight: 0 });
    await quota.expectState('group', { used: 3n, held: 0n, inFlight: 0 });
  },
  async 'QS-29 eight concurrent sweeps expire each lease once'(quota) {
    await quota.give('alice', 1_000n);
    for (let count = 0; count < 40; count += 1) {
      await quota.hold('alice', 10n, { onExpire: { charge: [2n] } });
    }
    await quota.advance(ttlMs + 1);

    const sweeps = await Promise.all(
      Array.from({ length: 8 }, async () =>
        quota.store.sweep({ max: 100, partition: quota.partition }),
      ),
    );

    assert.equal(
      sweeps.reduce((sum, { expired }) => sum + expired, 0),
      40,
    );
    await quota.expectState('alice', { used: 80n, held: 0n, inFlight: 0 });
  },
  async 'QS-29 a sweep respects max and its partition, and reports whether more is due'(quota) {
    await quota.give('alice', 100n);
    for (let count = 0; count < 5; count += 1) await quota.hold('alice', 1n);
    assert.deepEqual(await quota.store.sweep({ max: 10, partition: quota.partition }), {
      expired: 0,
      more: false,
    });
    await quota.advance(ttlMs + 1);

    assert.deepEqual(await quota.store.sweep({ max: 10, partition: `contract-${newId()}` }), {
      expired: 0,
      more: false,
    });
    assert.deepEqual(await quota.store.sweep({ max: 3, partition: quota.partition }), {
      expired: 3,
      more: true,
    });
    assert.deepEqual(await quota.store.sweep({ max: 3, partition: quota.partition }), {
      expired: 2,
      more: false,
    });
  },
  async 'QS-30 a change of period with holds in flight leaves both periods exact'(quota) {
    const november = (amount: bigint) => line('alice', amount, { period: '2026-11', limit: 100n });
    const december = (amount: bigint) => line('alice', amount, { period: '2026-12', limit: 100n });
    const [settled = '', released = '', expired = '', next = ''] = newIds(4);
    for (const id of [settled, released, expired]) {
      await quota.reserve(id, [november(10n)], { onExpire: { charge: [4n] } });
    }
    await quota.reserve(next, [december(10n)]);

    await quota.settle(settled, [november(7n)]);
    await quota.release(released, [november(10n)]);
    await quota.settle(next, [december(9n)]);
    await quota.advance(ttlMs + 1);

    await quota.expectState('alice', { period: '2026-11', used: 11n, held: 0n, inFlight: 0 });
    await quota.expectState('alice', { period: '2026-12', used: 9n, held: 0n, inFlight: 0 });
  },
  async 'QS-31 the caller’s clock may be wrong by an hour, and jump'(quota) {
    await quota.give('alice', 100n);
    const id = await quota.hold('alice', 10n);

    for (const skewMs of [3_600_000, -3_600_000, 0]) {
      await withSkewedClock(skewMs, async () => {
        assert.equal((await quota.extend(id)).status, 'held');
        await quota.expectState('alice', { used: 0n, held: 10n, inFlight: 1 });
      });
    }
  },
  async 'QS-32 with two thousand due leases, each operation expires only a few of them'(quota) {
    await quota.give('alice', 1_000_000n);
    const total = 2_000;
    await holdMany(quota, total);
    await quota.advance(ttlMs + 1);

    let remaining = total;
    for (let reads = 0; reads < 3; reads += 1) {
      const inFlight = (await quota.read('alice'))?.inFlight ?? 0;
      assert(remaining - inFlight <= maxLazyExpirations, 'one operation expired too many');
      remaining = inFlight;
    }
    const { store, partition } = quota;
    for (let sweeps = 0; remaining > 0 && sweeps < 4; sweeps += 1) {
      const { expired } = await store.sweep({ max: 1_000, partition });
      assert(expired <= 1_000);
      remaining -= expired;
    }

    assert.equal(remaining, 0);
    await quota.expectState('alice', { used: 0n, held: 0n, inFlight: 0 });
  },
};

async function holdMany({ reserve }: CaseContext, total: number): Promise<void> {
  for (let held = 0; held < total; held += 500) {
    const results = await Promise.all(newIds(500).map((id) => reserve(id, [line('alice', 1n)])));
    assert.equal(countOf(results, 'held'), 500);
  }
}

/** Runs with a wrong caller's clock, `Date.now`. */
async function withSkewedClock(skewMs: number, run: () => Promise<void>): Promise<void> {
  const now = Date.now;
  Date.now = () => now() + skewMs;
  try {
    await run();
  } finally {
    Date.now = now;
  }
}
