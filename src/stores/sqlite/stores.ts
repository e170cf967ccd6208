/**
 * The stores of `sql/` in SQLite, for the processes of one machine: their options and makers, and
 * SQLite as they use it.
 */
import type { z } from 'zod';
import type { CatalogTable } from '../../catalog/catalog-versions.ts';
import {
  type PublishedCatalog,
  type PublishedCatalogOptions,
  publishedCatalog,
} from '../../catalog/published-catalog.ts';
import { publishedCatalogShape } from '../../catalog/published-catalog-options.ts';
import { type Clock, systemClock } from '../../clock.ts';
import { isError } from '../../errors.ts';
import type { AuditLog } from '../../ports/audit-log.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import type { IdempotencyStore } from '../../ports/replies/idempotency-store.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { sqlAuditLog } from '../sql/audit-log.ts';
import { sqlCatalogTable } from '../sql/catalog-table.ts';
import { type SqlClusterStore, sqlClusterStore } from '../sql/cluster-store.ts';
import type { SqlValue } from '../sql/columns.ts';
import type { SqlDialect, SqlEngine, SqlFunctions, SqlInsert, SqlTable } from '../sql/engine.ts';
import { sqlIdempotencyStore } from '../sql/idempotency-store.ts';
import { type SqlItemStore, type SqlItemStoreOptions, sqlItemStore } from '../sql/item-store.ts';
import { type SqlKeyStore, type SqlKeyStoreOptions, sqlKeyStore } from '../sql/key-store.ts';
import {
  itemStoreMembers,
  keyStoreMembers,
  resultStoreMembers,
  usageSinkMembers,
} from '../sql/option-members.ts';
import { type SqlRateLimiter, sqlRateLimiter } from '../sql/rate-limiter.ts';
import { type SqlResponseIndex, sqlResponseIndex } from '../sql/response-index.ts';
import {
  type SqlResultStore,
  type SqlResultStoreOptions,
  sqlResultStore,
} from '../sql/result-store.ts';
import { type SqlUsageSink, type SqlUsageSinkOptions, sqlUsageSink } from '../sql/usage/sink.ts';
import { isDatabase, performerOf, type SqliteClient } from './database.ts';
import { isRefused } from './failure.ts';
import type { SqliteValue } from './handle.ts';
import { aHandle, handleAndClock, handleRemedy } from './handle-check.ts';
import type { InputOf, PerformOptions } from './operations.ts';

/** The database, and the clock of the leases. */
export interface SqliteIdempotencyStoreOptions {
  /** Open and migrated. */
  readonly client: SqliteClient;
  /**
   * The clock by which what is kept ends and buckets refill. Default: the machine's clock, which
   * all processes share.
   */
  readonly clock?: Clock;
}

/** The database, and the clock by which buckets refill. */
export interface SqliteRateLimiterOptions extends SqliteIdempotencyStoreOptions {}

/** The database, and the clock that dates reports and switches. */
export interface SqliteClusterStoreOptions extends SqliteIdempotencyStoreOptions {}

/** The database, and the clock by which entries end. */
export interface SqliteResponseIndexOptions extends SqliteIdempotencyStoreOptions {}

/** The database, and how many bytes are kept: better in a file of its own, without backups. */
export interface SqliteItemStoreOptions
  extends SqliteIdempotencyStoreOptions,
    SqlItemStoreOptions {}

/**
 * The database, how many bytes are kept, and for how long: better in a file of its own, because
 * replies are large, and no backup needs them.
 */
export interface SqliteResultStoreOptions
  extends SqliteIdempotencyStoreOptions,
    SqlResultStoreOptions {}

/** The database of the audit trail. */
export interface SqliteAuditLogOptions {
  /** Open and migrated. */
  readonly client: SqliteClient;
}

/** The database, and how many records may wait to be written. */
export interface SqliteUsageSinkOptions extends SqlUsageSinkOptions {
  /** Open and migrated. */
  readonly client: SqliteClient;
}

