// suite: quick
/** `GET /v1/key`: what the owner of a key sees of its limit and usage, and what nobody sees. */
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/ports/call-options.ts';
import type { ApiKey, QuotaSubject } from '../../../src/ports/keys/key-store.ts';
import { defaultPartition } from '../../../src/ports/limits/quota-input.ts';
import {
  callerSecret,
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
  untouched,
} from '../../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../../support/models.ts';
import { untyped } from '../ports/failing.ts';

const request = { method: 'GET', path: '/v1/key' };
/** Friday, 20 November 2026, 12:00 UTC. */
const startMs = Date.UTC(2026, 10, 20, 12);
const unit = 1_000_000_000n;

/** A gateway with the route; `used` is charged to each subject before the test. */
async function keyGateway(
  key: Partial<ApiKey>,
  used: Readonly<Record<string, bigint>> = {},
  setup: GatewaySetup = {},
): Promise<InProcessGateway> {
  const harness = gatewayInProcess({
    startMs,
    key,
    ...setup,
    options: { ownerRoutes: true, ...setup.options },
  });
  for (const [index, [name, amount]] of Object.entries(used).entries()) {
    const [subject = '', period = ''] = name.split(' ');
    const id = `reservation-of-test-${index}`;
    const lines = [{ subject, period, amount, limit: 100n * unit }];
    await harness.quota.reserve({
      id,
      partition: key.quotaPartition ?? defaultPartition,
      lines,
      ttlMs: 60_000,
      onExpire: 'release',
    });
    await harness.quota.settle({
      id,
      partition: key.quotaPartition ?? defaultPartition,
      lines: [{ subject, period, amount }],
      basis: 'usage',
    });
  }
  return harness;
}

async function seen(harness: InProcessGateway): Promise<{ data: unknown; tollgate: unknown }> {
  const { status, text } = await harness.call(request);
  expect(status).toBe(200);
  return JSON.parse(text);
}

const nothing = { usage: null, usage_daily: null, usage_weekly: null, usage_monthly: null };

