// suite: slow host
/** The live figures, the sentence that sums them up, and the bound on their memory. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { serialize } from 'node:v8';
import { afterEach, describe, expect, it } from 'vitest';
import type { Authorize } from '../../src/admin/index.ts';
import { addTime, emptyHistogram, percentile } from '../../src/admin/now/histogram.ts';
import { liveFigures } from '../../src/admin/now/live.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { firstByteBoundsMs } from '../../src/stores/sql/usage/first-bytes.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { type AdminServer, adminServer, adminSetup, anyone } from './admin-host.ts';

let server: AdminServer | undefined;

afterEach(() => server?.close());

const ended = (change: Partial<UsageRecord>) =>
  ({ type: 'call_ended', record: { ...usageRecord(), ...change }, code: undefined }) as const;

const refused = (change: object = {}) =>
  ({
    type: 'call_refused',
    requestId: 'r',
    keyId: undefined,
    group: undefined,
    protocol: 'chat',
    modelId: undefined,
    code: 'invalid_key',
    reason: undefined,
    status: 401,
    ...change,
  }) as const;

describe('the minutes', () => {
  it('count each call once, by its outcome', async () => {
    const { admin, emit, clock } = adminSetup();

    for (const outcome of ['complete', 'complete', 'caller_left', 'broken', 'unknown'] as const) {
      emit(ended({ outcome, chargeNanos: 3n, firstByteMs: 40 }));
    }
    emit(refused());
    clock.advance(60_000);
    emit(ended({ outcome: 'complete', chargeNanos: 1n, firstByteMs: undefined }));

    const { buckets, bucketMs, source, refusals } = await admin.now('15m');
    expect({ bucketMs, source, count: buckets.length }).toEqual({
      ...{ bucketMs: 60_000, source: 'process', count: 15 },
    });
    expect(buckets.slice(-2)).toMatchObject([
      { complete: 2, left: 1, failed: 2, refused: 1, chargeNanos: 15n },
      { complete: 1, left: 0, failed: 0, refused: 0, chargeNanos: 1n, firstByteP95Ms: undefined },
    ]);
    const [before] = buckets.slice(-2);
    expect(before?.firstByteP50Ms).toBeGreaterThan(35);
    expect(before?.firstByteP50Ms).toBeLessThanOrEqual(50);
    expect(refusals).toMatchObject([{ code: 'invalid_key', reason: undefined, count: 1 }]);
  });

  it('are forgotten after an hour', async () => {
    const { admin, emit, clock } = adminSetup();
    emit(ended({ outcome: 'complete' }));

    clock.advance(59 * 60_000);
    const sum = async () =>
      (await admin.now()).buckets.reduce((total, { complete }) => total + complete, 0);
    expect(await sum()).toBe(1);
    clock.advance(60_000);

    expect(await sum()).toBe(0);
  });

  it('stay below a megabyte, whatever callers send', () => {
    const clock = fakeClock();
    const live = liveFigures(clock);
    const long = 'x'.repeat(64);

    for (let call = 0; call < 30_000; call += 1) {
      if (call % 300 === 0) clock.advance(60_000);
      const id = `${long}${call}`;
      live.add(
        ended({
          keyId: id,
          channelId: id,
          requestId: id,
          reservationId: id,
          outcome: 'unknown',
          booked: false,
          modelId: id,
        }),
      );
      live.add(refused({ code: id, reason: id, requestId: id, keyId: id }));
      live.add({ type: 'quota_low', subject: id, period: '', percent: 95 });
      live.add({ type: 'port_failed', port: 'keys', operation: id, reason: id });
      live.add({ type: 'settlement_lost' });
    }

    expect(serialize(live.state).length).toBeLessThan(1_048_576);
  });
});

describe('a percentile', () => {
  it('lies in the bucket of the exact one', () => {
    for (let seed = 1; seed < 200; seed += 1) {
      const times = Array.from(
        { length: seed },
        (_, index) => ((index * seed * 7_919) % 120_000) + 1,
      );
      const histogram = emptyHistogram();
      for (const time of times) addTime(histogram, time);
      const sorted = times.toSorted((one, other) => one - other);
      for (const share of [0.5, 0.95]) {
        const exact = sorted[Math.ceil(share * times.length) - 1] ?? 0;
        const upper = firstByteBoundsMs.find((bound) => bound >= exact) ?? 0;
        const lower = firstByteBoundsMs.findLast((bound) => bound < exact) ?? 0;
        const found = percentile(histogram, share) ?? -1;

        expect(found).toBeGreaterThanOrEqual(lower);
        expect(found).toBeLessThanOrEqual(upper);
      }
    }
  });
});

describe('the sentence about the state of the gateway', () => {
  it('says that all is well', async () => {
    const { admin } = adminSetup();

    expect((await admin.now()).sentence).toMatchObject([
      { text: 'All is well.', href: '#/now', severity: 'ok' },
    ]);
  });

  it('begins with the worst problem', async () => {
    const { admin, emit, gateway } = adminSetup();
    for (let call = 0; call < 20; call += 1) emit(ended({ outcome: 'complete' }));
    for (let call = 0; call < 5; call += 1) emit(refused());
    emit(ended({ outcome: 'unknown', booked: false, requestId: 'doubt' }));
    const [model] = admin.channels.list();
    for (const { channelId } of model?.channels ?? []) gateway.disableChannel(channelId);
    emit({
      type: 'port_failed',
      requestId: undefined,
      port: 'quota',
      operation: 'reserve',
      reason: 'StoreUnavailable',
      code: '57P01',
    });
    emit({
      type: 'port_failed',
      requestId: undefined,
      port: 'keys',
      operation: 'find',
      reason: 'StoreCorrupt',
      member: 'quota[0].limitNanos',
      problem: 'must be a bigint of nanos.',
    });

    const { sentence, attention } = await admin.now();

    const texts = sentence.map(({ text }) => text).join(' ');
    expect(texts).toMatch(
      new RegExp(
        '^The quota store can’t be used\\. Every channel of .+ is out\\. ' +
          '.*19 % of requests have a key that is unknown, expired or disabled\\. ' +
          '.*Did doubt run\\?$',
      ),
    );
    expect(sentence[0]?.detail).toBe('quota.reserve: StoreUnavailable (57P01)');
    expect(attention).toMatchObject([
      { kind: 'host', detail: 'keys.find: quota[0].limitNanos must be a bigint of nanos.' },
    ]);
    // Nothing is in both, and no channel has a clause of its own beside that of its model.
    const channels = sentence.filter(({ kind }) => kind === 'channel').map(({ text }) => text);
    for (const { channelId } of model?.channels ?? []) {
      expect(channels).not.toContain(`Channel ${channelId} is out.`);
    }
    expect(attention.length).toBeLessThanOrEqual(8);
  });
});

describe('the stream of events', () => {
  it('ends without an event, and reports to the host, when authorize fails', async () => {
    let isDown = false;
    const errors: unknown[] = [];
    const down = new Error('down');
    const { admin, clock } = adminSetup();
    const authorize: Authorize = (request) => (isDown ? Promise.reject(down) : anyone(request));
    server = await adminServer(admin, authorize, (error) => errors.push(error));

    const reply = server.call({ path: '/events' });
    await server.call({ path: '/session' });
    isDown = true;
    while (errors.length === 0) {
      clock.advance(2_000);
      await nextTurn();
    }
    const { text } = await reply;

    expect(errors).toEqual([down]);
    expect(text).not.toContain('signed-out');
  });

  it('ends when the operator is signed out', async () => {
    let isSignedIn = true;
    const { admin, clock } = adminSetup();
    server = await adminServer(admin, (request) => (isSignedIn ? anyone(request) : undefined));

    const reply = server.call({ path: '/events' });
    await server.call({ path: '/session' });
    isSignedIn = false;
    let isOver = false;
    void reply.then(() => {
      isOver = true;
    });
    while (!isOver) {
      clock.advance(2_000);
      await nextTurn();
    }
    const { text, headers } = await reply;

    expect(headers['content-type']).toContain('text/event-stream');
    expect(text).toMatch(/^event: now\ndata: \{.+\}\n\n/);
    expect(text).toMatch(/event: signed-out\ndata: \{\}\n\n$/);
  });
});
