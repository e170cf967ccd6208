/**
 * The stores of `sql/` in PostgreSQL, for any number of processes, by the server's clock: their
 * options and makers.
 */
import type { z } from 'zod';
import type { AuditLog } from '../../ports/audit-log.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { sqlAuditLog } from '../sql/audit-log.ts';
import { type SqlClusterStore, sqlClusterStore } from '../sql/cluster-store.ts';
import type { SqlEngine } from '../sql/engine.ts';
import { type SqlIdempotencyStore, sqlIdempotencyStore } from '../sql/idempotency-store.ts';
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
import type { PostgresLocation } from './client.ts';
import { postgresEngine } from './engine.ts';
import { locationMembers, locationRemedies } from './location.ts';

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