/**
 * An idempotency store over a migrated database. Records are kept for their full time; each claim
 * deletes up to ten expired ones.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteIdempotencyStore(options: SqliteIdempotencyStoreOptions): IdempotencyStore {
  return sqlIdempotencyStore(engineFor('sqliteIdempotencyStore', options));
}

/**
 * A rate limiter over a migrated database that decides like `memoryRateLimiter`. All the takes of a
 * call are one atomic step. A crash of the machine may lose the latest ones.
 *
 * `take` and `adjust` reject with a RangeError where an amount or a limit is outside its range.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteRateLimiter(options: SqliteRateLimiterOptions): SqlRateLimiter {
  return sqlRateLimiter(engineFor('sqliteRateLimiter', options), options.clock);
}

/**
 * An index over a migrated database. Expired entries are deleted once a minute. A crash of the
 * machine may lose the latest ones.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteResponseIndex(options: SqliteResponseIndexOptions): SqlResponseIndex {
  return sqlResponseIndex(engineFor('sqliteResponseIndex', options), options.clock);
}

/**
 * A cluster store over a migrated database, for the processes of one machine.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteClusterStore(options: SqliteClusterStoreOptions): SqlClusterStore {
  return sqlClusterStore(engineFor('sqliteClusterStore', options));
}

/**
 * An item store over a migrated database. The least recently used items are forgotten first: those
 * of an owner that exceeds its share, otherwise those of all owners. A crash of the machine may
 * lose the latest ones.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteItemStore(options: SqliteItemStoreOptions): SqlItemStore {
  return sqlItemStore(engineFor('sqliteItemStore', options, itemStoreMembers), options);
}

/**
 * A result store over a migrated database. The oldest replies are forgotten first: those of an
 * owner that exceeds its share, otherwise those of all owners. A crash of the machine may lose the
 * latest ones.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteResultStore(options: SqliteResultStoreOptions): SqlResultStore {
  return sqlResultStore(engineFor('sqliteResultStore', options, resultStoreMembers), options);
}

/**
 * A usage sink over a migrated database. Each call is one row, by its request and reservation: a
 * batch that is written again counts once, and a later revision replaces an earlier one.
 *
 * When the buffer is full, `record` throws; accepted records are written or reported as lost.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteUsageSink(options: SqliteUsageSinkOptions): SqlUsageSink {
  const schema = strict('must be an object', { client: aHandle, ...usageSinkMembers });
  checkMakerOptions('sqliteUsageSink', schema, options, handleRemedy);
  const engine = sqliteEngine(options.client, undefined, { mayTakeLong: true });
  const isInWorker = isDatabase(options.client) && options.client.isInFile;
  return { ...sqlUsageSink(engine, options), isInProcess: !isInWorker };
}

/**
 * An audit log over a migrated database. Give it to `createAdmin` as `auditLog`.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteAuditLog(options: SqliteAuditLogOptions): AuditLog {
  const schema = strict('must be an object', { client: aHandle });
  checkMakerOptions('sqliteAuditLog', schema, options, handleRemedy);
  return sqlAuditLog(sqliteEngine(options.client));
}

/** Checks the options of a maker, whose own members have these schemas. */
function engineFor(
  maker: string,
  options: SqliteIdempotencyStoreOptions,
  members: Readonly<Record<string, z.ZodType>> = {},
): SqlEngine {
  const schema = strict('must be an object', { ...handleAndClock, ...members });
  checkMakerOptions(maker, schema, options, handleRemedy);
  return sqliteEngine(options.client, options.clock);
}

/** The database, and the pepper of the digests. */
export interface SqliteKeyStoreOptions extends SqlKeyStoreOptions {
  /** Open and migrated. */
  readonly client: SqliteClient;
}

/** A key table whose methods always return promises. */
export interface SqliteKeyStore extends SqlKeyStore {}

const keyStoreSchema = strict('must be an object', {
  client: aHandle,
  ...keyStoreMembers,
} satisfies Record<keyof SqliteKeyStoreOptions, z.ZodType>);

/**
 * A key store over a migrated database. It keeps digests, never secrets.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteKeyStore(options: SqliteKeyStoreOptions): SqliteKeyStore {
  checkMakerOptions('sqliteKeyStore', keyStoreSchema, options, handleRemedy);
  return sqlKeyStore('sqliteKeyStore', sqliteEngine(options.client), options);
}

/** The database, and how the secrets that its models refer to are resolved. */
export interface SqliteCatalogOptions extends PublishedCatalogOptions {
  /** Open and migrated. */
  readonly client: SqliteClient;
}

const catalogSchema = strict('must be an object', { client: aHandle, ...publishedCatalogShape });

const statements = {
  insert: `
INSERT INTO tollgate_catalog (version, models, published_at_ms, actor, note, changes)
SELECT $2 + 1, $1, $now, $3, $4, $5
WHERE NOT EXISTS (SELECT 1 FROM tollgate_catalog WHERE version > $2)`,
  atMs: 'c.published_at_ms',
};

/**
 * A catalog of the newest published version, or an empty one where nothing was published.
 *
 * @throws ConfigurationError that names the option or the model and how to fix it; StoreUnavailable
 */
export async function sqliteCatalog(options: SqliteCatalogOptions): Promise<PublishedCatalog> {
  checkMakerOptions('sqliteCatalog', catalogSchema, options, handleRemedy);
  const { client, clock = systemClock() } = options;
  return publishedCatalog('sqliteCatalog', sqliteCatalogTable(client, clock), options);
}

