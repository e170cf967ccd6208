/** The stores that Tollgate is measured with beside those in memory, with their usage logs. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const connections = 20;

const stores = {
  sqlite: async (folder = folderInMemory()) => {
    const { migrateSqlite, openSqlite, sqliteQuotaStore, sqliteUsageSink } = await import(
      '../../dist/sqlite.js'
    );
    const client = await openSqlite(join(folder, 'bench.db'));
    await migrateSqlite(client);
    return { quota: sqliteQuotaStore({ client }), usage: sqliteUsageSink({ client }) };
  },
  redis: async (socket) => {
    const { createClient } = await import('redis');
    const { redisQuotaStore } = await import('../../dist/redis.js');
    const client = await createClient({ socket: { path: socket } }).connect();
    return { quota: redisQuotaStore({ client }) };
  },
  postgres: async (host) => {
    const { default: pg } = await import('pg');
    const { migratePostgres, postgresQuotaStore, postgresUsageSink } = await import(
      '../../dist/postgres.js'
    );
    const client = new pg.Pool({ host, user: 'tollgate', database: 'postgres', max: connections });
    await migratePostgres(client);
    return { quota: postgresQuotaStore({ client }), usage: postgresUsageSink({ client }) };
  },
};

/** In memory, because the cost of a call is measured and not the disk. */
function folderInMemory() {
  const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  const folder = mkdtempSync(join(memory, 'tollgate-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  return folder;
}

/** The ports that a store replaces; none for memory. */
export async function storePorts({ store, socket }) {
  if (store === undefined) return {};
  // A store that shares its core with the load answers late without being down.
  return { ...(await stores[store]?.(socket)), storeTimeoutMs: 10_000 };
}
