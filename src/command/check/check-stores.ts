/**
 * Checks the databases: their tables and settings, and whether their clocks agree with this
 * machine's.
 */
import type { Clock } from '../../clock.ts';
import { errorClass } from '../../errors.ts';
import { thrownCode } from '../../events/thrown.ts';
import type { CallOptions, MaybePromise } from '../../ports/call-options.ts';
import type { QuotaStore } from '../../ports/limits/quota-store.ts';
import { postgresQuotaStore } from '../../stores/postgres/quota-store.ts';
import { redisQuotaStore } from '../../stores/redis/quota-store.ts';
import type { SqliteHandle } from '../../stores/sqlite/handle.ts';
import { sqliteQuotaStore } from '../../stores/sqlite/quota-store.ts';
import type { RedisConfig, ServeConfig } from '../config/config.ts';
import { type StoreChoice, storeChoice } from '../config/store-choice.ts';
import { type Finding, reasonOf, withCommand } from '../output.ts';
import type { DatabaseName, Databases, OpenRedis, TriedDatabases } from '../stores/databases.ts';
import { property } from '../stores/packages.ts';

const deadline: CallOptions = { timeoutMs: 5_000 };

/** How much clocks may differ. Periods and the expiry of keys go by the clock of the process. */
const maxSkewMs = 1_000;

export async function checkStores(
  { stores = {} }: ServeConfig,
  { databases, failures }: TriedDatabases,
  clock: Clock,
): Promise<readonly Finding[]> {
  const { sqlite, postgres, redis } = databases;
  const found: Finding[] = databaseNames.flatMap((name) => unopened(name, failures.get(name)));
  if (sqlite !== undefined) {
    const tested = await selfTest('stores.sqlite', () => sqliteQuotaStore({ client: sqlite }));
    found.push(...tested, ...('exec' in sqlite ? lockOf(sqlite) : []));
  }
  if (postgres !== undefined) {
    found.push(...(await selfTest('stores.postgres', () => postgresQuotaStore(postgres))));
    found.push(...(await clockOf('stores.postgres', clock, () => postgresNow(postgres))));
  }
  if (redis !== undefined) found.push(...(await checkRedis(redis, stores.redis, clock)));
  return [...found, ...memoryWarnings(storeChoice(stores))];
}

const databaseNames: readonly DatabaseName[] = ['sqlite', 'postgres', 'redis'];

function unopened(name: DatabaseName, error: unknown): readonly Finding[] {
  if (error === undefined) return [];
  const subject = `stores.${name}`;
  const skipped = 'tables, settings and clock: it could not be opened';
  return [
    { state: 'failed', subject, detail: reasonOf(error) },
    { state: 'skipped', subject, detail: skipped },
  ];
}

/** A file that another process keeps locked can be read, and so passes the test. */
function lockOf(sqlite: SqliteHandle): readonly Finding[] {
  try {
    // A gateway that runs on the file locks it for milliseconds.
    sqlite.exec('PRAGMA busy_timeout = 500; BEGIN IMMEDIATE; ROLLBACK');
    return [];
  } catch (error) {
    const why = thrownCode(error) ?? errorClass(error);
    const detail = `can't be written (${why}): another process may have it locked`;
    return [{ state: 'failed', subject: 'stores.sqlite', detail }];
  }
}

async function checkRedis(
  redis: OpenRedis,
  config: RedisConfig | undefined,
  clock: Clock,
): Promise<readonly Finding[]> {
  const { client, prefix } = redis;
  const chosen = config?.durability === undefined ? {} : { durability: config.durability };
  const store = (): QuotaStore => redisQuotaStore({ client, prefix, ...chosen });
  return [
    ...(await selfTest('stores.redis', store)),
    ...(await persistence(redis)),
    ...(await clockOf('stores.redis', clock, () => redisNow(redis))),
  ];
}

async function selfTest(subject: string, store: () => QuotaStore): Promise<readonly Finding[]> {
  try {
    const result = await store().check(deadline);
    if (result.ok) return [{ state: 'ok', subject, detail: 'reachable, tables and settings fit' }];
    return result.problems.map((detail) => ({
      state: 'failed',
      subject,
      detail: withCommand(detail),
    }));
  } catch (error) {
    return [failure(subject, error)];
  }
}

/** Without an append-only file a restart of Redis loses what came after its last snapshot. */
async function persistence({ send }: OpenRedis): Promise<readonly Finding[]> {
  const subject = 'stores.redis';
  try {
    const info = String(await send('INFO', 'persistence'));
    if (/^aof_enabled:1/m.test(info)) return [{ state: 'ok', subject, detail: 'appendonly is on' }];
    const detail = 'appendonly is off, so a restart loses charges: set appendonly yes';
    return [{ state: 'warning', subject, detail }];
  } catch (error) {
    return [{ state: 'warning', subject, detail: `INFO is refused (${reasonOf(error)})` }];
  }
}

async function clockOf(
  subject: string,
  clock: Clock,
  theirs: () => MaybePromise<number>,
): Promise<readonly Finding[]> {
  try {
    const sentMs = clock.now();
    const theirMs = await theirs();
    const receivedMs = clock.now();
    // The server read its clock between the two.
    const skewMs = Math.max(sentMs - theirMs, theirMs - receivedMs, 0);
    const isFit = skewMs <= maxSkewMs;
    const detail = isFit
      ? 'its clock agrees with this machine'
      : `its clock differs from this machine's by ${Math.round(skewMs)} ms: use NTP`;
    return [{ state: isFit ? 'ok' : 'warning', subject, detail }];
  } catch (error) {
    return [failure(subject, error)];
  }
}

async function postgresNow({ client }: NonNullable<Databases['postgres']>): Promise<number> {
  const sql = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms';
  const { rows } = await client.query(sql);
  return Number(property(rows[0], 'now_ms'));
}

async function redisNow({ send }: OpenRedis): Promise<number> {
  const reply = await send('TIME');
  const [seconds, microseconds] = Array.isArray(reply) ? reply : [];
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}

/** Stores in the memory of the process are lost when it ends, and not shared. */
function memoryWarnings(choice: StoreChoice): readonly Finding[] {
  const kept = (['keys', 'quota', 'usage'] as const).filter((name) => choice[name] === 'memory');
  if (kept.length === 0) return [];
  const names = kept.map((name) => `stores.${name}`).join(', ');
  const detail = 'memory: lost when the process ends, and not shared with other processes';
  return [{ state: 'warning', subject: names, detail }];
}

function failure(subject: string, error: unknown): Finding {
  return { state: 'failed', subject, detail: `can't be used (${reasonOf(error)})` };
}
