/** Opens the databases that a configuration names, with the drivers that are installed. */
import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errorName, isError } from '../errors.ts';
import type { PostgresClient } from '../stores/postgres/client.ts';
import { isRedisBytesClient, type RedisBytesClient } from '../stores/redis/binary-client.ts';
import { isRedisClient, type RedisClient } from '../stores/redis/client.ts';
import type { SqliteHandle } from '../stores/sqlite/handle.ts';
import { CommandError, exitCodes } from './command.ts';
import type { PostgresConfig, RedisConfig, SqliteConfig, StoresConfig } from './config/config.ts';
import { construct, exported, hasMethods, loadPackage, property } from './packages.ts';

/** An open PostgreSQL pool, and the schema of its tables. */
export interface OpenPostgres {
  readonly client: PostgresClient;
  readonly schema: string;
}

/** A connected Redis client, and the prefix of its keys. */
export interface OpenRedis {
  readonly client: RedisClient & RedisBytesClient;
  readonly prefix: string;
  /** Sends any command. */
  readonly send: (...words: readonly string[]) => Promise<unknown>;
}

/** The open databases. */
export interface Databases {
  readonly sqlite: SqliteHandle | undefined;
  readonly postgres: OpenPostgres | undefined;
  readonly redis: OpenRedis | undefined;
  /** Closes all of them. */
  close(): Promise<void>;
}

const connectMs = 5_000;

/**
 * Opens each database of the configuration.
 *
 * @param folder that of the configuration file: paths in it begin there
 * @throws CommandError that names the member of the configuration and says what to do
 */
export async function openDatabases(stores: StoresConfig, folder: string): Promise<Databases> {
  const closers: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).reverse()) await end();
  };
  try {
    return {
      sqlite: stores.sqlite && (await openSqlite(stores.sqlite, folder, closers)),
      postgres: stores.postgres && (await openPostgres(stores.postgres, folder, closers)),
      redis: stores.redis && (await openRedis(stores.redis, folder, closers)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const sqliteDrivers = ['libsql', 'better-sqlite3', 'node:sqlite'] as const;

async function openSqlite(
  { path, driver }: SqliteConfig,
  folder: string,
  closers: (() => unknown)[],
): Promise<SqliteHandle> {
  const names = driver === undefined ? sqliteDrivers : [driver];
  const { name, content } = await loadPackage(names, 'stores.sqlite', folder);
  const file = resolve(folder, path);
  const database =
    name === 'node:sqlite' ? exported(content, 'DatabaseSync') : property(content, 'default');
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const handle = construct(database, file);
    if (!isClosableHandle(handle)) throw new Error(`${name} is no driver that is supported`);
    closers.push(() => handle.close());
    // A driver reads nothing before the first statement, so a file of another kind opens well.
    handle.exec('PRAGMA schema_version');
    return handle;
  } catch (error) {
    const remedy = 'It must be a database, or a new file in a folder that can be written.';
    throw unreachable('stores.sqlite.path', error, remedy);
  }
}

function isClosableHandle(value: unknown): value is SqliteHandle & { close(): unknown } {
  return hasMethods(value, 'exec', 'prepare', 'close');
}

async function openPostgres(
  { url, schema = 'tollgate', maxConnections = 20 }: PostgresConfig,
  folder: string,
  closers: (() => unknown)[],
): Promise<OpenPostgres> {
  const { content } = await loadPackage(['pg'], 'stores.postgres', folder);
  const pool = construct(exported(content, 'Pool'), {
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: connectMs,
    application_name: 'tollgate',
  });
  if (!isPool(pool)) throw new Error('The installed pg has no Pool.');
  // An idle connection that breaks must not end the process; the next call opens another.
  pool.on('error', () => {});
  closers.push(() => pool.end());
  try {
    await pool.query('SELECT 1');
  } catch (error) {
    throw unreachable('stores.postgres.url', error, 'The server must run, and accept the user.');
  }
  return { client: pool, schema };
}

interface Pool extends PostgresClient {
  on(event: 'error', listener: () => void): unknown;
  end(): Promise<void>;
}

function isPool(value: unknown): value is Pool {
  return hasMethods(value, 'query', 'on', 'end');
}

const redisClients = ['redis', 'ioredis'] as const;

async function openRedis(
  { url, client: wanted, prefix = 'tollgate' }: RedisConfig,
  folder: string,
  closers: (() => unknown)[],
): Promise<OpenRedis> {
  const names = wanted === undefined ? redisClients : [wanted];
  const { name, content } = await loadPackage(names, 'stores.redis', folder);
  let isConnected = false;
  const client =
    name === 'redis' ? nodeRedis(content, url, () => isConnected) : ioRedis(content, url);
  if (!isClient(client)) throw new Error(`The installed ${name} is too old: update it.`);
  client.on('error', () => {});
  const end = (): void => void (name === 'redis' ? client.destroy?.() : client.disconnect?.());
  closers.push(end);
  try {
    await inTime(client.connect());
    isConnected = true;
  } catch (error) {
    throw unreachable('stores.redis.url', error, 'The server must run, and accept the user.');
  }
  const send = (...words: readonly string[]): Promise<unknown> =>
    client.sendCommand !== undefined && name === 'redis'
      ? client.sendCommand([...words])
      : (client.call?.(...words) ?? Promise.reject(new Error('no such command')));
  return { client, prefix, send };
}

function nodeRedis(content: unknown, url: string, hasConnected: () => boolean): unknown {
  const create = exported(content, 'createClient');
  const path = socketOf(url);
  // It tries the first connection only once, so that a wrong address is reported at once.
  const reconnectStrategy = (retries: number, cause: Error): number | Error =>
    hasConnected() ? Math.min(50 * 2 ** Math.min(retries, 6), 2_000) : cause;
  const common = { connectTimeout: connectMs, reconnectStrategy };
  const socket = path === undefined ? common : { ...common, path };
  const options = path === undefined ? { url, socket } : { socket };
  return typeof create === 'function' ? Reflect.apply(create, undefined, [options]) : undefined;
}

function ioRedis(content: unknown, url: string): unknown {
  const options = { lazyConnect: true, connectTimeout: connectMs };
  return construct(exported(content, 'Redis'), socketOf(url) ?? url, options);
}

/** The path of a Unix socket: `unix:///run/redis.sock`. */
function socketOf(url: string): string | undefined {
  return url.startsWith('unix:') ? decodeURIComponent(new URL(url).pathname) : undefined;
}

/** Both clients, with the methods of either. */
type ClosableClient = RedisClient &
  RedisBytesClient & {
    on(event: 'error', listener: () => void): unknown;
    connect(): Promise<unknown>;
    destroy?(): unknown;
    disconnect?(): unknown;
    sendCommand?(words: string[]): Promise<unknown>;
    call?(...words: readonly string[]): Promise<unknown>;
  };

function isClient(value: unknown): value is ClosableClient {
  return hasMethods(value, 'on', 'connect') && isRedisClient(value) && isRedisBytesClient(value);
}

/** A server may accept the connection and never answer. */
async function inTime(connected: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer within 5 s')), connectMs);
  });
  try {
    await Promise.race([connected, late]);
  } finally {
    clearTimeout(timer);
    connected.catch(() => {});
  }
}

/** The code of the failure only: its message may have the address, with a password in it. */
function unreachable(member: string, error: unknown, remedy: string): CommandError {
  const code: unknown = isError(error) ? Reflect.get(error, 'code') : undefined;
  const reason = typeof code === 'string' ? code : errorName(error);
  const message = `${member} can't be opened (${reason}). ${remedy}`;
  return new CommandError(exitCodes.unreachable, message, error);
}
