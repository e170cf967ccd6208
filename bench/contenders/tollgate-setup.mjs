/**
 * The keys, models and channels of a Tollgate under test, shared by the contenders that mount it.
 */
import { memoryKeyStore, memoryQuotaStore, staticCatalog } from '../../dist/index.js';
import { imageModelId, modelId, secret, secretOf, sixDigits } from '../lib/calls.mjs';

const limitNanos = 9_000_000_000_000_000n;
const imagePrice = { per: 'image', rows: [{ nanos: 1_000n }] };

/** The record of a key that is charged to two subjects: its own and its group's. */
export function keyRecord(id) {
  return {
    id,
    group: 'bench',
    disabled: false,
    quota: [
      { id, period: 'month', limitNanos },
      { id: 'group', period: 'month', limitNanos },
    ],
  };
}

/** The secrets are those of `calls.mjs`: `secret`, or with `keys` those of `secretOf`. */
export function memoryStores({ keys = 0 }) {
  const store = memoryKeyStore();
  store.add(secret, keyRecord('bench'));
  for (let n = 0; n < keys; n += 1) store.add(secretOf(n), keyRecord(`bench-${sixDigits(n)}`));
  return { keys: store, quota: memoryQuotaStore() };
}

/**
 * The model `bench-model`, and with `models` also `bench-model-000000` and on, each with that many
 * `channels` to the upstream. The image model is priced by the image.
 */
export function catalogOf({
  upstreamPort,
  prefix = '',
  dialect = 'openai',
  models = 0,
  channels = 1,
}) {
  const baseUrl = `http://127.0.0.1:${upstreamPort}${prefix}/v1`;
  const price = { per: 'token', rates: { input: 100n, output: 200n } };
  const shared = {
    vendor: 'Bench',
    groups: ['bench'],
    channels: channelsTo(baseUrl, dialect, channels),
  };
  const text = {
    ...shared,
    protocols: ['chat', 'native', 'responses', 'messages'],
    maxOutputTokens: 4_096,
    price,
  };
  const images = { ...shared, id: imageModelId, protocols: ['images'], price: imagePrice };
  const ids = Array.from({ length: models }, (_, n) => `${modelId}-${sixDigits(n)}`);
  return staticCatalog([
    ...[modelId, ...ids].map((id) => ({ ...text, id })),
    // Anthropic has no image generation, and the catalog would refuse the model.
    ...(dialect === 'anthropic' ? [] : [images]),
  ]);
}

function channelsTo(baseUrl, dialect, count) {
  return Array.from({ length: count }, (_, n) => ({
    id: `bench-channel-${sixDigits(n)}`,
    dialect,
    baseUrl,
    credential: 'none',
    upstreamModel: 'gpt-4o',
    priority: 1,
    weight: 1,
  }));
}
