/**
 * Tollgate with all features on: key, scan, validation, group, reserve, settle, usage record, and
 * the listener of the README. Options: `host`, `dialect`, `listeners`, `store` (with the `socket` of
 * its server, or its folder), the one `subject` of all keys, and the numbers of `keys`, `models` and
 * `channels`.
 */
import {
  createGateway,
  logEvents,
  memoryKeyStore,
  memoryQuotaStore,
  memoryUsageSink,
  staticCatalog,
} from '../../dist/index.js';
import { embeddingModelId, imageModelId, keySecrets, modelId, sixDigits } from '../lib/calls.mjs';
import { measured, options, upstreamOrigin } from './measured.mjs';
import { serverWith } from './tollgate-hosts.mjs';
import { listenTo } from './tollgate-listeners.mjs';
import { storePorts } from './tollgate-stores.mjs';

const {
  host = 'node',
  dialect = 'openai',
  listeners = ['log'],
  models = 1,
  channels = 1,
} = options;
const limitNanos = 9_000_000_000_000_000n;

/** Each key is charged with its group; where a server holds the rows, alone: one row is a queue. */
function keyRecord(id) {
  const alone = options.store === undefined ? [id, 'group'] : [id];
  const subjects = options.subject === undefined ? alone : [options.subject];
  const quota = subjects.map((subject) => ({ id: subject, period: 'month', limitNanos }));
  return { id, group: 'bench', disabled: false, quota };
}

/** `bench-model`, or that many with numbers; and models of images and embeddings. */
function catalogModels() {
  const price = { per: 'token', rates: { input: 100n, output: 200n } };
  const shared = { vendor: 'Bench', groups: ['bench'], channels: channelsOf() };
  const protocols = ['chat', 'native', 'responses', 'messages'];
  const text = { ...shared, protocols, maxOutputTokens: 4_096, price };
  const ids = Array.from({ length: models }, (_, n) => `${modelId}-${sixDigits(n)}`);
  return [
    ...[modelId, ...ids].map((id) => ({ ...text, id })),
    ...(dialect === 'openai'
      ? [{ ...shared, id: embeddingModelId, protocols: ['embeddings'], price }]
      : []),
    // Anthropic has no image generation, and the catalog would refuse the model.
    ...(dialect === 'anthropic'
      ? []
      : [{ ...shared, id: imageModelId, protocols: ['images'], price: imagePrice }]),
  ];
}

const imagePrice = { per: 'image', rows: [{ nanos: 1_000n }] };

function channelsOf() {
  return Array.from({ length: channels }, (_, n) => ({
    id: `bench-channel-${sixDigits(n)}`,
    dialect,
    baseUrl: `${upstreamOrigin}${options.prefix}/v1`,
    credential: 'none',
    upstreamModel: 'gpt-4o',
    priority: 1,
    weight: 1,
  }));
}

const keys = memoryKeyStore();
for (const [n, secret] of keySecrets(options).entries()) {
  keys.add(secret, keyRecord(`bench-${sixDigits(n)}`));
}
const gateway = createGateway({
  keys,
  quota: memoryQuotaStore(),
  usage: memoryUsageSink(),
  catalog: staticCatalog(catalogModels()),
  ...(await storePorts(options)),
  ...(listeners.includes('log') ? { onEvent: logEvents(console, { level: 'warn' }) } : {}),
});
await listenTo(gateway, listeners);
await measured({ server: await serverWith(gateway, host) });
