// suite: quick
/**
 * Stores that are down, slow or answer garbage: no caller gets through without a hold, none waits
 * for the settlement, and all charges are right in the end.
 */
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway-options.ts';
import { StoreUnavailable } from '../../../src/ports/call-options.ts';
import { defaultPartition } from '../../../src/ports/limits/quota-input.ts';
import { gatewayInProcess, untouched } from '../../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../../support/models.ts';
import { failures, inTime, pass, turns, untyped } from './failing.ts';

describe('a quota store that fails at reserve', () => {
  it.each(failures)('$how: 503, and the hold that may exist is released', async ({ fail }) => {
    const released: string[] = [];
    const { call, clock, upstream, events } = gatewayInProcess({
      store: (quota) => ({
        reserve: fail,
        release: (input) => {
          released.push(input.id);
          return quota.release(input);
        },
      }),
    });

    const reply = await inTime(clock, call(sampleRequests.chat));

    expect(reply.status).toBe(503);
    expect(reply.headers['retry-after']).toBe('1');
    expect(JSON.parse(reply.text).error.code).toBe('store_unavailable');
    expect(upstream.calls).toEqual([]);
    expect(released).toHaveLength(1);
    expect(events).toEqual([
      expect.objectContaining({ type: 'port_failed', port: 'quota', operation: 'reserve' }),
    ]);
  });

  it('although it made the hold holds nothing in the end', async () => {
    const { call, state } = gatewayInProcess({
      store: (quota) => ({
        reserve: (input) => {
          quota.reserve(input);
          throw new StoreUnavailable('the answer was lost');
        },
      }),
    });

    expect((await call(sampleRequests.chat)).status).toBe(503);
    expect(await state()).toEqual(untouched);
  });
});

describe.each([
  1, 3, 8, 15,
])('a quota store that is silent for %i s after it made a hold', (seconds) => {
  it.each(failures)('gives it back as soon as it answers: release $how', async ({ fail }) => {
    const silentUntilMs = seconds * 1_000;
    const { call, clock, state } = gatewayInProcess({
      options: { leaseMs: 900_000 },
      store: (quota) => ({
        reserve: (input) => {
          void quota.reserve(input);
          return new Promise(() => {});
        },
        release: (input) => (clock.monotonicMs() < silentUntilMs ? fail() : quota.release(input)),
      }),
    });

    const reply = await inTime(clock, call(sampleRequests.chat));
    await pass(clock, 2 * silentUntilMs + 10_000);

    expect(reply.status).toBe(503);
    expect(await state()).toEqual(untouched);
  });
});

describe('a port that violates its contract fails closed', () => {
  const garbage: readonly unknown[] = [
    undefined,
    null,
    'held',
    7,
    [],
    {},
    { status: 'ok' },
    { status: 'held' },
    { status: 'held', replay: false, expiresAtMs: Number.NaN, available: [1n] },
    { status: 'held', replay: false, expiresAtMs: 1, available: [] },
    { status: 'held', replay: false, expiresAtMs: 1, available: [1] },
    { status: 'insufficient', subject: 'caller', available: 5 },
    { status: 'resolved', as: 'settled' },
    { status: 'id_conflict' },
  ];

  it.each(garbage.map((answer) => [answer]))('a reserve of %o', async (answer) => {
    const { call, upstream } = gatewayInProcess({ store: () => ({ reserve: untyped(answer) }) });

    expect((await call(sampleRequests.chat)).status).toBe(503);
    expect(upstream.calls).toEqual([]);
  });

  const ports: readonly (readonly [string, Partial<GatewayOptions>, number])[] = [
    [
      'a key without a group',
      { keys: { find: untyped({ id: 'a', disabled: false, quota: [] }) } },
      503,
    ],
    ['a key that is a word', { keys: { find: untyped('yes') } }, 503],
    ['a key that is null', { keys: { find: untyped(null) } }, 401],
    ['a key whose expiry is a text', { keys: { find: untyped(key('2020-01-01T00:00:00Z')) } }, 503],
    ['a key whose expiry is no number', { keys: { find: untyped(key(Number.NaN)) } }, 503],
    [
      'a model without a price',
      { catalog: catalog({ id: 'chat', protocols: ['chat'], groups: [], channels: [] }) },
      503,
    ],
    [
      'a model with a price in floats',
      {
        catalog: catalog({
          id: 'chat',
          protocols: ['chat'],
          groups: ['staff'],
          channels: [],
          price: { per: 'token', rates: { input: 0.5, output: 1 } },
        }),
      },
      503,
    ],
    ['a model that is null', { catalog: catalog(null) }, 404],
    ['a key whose rates are misspelt', { keys: { find: untyped(keyWithRates()) } }, 503],
    ['a limiter’s undefined', limiter(undefined), 503],
    ['a limiter’s grant without what remains', limiter({ granted: true }), 503],
    ['a limiter’s no without a wait', limiter({ granted: false, refused: 0, remaining: [0] }), 503],
    [
      'a limiter’s no without the limit',
      limiter({ granted: false, retryAfterMs: 1, remaining: [0] }),
      503,
    ],
  ];

  it.each(ports)('%s', async (_what, options, status) => {
    const { call, upstream } = gatewayInProcess({ options });

    expect((await call(sampleRequests.chat)).status).toBe(status);
    expect(upstream.calls).toEqual([]);
  });

  function limiter(answer: unknown): Partial<GatewayOptions> {
    return {
      defaultRates: [{ calls: { perMinute: 1 } }],
      rateLimiter: { take: untyped(answer), adjust: untyped(undefined) },
    };
  }

  function keyWithRates(): unknown {
    return { ...Object(key(undefined)), rates: [{ callsPerMinute: 5 }] };
  }

  function key(expiresAtMs: unknown): unknown {
    const quota = [{ id: 'caller', period: 'total', limitNanos: 1_000n }];
    return { id: 'caller', group: 'staff', disabled: false, quota, expiresAtMs };
  }

  function catalog(found: unknown): GatewayOptions['catalog'] {
    return { find: untyped(found), list: untyped([found]) };
  }

  it('a list of models that is not a list', async () => {
    const { call } = gatewayInProcess({ options: { catalog: catalog({}) } });

    expect((await call({ method: 'GET', path: '/v1/models' })).status).toBe(503);
  });
});