export function sqliteCatalogTable(client: SqliteClient, clock: Clock): CatalogTable {
  return sqlCatalogTable(sqliteEngine(client, clock), statements);
}

const tables: Readonly<Record<SqlTable, string>> = {
  keys: 'tollgate_key',
  owners: 'tollgate_owner',
  claims: 'tollgate_claim',
  catalogs: 'tollgate_catalog',
  audit: 'tollgate_audit',
  usage: 'tollgate_usage',
  refusals: 'tollgate_refusal',
  kept: 'tollgate_kept',
  responses: 'tollgate_response',
  replicas: 'tollgate_replica',
  switches: 'tollgate_switch',
};

/** The dialect, exported so that a test can check the query plans of the statements. */
export const sqliteDialect: SqlDialect = {
  table: (name) => tables[name],
  claims: { ended: 'ended_at_ms', forget: 'forget_at_ms' },
  now: '$now',
  // There is one writer.
  unlocked: '',
  whileOwned: (owner, write) =>
    write(`EXISTS (SELECT 1 FROM ${tables.owners} WHERE id = ${owner})`),
  json: (value) => value,
  utcDay: (ms) => `date(${ms} / 1000, 'unixepoch')`,
  utcHour: (ms) => `strftime('%Y-%m-%dT%H:00Z', ${ms} / 1000, 'unixepoch')`,
  contains: (text, value) => `instr(${text}, ${value}) > 0`,
  // Not ->>, which reads some names as paths.
  member: (object, ...names) =>
    names.reduce(
      (holder, name) => `(SELECT value FROM json_each(${holder}) WHERE key = ${name})`,
      object,
    ),
  items: (array) => `json_each(${array})`,
};

/**
 * An engine over migrated tables.
 *
 * @param clock of the leases
 * @param readsLong whether its queries are reports
 */
export function sqliteEngine(
  client: SqliteClient,
  clock: Clock = systemClock(),
  readsLong: Pick<PerformOptions, 'mayTakeLong'> = {},
): SqlEngine {
  const { perform } = performerOf(client);
  const at = (options?: CallOptions) => ({ ...options, nowMs: clock.now() });
  const prepared = new Map<string, Prepared>();
  const bound = (text: string, values: readonly SqlValue[]) => {
    let statement = prepared.get(text);
    if (statement === undefined) {
      statement = prepare(text);
      prepared.set(text, statement);
    }
    const { sql } = statement;
    const nowMs = clock.now();
    const inOrder = statement.values.map((value) =>
      value === 'now' ? BigInt(nowMs) : bindable(values[value]),
    );
    return { sql, values: inOrder };
  };
  return {
    dialect: sqliteDialect,
    background: {},
    // The holder of the lock may be in this process.
    closing: { maxTries: Number.POSITIVE_INFINITY, pauseMs: 100 },
    isRefused: (error) => isError(error) && isRefused(error.cause),
    read: async (text, values, options) =>
      perform('query', bound(text, values), { ...at(options), ...readsLong }),
    insert: async (into, given, options) => {
      if (given.length === 0) return;
      const rows = given.map((row) => into.columns.map(({ name }) => bindable(row[name])));
      const mayBeLost = into.mayBeLost === true;
      await perform('insert', { sql: insertOf(into), rows, mayBeLost }, at(options));
    },
    change: async (text, values, options) =>
      perform('change', bound(`${text} RETURNING 1`, values), at(options)),
    call: async <Name extends keyof SqlFunctions>(
      name: Name,
      input: InputOf<Name>,
      options?: CallOptions,
      bytes?: Uint8Array,
    ) => perform(name, input, { ...at(options), bytes }),
  };
}

function insertOf({ table, columns, conflict }: SqlInsert): string {
  const names = columns.map(({ name }) => name).join(', ');
  const values = columns.map(() => '?').join(', ');
  return `
INSERT INTO ${tables[table]} AS known (${names}) VALUES (${values}) ON CONFLICT ${conflict}`;
}

/** A statement with `?` in place of `$1`, because drivers differ in their named values. */
interface Prepared {
  readonly sql: string;
  /** Which value each `?` has. */
  readonly values: readonly (number | 'now')[];
}

/** Translates the placeholders of a statement. */
export function prepare(text: string): Prepared {
  const values: (number | 'now')[] = [];
  const sql = text.replaceAll(/\$(now\b|\d+)/g, (_, name: string) => {
    values.push(name === 'now' ? name : Number(name) - 1);
    return '?';
  });
  return { sql, values };
}

/** SQLite has no booleans. */
function bindable(value: SqlValue | undefined): SqliteValue {
  if (typeof value !== 'boolean') return value ?? null;
  return value ? 1n : 0n;
}
