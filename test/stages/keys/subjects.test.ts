// suite: quick
/**
 * A key is charged on its own subject and its group's, by periods, and its concurrent calls are
 * limited.
 */
import { describe, expect, it } from 'vitest';
import type { ApiKey, QuotaSubject } from '../../../src/ports/keys/key-store.ts';
import { defaultPartition, periodName } from '../../../src/ports/limits/quota-input.ts';
import type { ExtendInput } from '../../../src/ports/limits/quota-store.ts';
import { ampleNanos, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { chat, completeReply, model, sampleRequests } from '../../support/models.ts';
import { pass } from '../ports/failing.ts';

const own: QuotaSubject = { id: 'caller', period: 'total', limitNanos: ampleNanos };
const pool: QuotaSubject = { id: 'a-pool', period: 'total', limitNanos: 1_000n };

describe('a key with a subject of its own and its group’s', () => {
  const quota = [own, pool];

  it('is held and charged on both, in full', async () => {
    const { start, upstream, state, nextRecord } = gatewayInProcess({ key: { quota } });

    const calling = start(sampleRequests.chat);
    const up = await upstream.next();
    expect([await state(), await state('a-pool')]).toEqual([
      { held: 211n, used: 0n, inFlight: 1 },
      { held: 211n, used: 0n, inFlight: 1 },
    ]);
    completeReply('chat')(up);
    await calling.reply;
    await nextRecord();

    expect([await state(), await state('a-pool')]).toEqual([
      { held: 0n, used: 20n, inFlight: 0 },
      { held: 0n, used: 20n, inFlight: 0 },
    ]);
  });

  it('is refused if either has too little, and holds on neither', async () => {
    const { call, state } = gatewayInProcess({
      key: { quota: [own, { ...pool, limitNanos: 100n }] },
    });

    const { status, text } = await call(sampleRequests.chat);

    expect(status).toBe(403);
    expect(text).not.toContain('pool');
    expect(await state()).toMatchObject({ held: 0n, used: 0n });
  });

  it('in debt may use free models, and no others', async () => {
    const { call, quota } = gatewayInProcess({
      models: [model(), model({ id: 'free', price: { per: 'free' } })],
      handlers: [completeReply('chat')],
    });
    const lines = [{ subject: 'caller', period: '', amount: ampleNanos * 2n }];
    const id = 'debt-00000000000';
    await quota.settle({ id, partition: 'default', lines, basis: 'policy' });

    expect((await call(sampleRequests.chat)).status).toBe(403);
    expect((await call(chat({ model: 'free' }))).status).toBe(200);
  });

  it('applies a changed limit of its record immediately', async () => {
    const subject = { ...own, limitNanos: 100n };
    const { call } = gatewayInProcess({
      key: { quota: [subject] },
      handlers: [completeReply('chat')],
    });
    expect((await call(sampleRequests.chat)).status).toBe(403);

    subject.limitNanos = ampleNanos;
    expect((await call(sampleRequests.chat)).status).toBe(200);

    subject.limitNanos = 50n;
    expect((await call(sampleRequests.chat)).status).toBe(403);
  });

  it('refuses only the calls that cost more than its budget has left', async () => {
    const texts: QuotaSubject = { id: 'texts', period: 'total', limitNanos: 300n };
    const { call } = gatewayInProcess({
      key: { quota: [texts] },
      handlers: [completeReply('chat')],
    });

    expect((await call(sampleRequests.image)).status).toBe(403);
    expect((await call(sampleRequests.chat)).status).toBe(200);
  });

  it('is sorted by subject for the store, whatever the order of the key', async () => {
    const seen: (readonly string[])[] = [];
    const { call } = gatewayInProcess({
      key: { quota: [{ ...own, id: 'z' }, pool, own] },
      handlers: [completeReply('chat')],
      store: (quotaStore) => ({
        reserve: (input) => {
          seen.push(input.lines.map(({ subject }) => subject));
          return quotaStore.reserve(input);
        },
      }),
    });

    await call(sampleRequests.chat);

    expect(seen).toEqual([['a-pool', 'caller', 'z']]);
  });
});

describe('concurrent calls of a key', () => {
  const keys: readonly (readonly [string, Partial<ApiKey>])[] = [
    ['with a subject of its own', { maxConcurrentCalls: 2 }],
    ['without one', { maxConcurrentCalls: 2, quota: [pool] }],
    [
      'whose subject has a lower cap',
      { maxConcurrentCalls: 9, quota: [{ ...own, maxConcurrentCalls: 2 }] },
    ],
    [
      'whose subject has a higher cap',
      { maxConcurrentCalls: 2, quota: [{ ...own, maxConcurrentCalls: 9 }] },
    ],
  ];

  it.each(keys)('are limited: a key %s', async (_which, key) => {
    const { start, call, upstream, nextRecord, state } = gatewayInProcess({ key });

    const running = [start(sampleRequests.chat), start(sampleRequests.chat)];
    const first = await upstream.next();
    await upstream.next();
    const refused = await call(sampleRequests.chat);
    completeReply('chat')(first);
    await Promise.race(running.map(({ reply }) => reply));
    await nextRecord();
    const again = start(sampleRequests.chat);
    await upstream.next();

    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBe('1');
    expect(upstream.calls).toHaveLength(3);
    expect(await state()).toMatchObject({ inFlight: 2 });
    again.disconnect();
  });

  it('are counted without money if the key has no subject with its id', async () => {
    const { call, nextRecord, state } = gatewayInProcess({
      key: { maxConcurrentCalls: 1, quota: [pool] },
      handlers: [completeReply('chat')],
    });

    await call(sampleRequests.chat);
    await nextRecord();

    expect(await state()).toEqual({ held: 0n, used: 0n, inFlight: 0 });
    expect(await state('a-pool')).toMatchObject({ used: 20n });
  });
});

describe('a period', () => {
  it.each([
    ['total', ''],
    ['month', '2026-11'],
    ['week', '2026-W47'],
    ['day', '2026-11-20'],
  ] as const)('%s is named in UTC', (period, name) => {
    expect(periodName({ period }, Date.UTC(2026, 10, 20, 23, 59, 59, 999))).toBe(name);
  });

  const startMs = Date.UTC(2026, 0, 31, 23, 59, 59);

  it.each([
    ['month', '2026-01', '2026-02'],
    ['day', '2026-01-31', '2026-02-01'],
  ] as const)('that turns is charged where the call began: %s', async (period, before, after) => {
    const { start, upstream, clock, nextRecord, state } = gatewayInProcess({
      startMs,
      key: { quota: [{ ...own, period }] },
    });

    const calling = start(sampleRequests.chat);
    const up = await upstream.next();
    clock.advance(1_000);
    completeReply('chat')(up);
    await calling.reply;
    await nextRecord();
    const next = start(sampleRequests.chat);
    await upstream.next();

    expect(await state('caller', before)).toEqual({ held: 0n, used: 20n, inFlight: 0 });
    expect(await state('caller', after)).toMatchObject({ held: 211n, used: 0n });
    next.disconnect();
  });

  it('gives a new allowance when it changes', async () => {
    const daily: QuotaSubject = { ...own, period: 'day', limitNanos: 211n };
    const { call, clock, nextRecord } = gatewayInProcess({
      startMs,
      key: { quota: [daily] },
      handlers: [completeReply('chat'), completeReply('chat')],
    });

    expect((await call(sampleRequests.chat)).status).toBe(200);
    await nextRecord();
    expect((await call(sampleRequests.chat)).status).toBe(403);
    clock.advance(1_000);
    expect((await call(sampleRequests.chat)).status).toBe(200);
  });
});

describe('leases', () => {
  it('are renewed after a third of their time, all in one batch', async () => {
    const batches: (readonly ExtendInput[])[] = [];
    const { start, upstream, clock, state } = gatewayInProcess({
      options: { leaseMs: 30_000 },
      store: (quota) => ({
        extend: (inputs) => {
          batches.push(inputs);
          return quota.extend(inputs);
        },
      }),
    });
    const calls = [sampleRequests.chat, sampleRequests.chat, sampleRequests.image].map((request) =>
      start(request),
    );
    for (const _call of calls) await upstream.next();

    await pass(clock, 9_000);
    expect(batches).toEqual([]);
    await pass(clock, 91_000);

    expect(batches.map((inputs) => inputs.length)).toEqual(Array.from({ length: 10 }, () => 3));
    expect(new Set(batches.flat().map(({ ttlMs }) => ttlMs))).toEqual(new Set([30_000]));
    expect(await state()).toMatchObject({ held: 211n + 211n + 500n, inFlight: 3 });
    for (const calling of calls) calling.disconnect();
  });

  it('of a key with its own partition are in that partition', async () => {
    const { start, upstream, quota } = gatewayInProcess({ key: { quotaPartition: 'eu' } });

    const calling = start(chat());
    await upstream.next();

    expect(await quota.read('caller', '', 'eu')).toMatchObject({ held: 211n });
    expect(await quota.read('caller', '', defaultPartition)).toBeUndefined();
    calling.disconnect();
  });
});

it('a call whose key is disabled while it runs is charged to its end', async () => {
  let disabled = false;
  const { start, call, upstream, nextRecord } = gatewayInProcess({
    options: { keys: { find: () => ({ id: 'caller', group: 'staff', quota: [own], disabled }) } },
  });

  const calling = start(sampleRequests.chat);
  const up = await upstream.next();
  disabled = true;
  completeReply('chat')(up);

  expect((await calling.reply).status).toBe(200);
  expect(await nextRecord()).toMatchObject({ chargeNanos: 20n });
  expect((await call(sampleRequests.chat)).status).toBe(401);
});

it('a key expires exactly at its time', async () => {
  const expiresAtMs = Date.UTC(2026, 0, 1) + 1_000;
  const { call, clock } = gatewayInProcess({ key: { expiresAtMs } });

  clock.advance(999);
  expect((await call(chat({ model: 'x' }))).status).toBe(404);
  clock.advance(1);
  expect((await call(chat({ model: 'x' }))).status).toBe(401);
});
