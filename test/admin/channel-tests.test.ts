// suite: slow host
/** Tests of channels by operators, accounts, and switches that all replicas follow. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAdmin } from '../../src/admin/index.ts';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { createGateway } from '../../src/gateway.ts';
import type { Price } from '../../src/index.ts';
import { systemClock } from '../../src/ports.ts';
import { memoryClusterStore } from '../../src/stores/memory/cluster-store.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { startFakeUpstream } from '../../src/testing/index.ts';
import { channel, model } from '../support/models.ts';
import { adminSetup } from './admin-host.ts';

const price: Price = { per: 'token', rates: { input: 1_000_000_000n, output: 2_000_000_000n } };

/** An admin library over a gateway whose only account is this upstream. */
async function account() {
  const upstream = await startFakeUpstream();
  onTestFinished(() => upstream.close());
  const one = channel({ id: 'one', baseUrl: upstream.openaiBaseUrl, weight: 0 });
  const priced = { price, groups: ['staff'], protocols: ['chat'] as const };
  const catalog = staticCatalog([
    model({ ...priced, id: 'small', channels: [{ ...one, cost: price }] }),
    model({ id: 'picture', protocols: ['images'], price: { per: 'free' }, channels: [one] }),
  ]);
  const clock = systemClock();
  const quota = memoryQuotaStore({ clock });
  const usage = memoryUsageSink();
  const keys = memoryKeyStore();
  const gateway = createGateway({ keys, quota, usage, catalog, onEvent: () => {} });
  const entries: unknown[] = [];
  const onAudit = (entry: unknown): void => void entries.push(entry);
  const admin = createAdmin({ gateway, keys, quota, usage, catalog, onAudit });
  onTestFinished(() => gateway.close());
  return { admin, gateway, upstream, usage, entries };
}

const codeOf = async (run: () => Promise<unknown>): Promise<unknown> =>
  run().then(
    () => undefined,
    (error: unknown) => (error instanceof Object && 'code' in error ? error.code : error),
  );

describe('a test of a channel', () => {
  it('sends one call, states what it costs, and charges nobody', async () => {
    const { admin, gateway, upstream, usage, entries } = await account();

    const tested = await admin.channels.test('ada', 'one');

    expect(tested).toMatchObject({ passed: true, status: 200, modelId: 'small', channelId: 'one' });
    const { inputTokens = 0, outputTokens = 0, chargeNanos, costNanos } = tested;
    expect(inputTokens).toBeGreaterThan(0);
    expect(chargeNanos).toBeGreaterThan(BigInt(outputTokens) * 2_000n);
    expect(costNanos).toBe(chargeNanos);
    expect(upstream.calls.length).toBe(1);
    expect(usage.records).toEqual([]);
    expect(gateway.channels()).toEqual([]);
    expect(entries).toMatchObject([
      {
        ...{ actor: 'ada', action: 'channel.test', target: 'one', outcome: 'done' },
        change: { modelId: 'small', passed: true, chargeNanos: String(chargeNanos) },
      },
    ]);
  });

  it('is refused within a second of the last, for other models, and for an image', async () => {
    const { admin, upstream } = await account();

    const unknown = [
      await codeOf(() => admin.channels.test('ada', 'two')),
      await codeOf(() => admin.channels.test('ada', 'one', { modelId: 'large' })),
      await codeOf(() => admin.channels.test('ada', 'one', { modelId: 'picture' })),
      await codeOf(() => admin.channels.test('ada', 'one')),
    ];

    expect(unknown).toEqual(['not_found', 'invalid_request', 'invalid_request', 'conflict']);
    expect(upstream.calls).toEqual([]);
  });
});

describe('a switch', () => {
  it('names its actor, and a second replica shows where it differs', async () => {
    const clock = fakeClock();
    const cluster = memoryClusterStore({ clock });
    const quota = memoryQuotaStore({ clock });
    const catalog = staticCatalog([
      model({ id: 'small', channels: [channel({ id: 'one' }), channel({ id: 'two' })] }),
    ]);
    const open = () => {
      const keys = memoryKeyStore();
      const gateway = createGateway({ keys, quota, catalog, cluster, clock, onEvent: () => {} });
      onTestFinished(() => gateway.close());
      return { gateway, admin: createAdmin({ gateway, keys, quota, catalog, clock }) };
    };
    const [here, there] = [open(), open()];
    const seconds = async (count: number): Promise<void> => {
      for (let passed = 0; passed < count; passed += 1) {
        clock.advance(1_000);
        for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      }
    };
    await seconds(1);

    expect(await here.admin.channels.disable('ada', 'one')).toEqual({
      ...{ channelId: 'one', where: 'everywhere' },
    });
    await seconds(3);
    there.gateway.disableChannel('two');
    await seconds(9);

    const [first, second] = there.admin.channels.list()[0]?.channels ?? [];
    expect(first).toMatchObject({ state: 'off', replicas: [], switched: { actor: 'ada' } });
    expect(second?.switched).toBeUndefined();
    expect(second?.replicas.map(({ state }) => state)).toEqual(['off', 'ready']);
    expect(there.admin.capabilities.switchEverywhere).toBe(true);
    expect((await there.admin.now()).replica).toMatchObject({ isShared: true, replicas: 2 });
  });
});

describe('accounts', () => {
  it('come with the attempts that they failed, the failing ones first', async () => {
    const channels = ['one', 'two'].map((id) => channel({ id }));
    const catalog = staticCatalog(['a', 'b'].map((id) => model({ id, channels })));
    const { admin, emit, clock } = adminSetup({ catalog, usage: {} });
    const attempt = { status: 200, reason: undefined, mayHaveRun: true, durationMs: 9 };
    const failed = { ...attempt, status: 500, reason: 'upstream_error', channelId: 'two' } as const;
    const refused = { ...failed, status: 400, reason: 'upstream_refused' } as const;
    const served = { ...attempt, channelId: 'one' };
    const call = { ...usageRecord(), channelId: 'one', firstByteMs: 100, costNanos: undefined };
    for (const attempts of [[failed, served], [refused], [served]]) {
      const record = { ...call, attempts, outcome: 'complete' as const, reason: undefined };
      emit({ type: 'call_ended', record, code: undefined });
    }

    const { source, data } = await admin.channels.accounts();

    expect(source).toBe('process');
    expect(data.map(({ channelId }) => channelId)).toEqual(['two', 'one']);
    const [two, one] = data;
    expect(two?.recent).toMatchObject({ attempts: 2, failures: 1 });
    expect(two?.recent.slices.at(-1)).toEqual({ attempts: 2, failures: 1 });
    expect(two?.lastFailure).toMatchObject({ reason: 'upstream_error', status: 500 });
    expect(two?.lastFailure?.meaning).toBeDefined();
    expect(one).toMatchObject({
      calls: 3,
      chargeNanos: 3n * call.chargeNanos,
      lastFailure: undefined,
    });
    expect(one?.models.map(({ modelId }) => modelId)).toEqual(['a', 'b']);
    clock.advance(3_600_000);
    const [later] = (await admin.channels.accounts()).data;
    expect(later?.recent).toMatchObject({ attempts: 0, failures: 0, firstByteP95Ms: undefined });
  });
});