describe('a quota store that fails at settle', () => {
  it.each(failures)('$how: the caller has its reply, and the charge is booked once', async ({
    fail,
  }) => {
    const ids: string[] = [];
    let isDown = true;
    const { call, clock, nextRecord, state, events } = gatewayInProcess({
      store: (quota) => ({
        settle: (input) => {
          ids.push(input.id);
          return isDown ? fail() : quota.settle(input);
        },
      }),
      handlers: [completeReply('chat')],
    });

    expect((await call(sampleRequests.chat)).status).toBe(200);
    await inTime(clock, nextRecord());
    expect(await state()).toMatchObject({ used: 0n });
    await pass(clock, 5_000);
    isDown = false;
    await pass(clock, 60_000);

    expect(await state()).toEqual({ held: 0n, used: 20n, inFlight: 0 });
    expect(ids.length).toBeGreaterThan(2);
    expect(new Set(ids).size).toBe(1);
    expect(events.filter(({ type }) => type === 'settlement_lost')).toEqual([]);
    const landed = ids.length;
    await pass(clock, 60_000);
    expect(ids).toHaveLength(landed);
  });

  it('for longer than a store remembers ended holds is reported to the host', async () => {
    const { call, clock, nextRecord, events } = gatewayInProcess({
      store: () => ({ settle: () => Promise.reject(new StoreUnavailable('down')) }),
      handlers: [completeReply('chat')],
    });
    await call(sampleRequests.chat);
    const { requestId, reservationId } = await nextRecord();

    await pass(clock, 14 * 60_000);
    expect(events.filter(({ type }) => type === 'settlement_lost')).toEqual([]);
    await pass(clock, 2 * 60_000);

    expect(events.filter(({ type }) => type === 'settlement_lost')).toEqual([
      {
        type: 'settlement_lost',
        requestId,
        end: {
          operation: 'settle',
          input: {
            id: reservationId,
            partition: defaultPartition,
            lines: [{ subject: 'caller', period: '', amount: 20n }],
            basis: 'usage',
          },
        },
      },
    ]);
  });

  it('does not make a refused caller wait longer than one timeout', async () => {
    const { call, clock } = gatewayInProcess({
      leavesHolds: 'The store never answers the release.',
      store: () => ({ release: () => new Promise(() => {}) }),
      handlers: [(up) => up.answer(400, { error: { message: 'No.' } })],
    });
    const pending = call(sampleRequests.chat);
    await turns();

    clock.advance(1_000);

    expect((await pending).status).toBe(400);
  });
});

describe('leases of a store that is down for a while', () => {
  it('outlive it, and a settle after they ran out is still booked', async () => {
    const { start, upstream, clock, nextRecord, state } = gatewayInProcess({
      store: () => ({
        extend: () => {
          throw new StoreUnavailable('down');
        },
      }),
    });
    const calling = start(sampleRequests.chat);
    const up = await upstream.next();

    await pass(clock, 60_000);
    completeReply('chat')(up);
    await calling.reply;
    await nextRecord();

    expect(await state()).toEqual({ held: 0n, used: 20n, inFlight: 0 });
  });
});
