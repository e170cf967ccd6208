/** Opens the databases that a configuration names, with the drivers that are installed. */
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { dirname, join, parse, resolve } from 'node:path';
import { systemClock } from '../../clock.ts';
import { errorClass, isError } from '../../errors.ts';
import { within } from '../../ports/within.ts';
import type { PostgresClient } from '../../stores/postgres/client.ts';
import { isRedisBytesClient, type RedisBytesClient } from '../../stores/redis/binary-client.ts';
import { isRedisClient, type RedisClient } from '../../stores/redis/client.ts';
import type { SqliteClient } from '../../stores/sqlite/database.ts';
import type { SqliteHandle } from '../../stores/sqlite/handle.ts';
import { openIn } from '../../stores/sqlite/thread/open.ts';
import { CommandError, exitCodes } from '../command.ts';
import type { PostgresConfig, RedisConfig, SqliteConfig, StoresConfig } from '../config/config.ts';
import { construct, exported, hasMethods, loadPackage, property } from './packages.ts';

export interface OpenPostgres {
  readonly client: PostgresClient;
  readonly schema: string;
}

export interface OpenRedis {
  readonly client: RedisClient & RedisBytesClient;
  readonly prefix: string;
  readonly send: (...words: readonly string[]) => Promise<unknown>;
  /** Why there is no connection; undefined while there is one. */
  readonly lostBy: () => unknown;
}

export type DatabaseName = 'sqlite' | 'postgres' | 'redis';

export interface Databases {
  readonly sqlite: SqliteClient | undefined;
  /** Replies and items, in a file beside the first one that no backup needs. */
  readonly kept: SqliteClient | undefined;
  readonly postgres: OpenPostgres | undefined;
  readonly redis: OpenRedis | undefined;
  close(): Promise<void>;
}

const connectMs = 5_000;
/** How long PostgreSQL may take to answer running queries when the process ends. */
const closeMs = 2_000;

export interface TriedDatabases {
  readonly databases: Databases;
  readonly failures: ReadonlyMap<DatabaseName, unknown>;
}

/**
 * Opens databases of the configuration.
 *
 * @param folder of the configuration file; relative paths are resolved against it
 * @param wanted the databases to open; default: all that are configured
 * @param inThreads SQLite runs in worker threads, which a command that soon ends does not need
 * @throws CommandError that names the member of the configuration and says what to do
 */
export async function openDatabases(
  stores: StoresConfig,
  folder: string,
  wanted?: ReadonlySet<DatabaseName>,
  inThreads = false,
): Promise<Databases> {
  const { databases, failures } = await tryDatabases(stores, folder, wanted, inThreads);
  if (failures.size === 0) return databases;
  await databases.close();
  const [first] = failures.values();
  throw first;
}

/** The same, but a database that can't be opened is reported in `failures` instead of thrown. */
export async function tryDatabases(
  stores: StoresConfig,
  folder: string,
  wanted?: ReadonlySet<DatabaseName>,
  inThreads = false,
): Promise<TriedDatabases> {
  const closers: (() => unknown)[] = [];
  const failures = new Map<DatabaseName, unknown>();
  const tried = async <Config, Open>(
    name: DatabaseName,
    config: Config | undefined,
    open: (config: Config, folder: string, closers: (() => unknown)[]) => Promise<Open>,
  ): Promise<Open | undefined> => {
    if (config === undefined || wanted?.has(name) === false) return undefined;
    try {
      return await open(config, folder, closers);
    } catch (error) {
      failures.set(name, error);
      return undefined;
    }
  };
  const [files, postgres, redis] = await Promise.all([
    tried('sqlite', stores.sqlite, inThreads ? openThreads : openHandles),
    tried('postgres', stores.postgres, openPostgres),
    tried('redis', stores.redis, openRedis),
  ]);
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).reverse()) await end();
  };
  const { sqlite, kept } = files ?? { sqlite: undefined, kept: undefined };
  return { databases: { sqlite, kept, postgres, redis, close }, failures };
}

const sqliteDrivers = ['libsql', 'better-sqlite3', 'node:sqlite'] as const;

interface Files {
  readonly sqlite: SqliteClient;
  readonly kept: SqliteClient;
}

async function openHandles(
  { path, driver }: SqliteConfig,
  folder: string,
  closers: (() => unknown)[],
): Promise<Files> {
  const { name, content } = await driverFor(driver, folder);
  const database =
    name === 'node:sqlite' ? exported(content, 'DatabaseSync') : property(content, 'default');
  return await openFiles(resolve(folder, path), async (file) => {
    const handle = construct(database, file);
    if (!isClosableHandle(handle)) throw new Error(`${name} is not a supported driver`);
    closers.push(() => handle.close());
    // Drivers read the file at the first statement only; this finds a file that is no database.
    handle.exec('PRAGMA schema_version');
    return handle;
  });
}

async function openThreads(
  { path, driver }: SqliteConfig,
  folder: string,
  closers: (() => unknown)[],
): Promise<Files> {
  const { name } = await driverFor(driver, folder);
  return await openFiles(resolve(folder, path), async (file) => {
    const database = await openIn({ folder }, file, { driver: name });
    closers.push(() => database.close());
    return database;
  });
}

function driverFor(driver: SqliteConfig['driver'], folder: string) {
  return loadPackage(driver === undefined ? sqliteDrivers : [driver], 'stores.sqlite', folder);
}