describe('the key’s own subject', () => {
  it.each([
    ['total', 'caller', null, 'usage', null],
    ['day', 'caller 2026-11-20', 'daily', 'usage_daily', '2026-11-21T00:00:00.000Z'],
    ['month', 'caller 2026-11', 'monthly', 'usage_monthly', '2026-12-01T00:00:00.000Z'],
  ] as const)('of the period %s', async (period, row, reset, usage, resetsAt) => {
    const quota = [{ id: 'caller', period, limitNanos: 5n * unit }];
    const harness = await keyGateway({ quota }, { [row]: 1_250_000_001n });

    expect(await seen(harness)).toEqual({
      data: {
        label: 'caller',
        limit: 5,
        limit_remaining: 3.749_999_999,
        limit_reset: reset,
        ...nothing,
        [usage]: 1.250_000_001,
      },
      tollgate: {
        quota: [
          {
            subject: 'caller',
            period,
            limit: '5',
            used: '1.250000001',
            held: '0',
            remaining: '3.749999999',
            resets_at: resetsAt,
          },
        ],
      },
    });
  });

  it('that was never used has all of its limit', async () => {
    const { data } = await seen(await keyGateway({}));

    expect(data).toMatchObject({ limit: 0.001, limit_remaining: 0.001, usage: 0 });
  });

  it('counts what running calls hold, and what operators have added', async () => {
    const harness = await keyGateway({
      quota: [{ id: 'caller', period: 'total', limitNanos: unit }],
    });
    await harness.quota.adjust({
      id: 'paid-invoice-0001',
      partition: defaultPartition,
      subject: 'caller',
      period: '',
      addLimit: 2n * unit,
    });
    const calling = harness.start(sampleRequests.chat);
    const upstream = await harness.upstream.next();
    const { held } = await harness.state();
    const during = await seen(harness);
    completeReply('chat')(upstream);
    await calling.reply;

    expect(held).toBeGreaterThan(0n);
    expect(during.data).toMatchObject({
      limit: 3,
      limit_remaining: Number(3n * unit - held) / 1e9,
      usage: 0,
    });
    expect((await seen(harness)).data).toMatchObject({ limit: 3 });
  });

  it.each([
    ['a limit that was lowered below the usage', { limitNanos: 1n }, undefined],
    ['a subject that an operator has disabled', { limitNanos: 5n * unit }, false],
  ])('has nothing left with %s', async (_case, change, enabled) => {
    const quota = [{ id: 'caller', period: 'total', ...change }] as const;
    const harness = await keyGateway({ quota }, { caller: unit });
    if (enabled !== undefined) {
      const row = { partition: defaultPartition, subject: 'caller', period: '' };
      await harness.quota.adjust({ id: 'adjustment-00001', ...row, enabled });
    }

    expect((await seen(harness)).data).toMatchObject({ limit_remaining: 0, usage: 1 });
  });

  it('has the limit of the store if its record states none, and none of either is 0', async () => {
    const quota = [{ id: 'caller', period: 'total' }] as const;
    const harness = await keyGateway({ quota });
    const before = await seen(harness);
    await harness.quota.adjust({
      id: 'adjustment-00001',
      partition: defaultPartition,
      subject: 'caller',
      period: '',
      limit: 7n * unit,
    });

    expect(before.data).toMatchObject({ limit: 0, limit_remaining: 0 });
    expect((await seen(harness)).data).toMatchObject({ limit: 7, limit_remaining: 7 });
  });

  it('is read in the partition of the key', async () => {
    const quota = [{ id: 'caller', period: 'total', limitNanos: 5n * unit }] as const;
    const harness = await keyGateway({ quota, quotaPartition: 'shard-2' }, { caller: unit });

    expect((await seen(harness)).data).toMatchObject({ usage: 1 });
  });

  it('stays exact where a double does not', async () => {
    const quota = [{ id: 'caller', period: 'total', limitNanos: 9_007_199_254_740_991n }] as const;
    const { data, tollgate } = await seen(await keyGateway({ quota }));

    expect(data).toMatchObject({ limit: 9_007_199.254_740_991 });
    expect(tollgate).toMatchObject({ quota: [{ limit: '9007199.254740991' }] });
  });
});

describe('other subjects', () => {
  const own = { id: 'caller', period: 'month', limitNanos: unit } as const;
  const shared = { id: 'group-of-secrets', period: 'day', limitNanos: 8n * unit } as const;
  const used = { 'group-of-secrets 2026-11-20': 3n * unit, 'caller 2026-11': unit / 2n };

  it('are not shown: they say what others spend', async () => {
    const quotas: readonly (readonly QuotaSubject[])[] = [
      [own, shared],
      [shared, own],
      [{ ...shared, visible: false }, own],
    ];
    for (const quota of quotas) {
      const { data, tollgate } = await seen(await keyGateway({ quota }, used));

      expect(data).toMatchObject({ limit: 1, limit_reset: 'monthly', usage_monthly: 0.5 });
      expect(JSON.stringify([data, tollgate])).not.toMatch(/group-of-secrets|8|"3"/);
    }
  });

  it('are listed if their record marks them as visible', async () => {
    const quota = [{ ...shared, visible: true }, own];
    const { data, tollgate } = await seen(await keyGateway({ quota }, used));

    expect(data).toMatchObject({ limit: 1, usage_daily: null, usage_monthly: 0.5 });
    expect(tollgate).toMatchObject({
      quota: [
        { subject: 'group-of-secrets', limit: '8', used: '3', remaining: '5' },
        { subject: 'caller', limit: '1', used: '0.5', remaining: '0.5' },
      ],
    });
  });

  it('give the limit of a key without a subject of its own, but not its usage', async () => {
    const quota = [{ ...shared, visible: true }];
    const { data } = await seen(await keyGateway({ quota }, used));

    expect(data).toEqual({
      label: 'caller',
      limit: 8,
      limit_remaining: 5,
      limit_reset: 'daily',
      ...nothing,
    });
  });

  it('leave everything null if none may be seen', async () => {
    const { data, tollgate } = await seen(await keyGateway({ quota: [shared] }, used));

    expect(data).toEqual({
      label: 'caller',
      limit: null,
      limit_remaining: null,
      limit_reset: null,
      ...nothing,
    });
    expect(tollgate).toEqual({ quota: [] });
  });
});

