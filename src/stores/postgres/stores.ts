/**
 * The stores of `sql/` in PostgreSQL, for any number of processes, by the server's clock: their
 * options and makers, and PostgreSQL as they use it.
 */
import type { z } from 'zod';
import type { CatalogTable } from '../../catalog/catalog-versions.ts';
import {
  type PublishedCatalog,
  type PublishedCatalogOptions,
  publishedCatalog,
} from '../../catalog/published-catalog.ts';
import { publishedCatalogShape } from '../../catalog/published-catalog-options.ts';
import { jsonWithBigints } from '../../json.ts';
import type { AuditLog } from '../../ports/audit-log.ts';
import { isStoreUnavailable } from '../../ports/call-options.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { sqlAuditLog } from '../sql/audit-log.ts';
import { sqlCatalogTable } from '../sql/catalog-table.ts';
import { type SqlClusterStore, sqlClusterStore } from '../sql/cluster-store.ts';
import type { SqlValue } from '../sql/columns.ts';
import type { SqlDialect, SqlEngine, SqlInsert } from '../sql/engine.ts';
import { type SqlIdempotencyStore, sqlIdempotencyStore } from '../sql/idempotency-store.ts';
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
import { codeOf, type PostgresLocation, statements } from './client.ts';
import { locationMembers, locationRemedies } from './location.ts';
import { resultOf } from './quota-replies.ts';

/** Where the table is, and how many bytes are kept. */
export interface PostgresItemStoreOptions extends PostgresLocation, SqlItemStoreOptions {}

/** Where the table is, how many bytes are kept, and for how long. */
export interface PostgresResultStoreOptions extends PostgresLocation, SqlResultStoreOptions {}

/** Where the table is, and how many records may wait to be written. */
export interface PostgresUsageSinkOptions extends PostgresLocation, SqlUsageSinkOptions {}

/**
 * An idempotency store over a migrated database. Each claim deletes a few expired records, so no
 * sweep is needed.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresIdempotencyStore(options: PostgresLocation): SqlIdempotencyStore {
  return sqlIdempotencyStore(engineFor('postgresIdempotencyStore', options));
}

/**
 * A rate limiter over a migrated database that decides like `memoryRateLimiter`. All the takes of a
 * call are one atomic step. A crash of the server may lose the takes of its last second.
 *
 * `take` and `adjust` reject with a RangeError where an amount or a limit is outside its range.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresRateLimiter(options: PostgresLocation): SqlRateLimiter {
  return sqlRateLimiter(engineFor('postgresRateLimiter', options));
}

/**
 * An index over a migrated database. Expired entries are deleted once a minute. A crash of the
 * server may lose those of its last second.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresResponseIndex(options: PostgresLocation): SqlResponseIndex {
  return sqlResponseIndex(engineFor('postgresResponseIndex', options));
}

/**
 * A cluster store over a migrated database.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresClusterStore(options: PostgresLocation): SqlClusterStore {
  return sqlClusterStore(engineFor('postgresClusterStore', options));
}

/**
 * An item store over a migrated database. The least recently used items are forgotten first: those
 * of an owner that exceeds its share, otherwise those of all owners. A crash of the server may lose
 * those of its last second.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresItemStore(options: PostgresItemStoreOptions): SqlItemStore {
  return sqlItemStore(engineFor('postgresItemStore', options, itemStoreMembers), options);
}

/**
 * A result store over a migrated database. The oldest replies are forgotten first: those of an
 * owner that exceeds its share, otherwise those of all owners. A crash of the server may lose those
 * of its last second.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresResultStore(options: PostgresResultStoreOptions): SqlResultStore {
  return sqlResultStore(engineFor('postgresResultStore', options, resultStoreMembers), options);
}

/**
 * A usage sink over a migrated database, with one write in flight. Each call is one row: a batch
 * that is written again counts once, and a later revision replaces an earlier one.
 *
 * When the buffer is full, `record` throws; accepted records are written or reported as lost.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresUsageSink(options: PostgresUsageSinkOptions): SqlUsageSink {
  return sqlUsageSink(engineFor('postgresUsageSink', options, usageSinkMembers), options);
}

/**
 * An audit log over a migrated database. Give it to `createAdmin` as `auditLog`.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresAuditLog(options: PostgresLocation): AuditLog {
  return sqlAuditLog(engineFor('postgresAuditLog', options));
}

/** Checks the options of a maker, whose own members have these schemas. */
function engineFor(
  maker: string,
  options: PostgresLocation,
  members: Readonly<Record<string, z.ZodType>> = {},
): SqlEngine {
  const schema = strict('must be an object', { ...locationMembers, ...members });
  checkMakerOptions(maker, schema, options, locationRemedies);
  return postgresEngine(options);
}

/** Where the table is, and the pepper of the digests. */
export interface PostgresKeyStoreOptions extends PostgresLocation, SqlKeyStoreOptions {}

/** A key table whose methods always return promises. */
export interface PostgresKeyStore extends SqlKeyStore {}

const keyStoreSchema = strict('must be an object', {
  ...locationMembers,
  ...keyStoreMembers,
} satisfies Record<keyof PostgresKeyStoreOptions, z.ZodType>);