async function openFiles(
  file: string,
  open: (file: string) => Promise<SqliteClient>,
): Promise<Files> {
  const opened = async (path: string): Promise<SqliteClient> => {
    // It holds keys and usage. Its journal gets the same mode from SQLite.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
    return await open(path);
  };
  try {
    makeFolder(dirname(file));
    const sqlite = await opened(file);
    const { dir, name, ext } = parse(file);
    return { sqlite, kept: await opened(join(dir, `${name}-kept${ext}`)) };
  } catch (error) {
    const remedy = 'It must be a database, or a new file in a folder that can be written.';
    throw unreachable('stores.sqlite.path', error, remedy);
  }
}

/**
 * Without `recursive`, with which Node 20 loops forever for a folder that can't be made (/proc/x).
 */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

function isClosableHandle(value: unknown): value is SqliteHandle & { close(): unknown } {
  return hasMethods(value, 'exec', 'prepare', 'close');
}

async function openPostgres(
  { url, schema, maxConnections }: PostgresConfig,
  folder: string,
  closers: (() => unknown)[],
): Promise<OpenPostgres> {
  const { content } = await loadPackage(['pg'], 'stores.postgres', folder);
  const sockets = new Set<Socket>();
  const pool = construct(exported(content, 'Pool'), {
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: connectMs,
    application_name: 'tollgate',
    stream: () => trackedSocket(sockets),
  });
  if (!isPool(pool)) throw new Error('The installed pg has no Pool.');
  // An idle connection that breaks must not end the process; the next call opens another.
  pool.on('error', () => {});
  closers.push(() => endPool(pool, sockets));
  try {
    await pool.query('SELECT 1');
  } catch (error) {
    throw unreachable('stores.postgres.url', error, 'The server must run, and accept the user.');
  }
  return { client: pool, schema };
}

function trackedSocket(sockets: Set<Socket>): Socket {
  const socket = new Socket();
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
  return socket;
}

/**
 * The pool waits for each query; one that the server never answers would keep the process alive.
 */
async function endPool(pool: Pool, sockets: ReadonlySet<Socket>): Promise<void> {
  await within(pool.end(), closeMs, systemClock()).catch(() => {});
  for (const socket of sockets) socket.destroy();
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
  { url, client: wanted, prefix }: RedisConfig,
  folder: string,
  closers: (() => unknown)[],
): Promise<OpenRedis> {
  const names = wanted === undefined ? redisClients : [wanted];
  const { name, content } = await loadPackage(names, 'stores.redis', folder);
  let isConnected = false;
  const client =
    name === 'redis' ? nodeRedis(content, url, () => isConnected) : ioRedis(content, url);
  if (!isClient(client)) throw new Error(`The installed ${name} is too old: update it.`);
  // Both clients reject with errors that do not say why, or queue the command; the event does.
  let lastError: unknown;
  client.on('error', (error) => {
    lastError = error;
  });
  client.on('ready', () => {
    lastError = undefined;
  });
  const end = (): void => void (name === 'redis' ? client.destroy?.() : client.disconnect?.());
  closers.push(end);
  try {
    // A server may accept a connection and never answer.
    await within(client.connect(), connectMs, systemClock());
    isConnected = true;
  } catch (error) {
    throw unreachable(
      'stores.redis.url',
      lastError ?? error,
      'The server must run, and accept the user.',
    );
  }
  const send = (...words: readonly string[]): Promise<unknown> =>
    client.sendCommand !== undefined && name === 'redis'
      ? client.sendCommand([...words])
      : (client.call?.(...words) ?? Promise.reject(new Error('no such command')));
  return { client, prefix, send, lostBy: () => lastError };
}

function nodeRedis(content: unknown, url: string, hasConnected: () => boolean): unknown {
  const create = exported(content, 'createClient');
  const path = socketOf(url);
  // The first connection is tried only once, so that a wrong address is reported at once.
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

/** A client of either package; the optional methods exist in one of them. */
type ClosableClient = RedisClient &
  RedisBytesClient & {
    on(event: 'error' | 'ready', listener: (error: unknown) => void): unknown;
    connect(): Promise<unknown>;
    destroy?(): unknown;
    disconnect?(): unknown;
    sendCommand?(words: string[]): Promise<unknown>;
    call?(...words: readonly string[]): Promise<unknown>;
  };

function isClient(value: unknown): value is ClosableClient {
  return hasMethods(value, 'on', 'connect') && isRedisClient(value) && isRedisBytesClient(value);
}

/** Shows only the code of the failure: its message may contain the URL with the password. */
function unreachable(member: string, error: unknown, remedy: string): CommandError {
  const message = `${member} can't be opened (${codeOf(error) ?? errorClass(error)}). ${remedy}`;
  return new CommandError(exitCodes.unreachable, message, error);
}

/** The code of an error, else of its cause: drivers wrap the errors of sockets. */
function codeOf(error: unknown): string | undefined {
  if (!isError(error)) return undefined;
  const code: unknown = Reflect.get(error, 'code');
  if (typeof code === 'string' && code !== '') return code;
  const errors: unknown = Reflect.get(error, 'errors');
  return codeOf(error.cause ?? (Array.isArray(errors) ? errors[0] : undefined));
}
