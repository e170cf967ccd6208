/**
 * Tollgate on `node:http` with its quota in a store that processes share, and its keys cached. With
 * `keys` each key has its own subject; without, the one key is charged together with its group, so
 * that all calls update the same two rows. `usageLog` also writes the records to PostgreSQL.
 */
import { createServer } from 'node:http';
import {
  cachedKeyStore,
  createGateway,
  memoryKeyStore,
  memoryQuotaStore,
  memoryUsageSink,
} from '../../dist/index.js';
import { nodeAdapter } from '../../dist/node.js';
import { secret, secretOf } from '../lib/calls.mjs';
import { measured, options } from './measured.mjs';
import { catalogOf, keyRecord } from './tollgate-setup.mjs';

const { store, socket, keys: keyCount = 0, usageLog = false } = options;
const connections = 20;

/** The options that each store adds to a gateway; the clients are loaded only if used. */
const ports = {
  memory: () => ({ quota: memoryQuotaStore() }),
  redis: async () => {
    const { createClient } = await import('redis');
    const { redisQuotaStore } = await import('../../dist/redis.js');
    const client = await createClient({ socket: { path: socket } }).connect();
    return { quota: redisQuotaStore({ client }) };
  },
  postgres: async () => {
    const { default: pg } = await import('pg');
    const { migratePostgres, postgresQuotaStore, postgresUsageSink } = await import(
      '../../dist/postgres.js'
    );
    const client = new pg.Pool({
      host: socket,
      user: 'tollgate',
      database: 'postgres',
      max: connections,
    });
    await migratePostgres(client);
    const usage = usageLog ? { usage: postgresUsageSink({ client }) } : {};
    return { quota: postgresQuotaStore({ client }), ...usage };
  },
};

function knownKeys() {
  const keys = memoryKeyStore();
  keys.add(secret, keyRecord('bench'));
  for (let n = 0; n < keyCount; n += 1) {
    const record = keyRecord(`bench-${n}`);
    keys.add(secretOf(n), { ...record, quota: record.quota.slice(0, 1) });
  }
  return keys;
}

const gateway = createGateway({
  usage: memoryUsageSink({ limit: 100 }),
  ...(await ports[store]()),
  keys: cachedKeyStore(knownKeys()),
  catalog: catalogOf(options),
  // With many processes on few cores, a store that answers late is busy, not down.
  storeTimeoutMs: 10_000,
});
await measured({ server: createServer(nodeAdapter(gateway)) });