describe('the request', () => {
  it('costs nothing, is not stored by caches, and shows no secret', async () => {
    const metadata = { plan: 'hidden-label' };
    const harness = await keyGateway({ metadata });
    const { headers, text } = await harness.call(request);

    expect(headers['cache-control']).toBe('no-store');
    expect(text).not.toContain(callerSecret);
    expect(text).not.toContain('hidden-label');
    expect(await harness.state()).toEqual(untouched);
    expect([harness.records, harness.events]).toEqual([[], []]);
  });

  it('says when the key ends', async () => {
    const inRange = await seen(await keyGateway({ expiresAtMs: startMs + 1 }));
    const beyond = await seen(await keyGateway({ expiresAtMs: Number.MAX_VALUE }));

    expect(inRange.data).toMatchObject({ expires_at: '2026-11-20T12:00:00.001Z' });
    expect(beyond.data).toMatchObject({ expires_at: '+275760-09-13T00:00:00.000Z' });
  });

  it('works with an exhausted quota, and while every call slot is taken', async () => {
    const quota = [{ id: 'caller', period: 'total', limitNanos: 0n }] as const;
    const harness = await keyGateway({ quota, maxConcurrentCalls: 1 });

    expect((await seen(harness)).data).toMatchObject({ limit: 0, limit_remaining: 0 });
  });

  it.each([
    ['in Authorization', { authorization: `Bearer ${callerSecret}` }],
    ['in a native header', { 'x-goog-api-key': callerSecret }],
    ['in Anthropic’s header', { 'x-api-key': callerSecret }],
    [
      'in Anthropic’s header, beside a proxy’s password',
      { 'anthropic-version': '2023-06-01', authorization: 'Basic eDp5', 'x-api-key': callerSecret },
    ],
  ])('takes the key %s', async (_where, sent) => {
    const { gateway } = await keyGateway({});
    const response = await gateway.handle({
      ...request,
      search: '',
      headers: sent,
      rawHeaders: Object.entries(sent).flat(),
      body: undefined,
      onClose: () => {},
    });

    expect(response.status).toBe(200);
  });

  it.each([
    ['with another key', { headers: { authorization: 'Bearer other' } }, {}, 401],
    [
      'with another key beside the right one in Anthropic’s header',
      {
        headers: {
          'anthropic-version': '2023-06-01',
          authorization: 'Bearer other',
          'x-api-key': callerSecret,
        },
      },
      {},
      401,
    ],
    ['with a disabled key', {}, { disabled: true }, 401],
    ['with another method', { method: 'POST' }, {}, 405],
  ])('is refused %s', async (_how, change, key, expected) => {
    const harness = await keyGateway(key);

    expect((await harness.call({ ...request, ...change })).status).toBe(expected);
  });

  it('counts against the rate of the key', async () => {
    const harness = await keyGateway({ rates: [{ calls: { perMinute: 1 } }] });

    const statuses = [await harness.call(request), await harness.call(request)];

    expect(statuses.map(({ status }) => status)).toEqual([200, 429]);
  });

  it.each([
    ['rejects', () => Promise.reject(new StoreUnavailable('down'))],
    ['answers text', untyped('5')],
    ['answers numbers', untyped({ limit: 1, extra: 0, used: 0, held: 0, enabled: true })],
    ['leaves out a member', untyped({ limit: 1n, extra: 0n, used: 0n, enabled: true })],
  ])('is 503 if the store %s', async (_what, read) => {
    const harness = await keyGateway({}, {}, { store: () => ({ read }) });

    expect((await harness.call(request)).status).toBe(503);
  });

  it('is the host’s unless the host has switched it on', async () => {
    const { gateway, call } = gatewayInProcess();

    expect(gateway.owns('/v1/key')).toBe(false);
    expect((await call(request)).status).toBe(404);
    gateway.update({ ownerRoutes: true });
    expect(gateway.owns('/v1/key')).toBe(true);
    expect((await call(request)).status).toBe(200);
  });
});
