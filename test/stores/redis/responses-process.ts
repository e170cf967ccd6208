/**
 * A process with a gateway whose index and items are in Redis. Several of them serve the same
 * callers; each tries another account first.
 */
import { createServer } from 'node:http';
import { createClient } from 'redis';
import {
  type Channel,
  createGateway,
  memoryKeyStore,
  memoryQuotaStore,
  staticCatalog,
} from 'tollgate';
import { nodeAdapter } from 'tollgate/node';
import { redisItemStore, redisResponseIndex } from 'tollgate/redis';
import { z } from 'zod';
import { listening } from '../../support/servers.ts';

const config = z
  .object({
    redisPath: z.string(),
    prefix: z.string(),
    /** The base URLs of the accounts; the first one is tried first. */
    accounts: z.array(z.object({ name: z.string(), baseUrl: z.string() })),
    secrets: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));

const client = createClient({ socket: { path: config.redisPath, tls: false } });
await client.connect();
const index = redisResponseIndex({ client, prefix: config.prefix });
const items = redisItemStore({ client, prefix: config.prefix });

const channels = config.accounts.map(
  ({ name, baseUrl }, priority): Channel => ({
    id: name,
    dialect: 'openai',
    baseUrl,
    credential: 'account-secret',
    priority,
    weight: 1,
    account: name,
  }),
);
const model = {
  vendor: 'OpenAI',
  protocols: ['responses'],
  groups: ['staff'],
  price: { per: 'token', rates: { input: 0n, output: 0n } },
} as const;
const chatOnly = channels.map((channel) => ({ ...channel, upstreamModel: 'gpt-4.1' }));

const gateway = createGateway({
  keys: memoryKeyStore({
    keys: Object.entries(config.secrets).map(([id, secret]) => ({
      secret,
      key: {
        id,
        group: 'staff',
        disabled: false,
        quota: [{ id, period: 'total', limitNanos: 1_000_000_000n }],
      },
    })),
  }),
  quota: memoryQuotaStore(),
  catalog: staticCatalog([
    {
      ...model,
      id: 'relayed',
      channels: channels.map((channel) => ({
        ...channel,
        upstreamModel: 'gpt-5.1',
        capabilities: { responses: true },
      })),
    },
    {
      ...model,
      id: 'translated',
      channels: chatOnly.map((channel) => ({ ...channel, capabilities: { responses: false } })),
    },
  ]),
  responses: { index, items },
});
process.once('disconnect', () => process.exit());
process.send?.({ origin: await listening(createServer(nodeAdapter(gateway))) });
