/**
 * The entry point `tollgate/sqlite`: all stores over a database that the host opens with libsql,
 * better-sqlite3 or `node:sqlite`, and the migrations of their tables.
 */

export type {
  CredentialReference,
  PublishedCatalog,
  PublishedCatalogOptions,
  PublishedChannel,
  PublishedModel,
} from '../../catalog/published-catalog.ts';
export type { KeyTable } from '../sql/key-row.ts';
export type {
  RefusalFilter,
  RefusalGrouping,
  RefusalQueries,
  RefusalReportQuery,
  RefusalReportRow,
} from '../sql/refusal-report.ts';
export type {
  UsageCharges,
  UsageChargesFilter,
  UsageDeletionBatch,
  UsageFilter,
  UsageGrouping,
  UsagePage,
  UsageQueries,
  UsageRecordFilter,
  UsageRecordPage,
  UsageReportQuery,
  UsageReportRow,
  UsageRetention,
} from '../sql/usage-report.ts';
export { type SqliteCatalogOptions, sqliteCatalog } from './catalog.ts';
export { migrateSqlite, type SqliteClient, type SqliteDatabase } from './database.ts';
export type { SqliteHandle, SqliteStatement, SqliteValue } from './handle.ts';
export { type SqliteIdempotencyStoreOptions, sqliteIdempotencyStore } from './idempotency-store.ts';
export {
  type SqliteItemStore,
  type SqliteItemStoreOptions,
  sqliteItemStore,
} from './item-store.ts';
export { type SqliteKeyStore, type SqliteKeyStoreOptions, sqliteKeyStore } from './key-store.ts';
export { type SqliteQuotaStoreOptions, sqliteQuotaStore } from './quota-store.ts';
export {
  type SqliteRateLimiter,
  type SqliteRateLimiterOptions,
  sqliteRateLimiter,
} from './rate-limiter.ts';
export {
  type SqliteResponseIndex,
  type SqliteResponseIndexOptions,
  sqliteResponseIndex,
} from './response-index.ts';
export {
  type SqliteResultStore,
  type SqliteResultStoreOptions,
  sqliteResultStore,
} from './result-store.ts';
export { sqliteMigrations } from './schema.ts';
export { type OpenSqliteOptions, openSqlite, type SqliteDriver } from './thread/open.ts';
export {
  type SqliteUsageSink,
  type SqliteUsageSinkOptions,
  sqliteUsageSink,
} from './usage-sink.ts';