/**
 * A key store over a migrated database. It keeps digests, never secrets.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresKeyStore(options: PostgresKeyStoreOptions): PostgresKeyStore {
  checkMakerOptions('postgresKeyStore', keyStoreSchema, options, locationRemedies);
  return sqlKeyStore('postgresKeyStore', postgresEngine(options), options);
}

/** Where the table is, and how the secrets that its models refer to are resolved. */
export interface PostgresCatalogOptions extends PublishedCatalogOptions, PostgresLocation {}

const catalogSchema = strict('must be an object', {
  ...locationMembers,
  ...publishedCatalogShape,
} satisfies Record<keyof PostgresCatalogOptions, z.ZodType>);

// The primary key lets only one process add the version after the one that it has read. The
// sequence must not give out a version that was added by its number.
const catalogStatements = {
  insert: `
INSERT INTO "tollgate".catalogs (version, models, actor, note, changes) OVERRIDING SYSTEM VALUE
SELECT setval(pg_get_serial_sequence('"tollgate".catalogs', 'version'), $2::text::bigint + 1),
  $1::text::json, $3::text, $4::text, $5::text
WHERE NOT EXISTS (SELECT 1 FROM "tollgate".catalogs WHERE version > $2::text::bigint)
ON CONFLICT DO NOTHING`,
  atMs: 'CAST(floor(extract(epoch FROM c.published_at) * 1000) AS bigint)',
};

/**
 * A catalog of the newest published version, or an empty one where nothing was published.
 *
 * @throws ConfigurationError that names the option or the model and how to fix it; StoreUnavailable
 */
export async function postgresCatalog(options: PostgresCatalogOptions): Promise<PublishedCatalog> {
  checkMakerOptions('postgresCatalog', catalogSchema, options, locationRemedies);
  return publishedCatalog('postgresCatalog', postgresCatalogTable(options), options);
}

/** The table of versions in a migrated database. */
export function postgresCatalogTable(location: PostgresLocation): CatalogTable {
  return sqlCatalogTable(postgresEngine(location), catalogStatements);
}

const dialect: SqlDialect = {
  table: (name) => `"tollgate".${name}`,
  claims: { ended: 'ended_ms', forget: 'forget_ms' },
  now: '"tollgate".now_ms()',
  unlocked: 'FOR UPDATE SKIP LOCKED',
  // A new version, because the statement that removes the owner does not see the row yet.
  whileOwned: (owner, write) => `
WITH owned AS (
  UPDATE "tollgate".owners SET version = version + 1 WHERE id = ${owner} RETURNING id
)${write('EXISTS (SELECT 1 FROM owned)')}`,
  json: (value) => `CAST(CAST(${value} AS text) AS json)`,
  utcDay: (ms) => `to_char(to_timestamp(${ms} / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
  utcHour: (ms) =>
    `to_char(to_timestamp(${ms} / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":00Z"')`,
  contains: (text, value) => `position(${value} in ${text}) > 0`,
  member: (object, ...names) =>
    `${object} #>> ARRAY[${names.map((name) => `CAST(${name} AS text)`).join(', ')}]`,
  items: (array) => `json_array_elements(CAST(${array} AS json))`,
};

export function postgresEngine(location: PostgresLocation): SqlEngine {
  const { rows } = statements(location);
  return {
    dialect,
    // A write that hangs must not block all later ones.
    background: { timeoutMs: 10_000 },
    closing: { maxTries: 3, pauseMs: 0 },
    isRefused: (error) => isStoreUnavailable(error) && /^2[23]/.test(codeOf(error.cause)),
    read: (text, values, options) => rows(text, values.map(bound), options),
    insert: async (into, given, options) => {
      await rows(insertOf(into), [jsonWithBigints(given)], options);
    },
    change: async (text, values, options) =>
      (await rows(`${text} RETURNING 1`, values.map(bound), options)).length,
    call: async (name, input, options, bytes) => {
      const [more, values] = bytes === undefined ? ['', []] : [', $2::bytea', [Buffer.from(bytes)]];
      const text = `SELECT "tollgate".${name}($1::text::jsonb${more})::text AS result`;
      return resultOf(await rows(text, [jsonWithBigints(input), ...values], options));
    },
  };
}

/** One parameter for any number of rows. Members that are JSON are passed as text, unparsed. */
function insertOf({ table, columns, conflict, mayBeLost }: SqlInsert): string {
  const names = columns.map(({ name }) => name).join(', ');
  const given = columns.map(({ name, type }) => `${name} ${type === 'json' ? 'text' : type}`);
  // A row that is read for all the others, so that the commit does not wait for the disk.
  const unsynced = ", (SELECT set_config('synchronous_commit', 'off', true)) AS unsynced";
  const read = columns.map(({ name, type }) => (type === 'json' ? `CAST(${name} AS json)` : name));
  return `
INSERT INTO ${dialect.table(table)} AS known (${names})
SELECT ${read.join(', ')} FROM ROWS FROM (
  json_to_recordset($1::text::json) AS (${given.join(', ')})
) WITH ORDINALITY AS given (${names}, position)${mayBeLost ? unsynced : ''}
ORDER BY position
ON CONFLICT ${conflict}`;
}

/** Not every client can send a bigint. */
function bound(value: SqlValue): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
