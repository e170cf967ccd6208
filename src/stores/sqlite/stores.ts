/** The stores of `sql/` in SQLite, for the processes of one machine: their options and makers. */
import type { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { AuditLog } from '../../ports/audit-log.ts';
import type { IdempotencyStore } from '../../ports/replies/idempotency-store.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { sqlAuditLog } from '../sql/audit-log.ts';
import { type SqlClusterStore, sqlClusterStore } from '../sql/cluster-store.ts';
import type { SqlEngine } from '../sql/engine.ts';
import { sqlIdempotencyStore } from '../sql/idempotency-store.ts';
import { type SqlItemStore, type SqlItemStoreOptions, sqlItemStore } from '../sql/item-store.ts';
import { itemStoreMembers, resultStoreMembers, usageSinkMembers } from '../sql/option-members.ts';
import { type SqlRateLimiter, sqlRateLimiter } from '../sql/rate-limiter.ts';
import { type SqlResponseIndex, sqlResponseIndex } from '../sql/response-index.ts';
import {
  type SqlResultStore,
  type SqlResultStoreOptions,
  sqlResultStore,
} from '../sql/result-store.ts';
import { type SqlUsageSink, type SqlUsageSinkOptions, sqlUsageSink } from '../sql/usage/sink.ts';
import { isDatabase, type SqliteClient } from './database.ts';
import { sqliteEngine } from './engine.ts';
import { aHandle, handleAndClock, handleRemedy } from './handle-check.ts';

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
