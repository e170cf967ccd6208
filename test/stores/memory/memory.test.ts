// suite: slow
/** Behaviour of the memory stores beyond their contracts: keys, quota, limiter and sink. */
import { describe, expect, it } from 'vitest';
import { issueKey } from '../../../src/issue-key.ts';
import { memoryKeyStore } from '../../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { memoryUsageSink } from '../../../src/stores/memory/usage-sink.ts';
import { usageRecord } from '../../../src/testing/contracts/usage-sink.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';

describe('a key store', () => {
  it('changes and removes keys while it runs', () => {
    const { secret, key } = issueKey({ group: 'chat', limitNanos: 1n });
    const keys = memoryKeyStore({ keys: [{ secret, key }] });

    expect(keys.update(key.id, { disabled: true })).toBe(true);
    expect(keys.find(secret)).toEqual({ ...key, disabled: true });
    expect(keys.remove(key.id)).toBe(true);
    expect(keys.find(secret)).toBeUndefined();
    expect([keys.update(key.id, {}), keys.remove(key.id)]).toEqual([false, false]);
  });

  it('refuses an id or a secret that is taken', () => {
    const one = issueKey({ group: 'chat', limitNanos: 1n });
    const two = issueKey({ group: 'chat', limitNanos: 1n });
    const keys = memoryKeyStore({ keys: [one] });

    expect(() => keys.add(two.secret, one.key)).toThrow(/is taken/);
    expect(() => keys.add(one.secret, two.key)).toThrow(/is taken/);
  });

  it('accepts a secret that could be guessed only with allowWeakKeys and a pepper', () => {
    const { key } = issueKey({ group: 'chat', limitNanos: 1n });

    expect(() => memoryKeyStore().add('password123', key)).toThrow(/could be guessed/);
    expect(() => memoryKeyStore({ allowWeakKeys: true })).toThrow(/needs a pepper/);
    const keys = memoryKeyStore({ allowWeakKeys: true, pepper: 'p' });
    keys.add('password123', key);
    expect(keys.find('password123')).toEqual(key);
  });
});

describe('a quota store', () => {
  const row = { partition: 'default', subject: 'alice', period: '' };
  const topUp = { ...row, id: 'top-up-000000000', addLimit: 100n };

  it('counts a top-up once, though it is repeated after days', () => {
    const clock = fakeClock();
    const quota = memoryQuotaStore({ clock, maxEnded: 1 });
    quota.adjust(topUp);
    for (const id of ['other-top-up-0001', 'other-top-up-0002']) {
      clock.advance(10 * 86_400_000);
      quota.adjust({ ...topUp, id });
    }

    expect(quota.adjust(topUp)).toMatchObject({ extra: 300n });
  });

  it('ends leases by the monotonic clock, so that setting the wall clock has no effect', () => {
    const clock = fakeClock();
    let setByMs = 0;
    const quota = memoryQuotaStore({ clock: { ...clock, now: () => clock.now() + setByMs } });
    const lines = [{ subject: 'alice', period: '', amount: 10n, limit: 10n }];
    const input = { partition: 'default', lines, ttlMs: 30_000, onExpire: 'release' } as const;
    quota.reserve({ ...input, id: 'reservation-00001' });

    setByMs = 3_600_000;
    expect(quota.read('alice', '', 'default')).toMatchObject({ held: 10n });
    expect(quota.sweep({ max: 10 })).toMatchObject({ expired: 0 });
    setByMs = -3_600_000;
    clock.advance(30_000);

    expect(quota.read('alice', '', 'default')).toMatchObject({ held: 0n, inFlight: 0 });
    expect(quota.reserve({ ...input, id: 'reservation-00002' })).toMatchObject({
      expiresAtMs: clock.now() + setByMs + 30_000,
    });
  });

  it('remembers only the latest 100,000 adjustments', () => {
    const quota = memoryQuotaStore({ clock: fakeClock() });
    quota.adjust(topUp);
    for (let made = 1; made < 100_000; made += 1) {
      quota.adjust({ ...row, id: `adjustment-${String(made).padStart(8, '0')}`, enabled: true });
    }

    expect(quota.adjust(topUp)).toMatchObject({ extra: 100n });
    quota.adjust({ ...row, id: 'adjustment-one-more', enabled: true });
    expect(quota.adjust(topUp)).toMatchObject({ extra: 200n });
  });
});

it('a usage sink keeps the latest records and finds the last one of a request', () => {
  const sink = memoryUsageSink({ limit: 2 });
  for (const requestId of ['one', 'two', 'three']) sink.record(usageRecord({ requestId }));

  expect(sink.records.map((record) => record.requestId)).toEqual(['two', 'three']);
  expect(sink.find('one')).toBeUndefined();
  expect(sink.find('three')?.requestId).toBe('three');
});

it('a fake clock runs each tick at its due time, in order, until it is stopped', () => {
  const clock = fakeClock(1_000);
  const ticks: string[] = [];
  clock.every(20, () => ticks.push(`slow ${clock.monotonicMs()}`));
  const stop = clock.every(15, () => ticks.push(`fast ${clock.now()}`));

  clock.advance(40);
  stop();
  clock.advance(20);

  expect(ticks).toEqual(['fast 1015', 'slow 20', 'fast 1030', 'slow 40', 'slow 60']);
});
