/** The databases that are killed, and how a process opens its store on one of them. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import pg from 'pg';
import { createClient } from 'redis';
import { z } from 'zod';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import type { UsageSink } from '../../src/ports/usage-sink.ts';
import { jsonlUsageSink } from '../../src/stores/jsonl/usage-sink.ts';
import { migratePostgres } from '../../src/stores/postgres/migrations.ts';
import { postgresQuotaStore } from '../../src/stores/postgres/quota-store.ts';
import { postgresUsageSink } from '../../src/stores/postgres/stores.ts';
import { redisQuotaStore } from '../../src/stores/redis/index.ts';
import type { UsageQueries } from '../../src/stores/sql/usage/report.ts';
import { migrateSqlite, sqliteQuotaStore, sqliteUsageSink } from '../../src/stores/sqlite/index.ts';
import { startCutProxy } from '../proof/cut-proxy.ts';
import { startPostgres } from '../services/postgres.ts';
import { startRedis } from '../services/redis.ts';
import { logFolder, readLog } from './usage-log.ts';

/** The location of a database, as it is passed to other processes. */
export type Place =
  | { readonly kind: 'redis'; readonly path: string }
  | { readonly kind: 'postgres'; readonly connection: Connection }
  | { readonly kind: 'sqlite'; readonly file: string };

interface Connection {
  readonly host: string;
  readonly user: string;
  readonly database: string;
}

/** Reads a location that was passed to a process. */
export const placeSchema: z.ZodType<Place> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('redis'), path: z.string() }),
  z.object({
    kind: z.literal('postgres'),
    connection: z.object({ host: z.string(), user: z.string(), database: z.string() }),
  }),
  z.object({ kind: z.literal('sqlite'), file: z.string() }),
]);

/** A store in this process, and how to close it. */
export interface OpenStore {
  readonly store: QuotaStore;
  /**
   * The usage log: in the same database, or in a file of this process if that has no log.
   */
  readonly usage: UsageSink & Pick<UsageQueries, 'usageCharges' | 'usageRecords'>;
  close(): Promise<void>;
}

/** A running database, as the test that kills it controls it. */
export interface Database {
  /** The store of the test itself. */
  readonly place: Place;
  /**
   * The location for the gateways: the same database, behind a proxy that can cut the connection.
   */
  readonly placeOfGateways: Place;
  /** Loses the next reply to a gateway. */
  breakLine(): void;
  /** Kills the server with SIGKILL and restarts it on its disk. Absent if there is no server. */
  readonly crash: (() => Promise<void>) | undefined;
  remove(): Promise<void>;
}

/** How each kind is started. After a kill, it has only what is on its disk. */
export const databases: Readonly<Record<Place['kind'], () => Promise<Database>>> = {
  redis: startRedisDatabase,
  postgres: startPostgresDatabase,
  sqlite: makeSqliteDatabase,
};

async function startRedisDatabase(): Promise<Database> {
  const server = await startRedis(['--appendfsync', 'always']);
  const at = join(server.path, '../proxy.sock');
  const proxy = await startCutProxy({ at, to: server.path });
  await mkdir(logFolder(at), { recursive: true });
  return {
    place: { kind: 'redis', path: server.path },
    placeOfGateways: { kind: 'redis', path: at },
    breakLine: () => proxy.set({ kind: 'lose' }),
    crash: async () => {
      await server.kill();
      await server.start();
    },
    remove: async () => {
      await proxy.close();
      await server.remove();
    },
  };
}

async function startPostgresDatabase(): Promise<Database> {
  const server = await startPostgres({ fsync: true });
  await migratePostgres(server.pool());
  const { host, user, database } = server.connection;
  const socket = '.s.PGSQL.5432';
  const folder = join(host, 'proxy');
  await mkdir(folder);
  const proxy = await startCutProxy({ at: join(folder, socket), to: join(host, socket) });
  return {
    place: { kind: 'postgres', connection: { host, user, database } },
    placeOfGateways: { kind: 'postgres', connection: { host: folder, user, database } },
    breakLine: () => proxy.set({ kind: 'lose' }),
    crash: async () => {
      await server.kill();
      await server.restart();
    },
    remove: async () => {
      await proxy.close();
      await server.stop();
    },
  };
}

/** A file has neither a connection nor a server: only the processes that write it can be killed. */
async function makeSqliteDatabase(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-kill-'));
  const file = join(folder, 'tollgate.db');
  const db = new Libsql(file);
  migrateSqlite(db);
  db.close();
  const place = { kind: 'sqlite', file } as const;
  return {
    place,
    placeOfGateways: place,
    breakLine: () => {},
    crash: undefined,
    remove: () => rm(folder, { recursive: true }),
  };
}

/** Opens the store of this process, without waiting for a server. */
export async function openStore(place: Place): Promise<OpenStore> {
  switch (place.kind) {
    case 'redis': {
      const client = createClient({ socket: { path: place.path, reconnectStrategy: 20 } });
      client.on('error', () => {});
      await client.connect();
      const path = join(logFolder(place.path), `${process.pid}.jsonl`);
      return {
        store: redisQuotaStore({ client, durability: 'durable' }),
        usage: { ...jsonlUsageSink({ path }), ...readLog(logFolder(place.path)) },
        close: async () => client.destroy(),
      };
    }
    case 'postgres': {
      const pool = new pg.Pool({ ...place.connection, max: 10, connectionTimeoutMillis: 1_000 });
      pool.on('error', () => {});
      return {
        store: postgresQuotaStore({ client: pool }),
        usage: postgresUsageSink({ client: pool, onLost: () => {} }),
        close: () => pool.end(),
      };
    }
    case 'sqlite': {
      const db = new Libsql(place.file);
      return {
        store: sqliteQuotaStore({ client: db }),
        usage: sqliteUsageSink({ client: db, onLost: () => {} }),
        close: async () => {
          db.close();
        },
      };
    }
  }
}
