/** Models with prices of every kind, versions and an audit trail, for the fake console. */
import {
  type Admin,
  AdminError,
  type AuditRecord,
  type CatalogModel,
  type CatalogVersion,
} from '../../../src/admin/index.ts';
import { money } from '../../../src/prices/amount.ts';
import { nowMs } from './data.ts';

const usual: Omit<CatalogModel, 'modelId' | 'price'> = {
  ...{ isWildcard: false, displayName: undefined, description: undefined },
  ...{ aliases: [], groups: ['default', 'batch'] },
  protocols: ['chat', 'native', 'responses', 'messages'],
  ...{ contextTokens: 400_000, maxOutputTokens: 128_000, limits: [], fallbacks: [], channels: [] },
};

const place = { platform: undefined, priority: 0, weight: 1, groups: undefined } as const;

/** A model for each kind of price. */
function catalogModels(): readonly CatalogModel[] {
  return [
    {
      ...usual,
      ...{ modelId: 'gpt-5-mini', aliases: ['fast'], displayName: 'GPT-5 mini' },
      description: 'Small and quick; for classification and short answers.',
      price: {
        ...{ per: 'token', input: '0.25', cachedInput: '0.025', output: '2' },
        tiers: [{ aboveInputTokens: 272_000, input: '0.5', output: '4' }],
        members: { web_search: { perCall: '0.01' }, service_tier: { multiplier: '2' } },
      },
      limits: [
        { of: 'calls', per: 'minute', amount: 6_000 },
        { of: 'tokens', per: 'minute', amount: 2_000_000 },
      ],
      fallbacks: ['claude-haiku'],
      channels: [
        {
          ...{ ...place, channelId: 'openai-main', dialect: 'openai', upstreamModel: 'gpt-5-mini' },
          ...{ weight: 3, cost: { per: 'token', input: '0.2', output: '1.6' } },
        },
        {
          ...{ ...place, channelId: 'azure-sweden', dialect: 'openai', upstreamModel: 'mini-eu' },
          ...{ platform: 'azure', cost: 'reported' },
        },
        {
          ...{ ...place, channelId: 'openai-reserve', dialect: 'openai', priority: 1 },
          ...{ upstreamModel: 'gpt-5-mini', cost: undefined },
        },
      ],
    },
    {
      ...usual,
      modelId: 'claude-opus-4',
      groups: ['default'],
      price: {
        ...{ per: 'token', input: '15', cachedInput: '1.5', output: '75' },
        ...{ cacheWrite5m: '18.75', cacheWrite1h: '30' },
      },
    },
    {
      ...usual,
      ...{ modelId: 'gpt-image-1', protocols: ['images'], contextTokens: undefined },
      price: {
        per: 'image',
        rows: [
          { size: '1024x1024', quality: 'low', price: '0.011' },
          { size: '1024x1024', quality: 'high', price: '0.167' },
        ],
      },
    },
    { ...usual, modelId: 'llama-local', groups: [], price: { per: 'free' } },
    {
      ...usual,
      ...{ modelId: 'openrouter/*', isWildcard: true, protocols: undefined, price: undefined },
    },
  ];
}

function version(number: number, change: Partial<CatalogVersion>): CatalogVersion {
  const atMs = nowMs - (20 - number) * 7_200_000;
  return {
    ...{ version: number, atMs, actor: 'ada', note: undefined },
    changes: [],
    moreChanges: 0,
    ...change,
  };
}

/** Versions that say what they changed, and one that does not. */
function catalogVersionList(): readonly CatalogVersion[] {
  const changed = { modelId: 'gpt-5-mini', member: 'price.input', before: '0.3', after: '0.25' };
  const added = { modelId: 'llama-local', member: '', before: undefined, after: 'free, 1 channel' };
  const weight = { modelId: 'gpt-5-mini', member: 'channels.azure-sweden.weight' };
  return [
    version(14, { changes: [changed], note: 'prices of December' }),
    version(13, { changes: [{ ...weight, before: '0', after: '1' }], actor: 'bob@acme.example' }),
    version(12, {
      changes: [added, changed, { ...changed, modelId: 'o3' }, changed, changed],
      moreChanges: 7,
    }),
    version(11, { changes: undefined, actor: undefined }),
  ];
}

/** The catalog of the fake, whose prices can be changed. */
export function fakeCatalog(real: Admin['catalog']): Admin['catalog'] {
  return {
    ...real,
    models: catalogModels,
    history: async () => catalogVersionList(),
    previewPrice: async (modelId, price) => {
      if (price.per !== 'token') throw new AdminError('not_supported', 'Only tokens here.');
      const change = { modelId, member: 'price.input', before: '0.25' };
      return {
        ...{ modelId, version: 14, calls: 41_207, chargedNanos: money('1204.31') },
        ...{ beforeNanos: money('1188.5'), afterNanos: money('1420.25') },
        differences: [{ ...change, after: String(Number(price.rates.input) / 1e9) }],
      };
    },
  };
}

/** Changes of every outcome. */
export function auditRecords(): readonly AuditRecord[] {
  const entry = (minutes: number, one: Omit<Partial<AuditRecord>, 'atMs'>): AuditRecord => ({
    ...{ atMs: nowMs - minutes * 60_000, actor: 'ada@acme.example', action: 'key.limit' },
    ...{ target: 'team-search', change: {}, outcome: 'done', code: undefined },
    ...one,
  });
  return [
    entry(2, {
      ...{ action: 'model.price', target: 'gpt-5-mini' },
      change: { price: 'input 0.25, output 2', priceBefore: 'input 0.3, output 2', version: 14 },
    }),
    entry(9, {
      change: { limitNanos: '50000000000', limitNanosBefore: '25000000000', subject: null },
    }),
    entry(31, {
      ...{ actor: 'support', action: 'key.top_up', outcome: 'refused', code: 'read_only' },
    }),
    entry(44, {
      ...{ actor: 'bob@acme.example', action: 'channel.weight', target: 'azure-sweden' },
      change: { weight: 1, weightBefore: 0, modelId: null },
    }),
    entry(300, {
      ...{ action: 'catalog.publish', target: undefined, outcome: 'failed', code: 'unavailable' },
      change: { models: 22 },
    }),
    entry(1_500, {
      ...{ actor: 'ops', action: 'console.link', target: 'ada@acme.example' },
      change: { can: 'read' },
    }),
  ];
}
