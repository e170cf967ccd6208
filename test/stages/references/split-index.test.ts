// suite: quick
/** When a gateway reports that another process could not find the responses of a model. */
import { expect, it } from 'vitest';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import type { ResponseIndex } from '../../../src/ports/replies/response-index.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { memoryResponseIndex } from '../../../src/stores/memory/response-index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { regional, responsesGateway } from './responses-gateway.ts';

const translated = { capabilities: { responses: false } };

const pools: Readonly<Record<string, readonly Partial<Channel>[]>> = {
  'two accounts': [regional('eu'), regional('us')],
  'three channels, two accounts': [regional('eu'), regional('a'), regional('b', { account: 'a' })],
  'one account': [regional('eu')],
  'one account under two channels': [regional('eu'), regional('us', { account: 'account-eu' })],
  'one account of two that stores responses': [regional('eu'), regional('us', translated)],
  'one account of two that the group may use': [regional('eu'), regional('us', { groups: [] })],
  'no account that stores responses': [regional('eu', translated), regional('us', translated)],
};
const several = Object.keys(pools).slice(0, 2);

const cases = Object.keys(pools).flatMap((pool) =>
  (['process', 'replica-async', 'durable'] as const).flatMap((quota) =>
    (['process', 'shared'] as const).map((index) => ({ pool, quota, index })),
  ),
);

it.each(cases)('$pool, quota $quota, index $index', async ({ pool, quota, index }) => {
  const clock = fakeClock();
  const store: QuotaStore = { ...memoryQuotaStore({ clock }), durability: quota };
  const known: ResponseIndex = { ...memoryResponseIndex({ clock }), durability: index };
  const gateway = responsesGateway({
    channels: pools[pool] ?? [],
    options: { quota: store, responses: { index: known }, clock },
  });

  await gateway.ask({});
  await gateway.ask({ stream: true });

  const reported = gateway.events.filter(({ type }) => type === 'references_per_process');
  const isReported = several.includes(pool) && quota !== 'process' && index === 'process';
  expect(reported).toEqual(isReported ? [{ type: 'references_per_process', modelId: 'm' }] : []);
});
