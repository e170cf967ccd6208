// suite: quick
/** Models with their prices for operators, and what another price would have cost. */
import { expect, it } from 'vitest';
import type { AdminCatalog } from '../../src/admin/index.ts';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { money } from '../../src/prices/amount.ts';
import { tokenPrice } from '../../src/prices/codec.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { usageRecord } from '../../src/testing/index.ts';
import { channel, model } from '../support/models.ts';
import { adminSetup } from './admin-host.ts';

const price = tokenPrice({ input: '2', cachedInput: '1', output: '10' });

/** A catalog in a store with one model. */
function inStore(): AdminCatalog {
  const channels = [channel({ cost: tokenPrice({ input: '1', output: '5' }) })];
  const served = model({ id: 'gpt', price, channels, rates: { tokens: { perMinute: 9 } } });
  const json = { id: 'gpt', price: { per: 'token', input: '2', cachedInput: '1', output: '10' } };
  const unused = () => Promise.reject(new Error('not used here'));
  return {
    ...staticCatalog([served]),
    ...{ publish: unused, publishJson: unused, changeChannel: unused, rollback: unused },
    ...{ changePrice: unused, history: unused },
    read: async () => ({ version: 4, models: [json] }),
  };
}

it('lists prices, costs and limits, and neither URLs nor credentials', () => {
  const { admin } = adminSetup({ catalog: inStore() });

  const models = admin.catalog.models();

  expect(models).toMatchObject([
    {
      ...{ modelId: 'gpt', isWildcard: false },
      price: { per: 'token', input: '2', cachedInput: '1', output: '10' },
      limits: [{ of: 'tokens', per: 'minute', amount: 9 }],
      channels: [{ cost: { per: 'token', input: '1', output: '5' } }],
    },
  ]);
  expect(JSON.stringify(models)).not.toMatch(/https?:|secret/);
});

it('a preview compares the tokens of the last 30 days at both prices', async () => {
  const usage = memoryUsageSink();
  const { admin, clock } = adminSetup({ catalog: inStore(), usage });
  const dayMs = 86_400_000;
  const counts = { inputTokens: 1_000_000, cachedInputTokens: 400_000, outputTokens: 100_000 };
  for (const [index, days] of [1, 29, 31].entries()) {
    const startedAtMs = clock.now() - days * dayMs;
    const ids = { requestId: `r${index}`, reservationId: `h${index}`, modelId: 'gpt' };
    const empty = { images: 0, ...usageRecord().usage };
    usage.record(
      usageRecord({ ...ids, startedAtMs, chargeNanos: money('7'), usage: { ...empty, ...counts } }),
    );
  }

  const preview = await admin.catalog.previewPrice('gpt', tokenPrice({ input: '4', output: '10' }));

  // Per call: 0.6 × 2 + 0.4 × 1 + 0.1 × 10 = 2.6, and 1 × 4 + 0.1 × 10 = 5.
  expect(preview).toEqual({
    ...{ modelId: 'gpt', version: 4, calls: 2, chargedNanos: money('14') },
    ...{ beforeNanos: money('5.2'), afterNanos: money('10') },
    differences: [
      { modelId: 'gpt', member: 'price.input', before: '2', after: '4' },
      { modelId: 'gpt', member: 'price.cachedInput', before: '1', after: undefined },
    ],
  });
});

it('says what a catalog without versions can’t do', async () => {
  const { admin } = adminSetup();

  expect(admin.capabilities.changePrices).toBe(false);
  await expect(admin.catalog.history()).rejects.toMatchObject({ code: 'not_supported' });
  await expect(admin.catalog.previewPrice('gpt', price)).rejects.toMatchObject({
    code: 'not_supported',
  });
});
