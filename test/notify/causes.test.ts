// suite: slow host
/** Which events become notifications, with which content, and how often. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventOf } from '../../src/events/events.ts';
import { notify } from '../../src/notify/notify.ts';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import type { ChannelStatus } from '../../src/upstream/channel-status.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../support/models.ts';
import { level, notifying, secret } from './harness.ts';
import { type Receiver, startReceiver } from './receiver.ts';

function typesOf({ received }: Receiver): readonly string[] {
  return received.map(({ body }) => body.type);
}

describe('two gateways over one store', () => {
  it('send each level of a budget once, whoever charges', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(1), { minLength: 60, maxLength: 60 }),
        fc.integer({ min: 600, max: 1_400 }),
        async (turns, limit) => {
          const receiver = await startReceiver();
          const store = memoryQuotaStore({ clock: fakeClock() });
          const shared = (): Partial<QuotaStore> => ({
            reserve: (input) => store.reserve(input),
            settle: (input) => store.settle(input),
            release: (input) => store.release(input),
            read: (subject, period, partition) => store.read(subject, period, partition),
          });
          const quota = [{ id: 'caller', period: 'total', limitNanos: BigInt(limit) }] as const;
          const replicas = ['a', 'b'].map((prefix) => {
            let next = 0;
            const ids = (): string => {
              next += 1;
              return `${prefix}-${String(next).padStart(20, '0')}`;
            };
            const harness = gatewayInProcess({
              ...{ key: { quota }, store: shared, options: { ids } },
              handlers: Array.from({ length: 60 }, () => completeReply('chat')),
            });
            const { clock, gateway } = harness;
            return { harness, stop: notify(gateway, { url: receiver.url, secret, clock }) };
          });

          for (const turn of turns) await replicas[turn]?.harness.call(sampleRequests.chat);
          await Promise.all(replicas.map(({ stop }) => stop.close()));

          const used = (await store.read('caller', '', 'default'))?.used ?? 0n;
          const reached = [80, 95].filter((percent) => used * 100n >= BigInt(limit * percent));
          const levels = receiver.received.map(({ body }) => Number(body.data.percent));
          expect(levels.filter((percent) => percent < 100).toSorted()).toEqual(reached);
          // A refusal changes no balance, so that each process reports it, with the same id.
          const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
          expect(new Set(ids).size).toBe(new Set(levels).size);
        },
      ),
      { numRuns: 12 },
    );
  });
});

describe('a channel', () => {
  const ready = { state: 'ready', reason: undefined, untilMs: undefined } as const;
  const out = { state: 'open', reason: 'connect_refused', untilMs: undefined } as const;
  const statusOf = (change: Partial<ChannelStatus>): ChannelStatus => ({
    ...{ channelId: 'openai-1', inFlight: 0, models: [], accounts: [], ...ready },
    ...change,
  });
  const changed: EventOf<'channel_changed'> = {
    ...{ type: 'channel_changed', channelId: 'openai-1', upstreamModel: undefined },
    ...out,
  };

  it('is out after a minute, and back at once', async () => {
    const receiver = await startReceiver();
    const state = notifying(receiver.url);

    state.channels = [statusOf({ models: [{ upstreamModel: 'gpt', ...out }] })];
    state.emit(changed);
    state.clock.advance(59_000);
    state.clock.advance(2_000);
    await receiver.count(1);
    state.channels = [statusOf({})];
    state.clock.advance(1_000);
    await receiver.count(2);

    expect(receiver.received.map(({ body }) => [body.type, body.text])).toEqual([
      ['channel.out', 'Models of the channel openai-1 are out (1): connect_refused.'],
      ['channel.back', 'The channel openai-1 is back.'],
    ]);
    expect(receiver.received[0]?.body.data).toEqual({
      ...{ channelId: 'openai-1', state: 'ready' },
      models: [{ upstreamModel: 'gpt', state: 'open', reason: 'connect_refused' }],
    });
  });
});

describe('other causes', () => {
  const lost = (id: number, amount: bigint): EventOf<'settlement_lost'> => ({
    ...{ type: 'settlement_lost', requestId: `req-${id}` },
    end: {
      operation: 'settle',
      input: {
        ...{ id: `reservation-${id}`, partition: 'default', basis: 'usage' },
        lines: [
          { subject: 'key', period: '', amount },
          { subject: 'team', period: '', amount },
        ],
      },
    },
  });

  it('are a refused file, lost charges, and if listed a failing store', async () => {
    const receiver = await startReceiver();
    const on = ['catalog.refused', 'config.refused', 'settlements.lost', 'store.failing'] as const;
    // A second before the next ten minutes.
    const { emit, clock } = notifying(receiver.url, { on, clock: fakeClock(600_000_000 - 1_000) });
    const failed = {
      type: 'port_failed',
      requestId: 'r',
      port: 'quota',
      operation: 'settle',
    } as const;

    emit({ type: 'catalog_refused', source: 'models.json', reason: 'models[0].id is missing.' });
    emit({ type: 'config_refused', source: 'tollgate.json', reason: 'listen.port is wrong.' });
    for (let call = 0; call < 100; call += 1) emit({ ...failed, reason: 'StoreUnavailable' });
    for (let id = 0; id < 50; id += 1) emit(lost(id, 1_000_000_000n));
    emit(level());
    clock.advance(1_000);
    emit({ ...failed, reason: 'StoreUnavailable', code: 'ECONNREFUSED' });
    await receiver.count(5);

    expect(typesOf(receiver)).toEqual([
      ...['catalog.refused', 'config.refused', 'store.failing', 'settlements.lost'],
      'store.failing',
    ]);
    const charges = receiver.received[3]?.body;
    expect(charges?.text).toBe(
      '50 ends of calls did not reach the quota store: 50 have to be charged by hand.',
    );
    expect(charges?.data).toMatchObject({ count: 50, chargeNanos: '50000000000' });
    expect(Object(charges?.data.settlements)).toHaveLength(20);
  });

  it('are not the default for a failing store', async () => {
    const receiver = await startReceiver();
    const { emit, notifications } = notifying(receiver.url);

    emit({
      ...{ type: 'port_failed', requestId: 'r', port: 'quota', operation: 'settle' },
      reason: 'StoreUnavailable',
    });
    await notifications.close();

    expect(receiver.received).toEqual([]);
  });
});

describe('a gateway', () => {
  it('sends what its end has lost before close() resolves', async () => {
    const receiver = await startReceiver();
    const { gateway, clock } = gatewayInProcess({ handlers: [completeReply('chat')] });
    notify(gateway, { url: receiver.url, secret, clock });
    gateway.emit({ type: 'config_refused', source: 'tollgate.json', reason: 'It is wrong.' });

    await gateway.close();

    expect(typesOf(receiver)).toEqual(['config.refused']);
  });
});
