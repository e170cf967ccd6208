/**
 * A process of a rolling deploy: a gateway over stores that it shares with other processes, behind
 * the server of `examples/rolling-server.ts`. The parent talks to it by messages.
 */
import pg from 'pg';
import { createClient } from 'redis';
import {
  createGateway,
  type GatewayOptions,
  jsonlUsageSink,
  memoryKeyStore,
  staticCatalog,
} from 'tollgate';
import {
  migratePostgres,
  postgresKeyStore,
  postgresQuotaStore,
  postgresUsageSink,
} from 'tollgate/postgres';
import { redisQuotaStore } from 'tollgate/redis';
import { z } from 'zod';
import { rollingServer } from '../../../examples/rolling-server.ts';
import { listening } from '../../support/servers.ts';

const config = z
  .object({
    stores: z.enum(['postgres', 'redis']),
    /** The folder of PostgreSQL's socket, or the path of that of Redis. */
    at: z.string(),
    prefix: z.string(),
    baseUrl: z.string(),
    /** For Redis, which has no key store. */
    secret: z.string(),
    logPath: z.string(),
    drainMs: z.number(),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));

/** The stores, and how to close their client. */
interface Stores extends Pick<GatewayOptions, 'keys' | 'quota' | 'usage'> {
  close(): Promise<unknown>;
}

const stores = config.stores === 'postgres' ? await postgresStores() : await redisStores();
const checked = await stores.quota.check();
if (!checked.ok) throw new Error(checked.problems.join('; '));
const { close, ...options } = stores;
const gateway = createGateway({
  ...options,
  catalog: staticCatalog([
    {
      id: 'gpt-4o-mini',
      vendor: 'OpenAI',
      protocols: ['chat'],
      groups: ['staff'],
      price: { per: 'token', rates: { input: 1_000_000_000n, output: 1_000_000_000n } },
      maxOutputTokens: 100,
      channels: [{ id: 'up', dialect: 'openai', baseUrl: config.baseUrl, credential: 'secret' }],
    },
  ]),
});
const { server, stop } = rollingServer(gateway, { noticeMs: 0, drainMs: config.drainMs });
process.on('message', (message) => {
  if (message !== 'stop') return;
  void stop()
    .then(close)
    .then(() => process.disconnect());
});
process.send?.({ origin: await listening(server) });

async function postgresStores(): Promise<Stores> {
  const client = new pg.Pool({ host: config.at, user: 'tollgate', database: 'postgres', max: 4 });
  const location = { client, schema: config.prefix };
  await migratePostgres(client, { schema: config.prefix });
  return {
    keys: postgresKeyStore(location),
    quota: postgresQuotaStore(location),
    usage: postgresUsageSink(location),
    close: () => client.end(),
  };
}

async function redisStores(): Promise<Stores> {
  const client = createClient({ socket: { path: config.at, tls: false } });
  await client.connect();
  const quota = [{ id: 'staff-key', period: 'total', limitNanos: 1_000_000_000n }] as const;
  const key = { id: 'staff-key', group: 'staff', disabled: false, quota };
  return {
    keys: memoryKeyStore({ keys: [{ secret: config.secret, key }] }),
    quota: redisQuotaStore({ client, prefix: config.prefix }),
    usage: jsonlUsageSink({ path: config.logPath }),
    close: async () => client.close(),
  };
}
