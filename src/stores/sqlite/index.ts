/**
 * The entry point `tollgate/sqlite`: all stores over a database that the host opens with libsql,
 * better-sqlite3 or `node:sqlite`, and the migrations of their tables.
 */

export type { CatalogDifference } from '../../catalog/catalog-diff.ts';
export type {
  CatalogVersion,
  CatalogVersions,
  ChannelChange,
  PublishOptions,
  StoredCatalog,
} from '../../catalog/catalog-versions.ts';
export type {
  PublishedCatalog,
  PublishedCatalogOptions,
} from '../../catalog/published-catalog.ts';
export type {
  CredentialReference,
  PublishedChannel,
  PublishedModel,
} from '../../catalog/published-models.ts';
export type {
  AuditLog,
  AuditPage,
  AuditQuery,
  AuditRecord,
} from '../../ports/audit-log.ts';
export type { SqlClusterStore as SqliteClusterStore } from '../sql/cluster-store.ts';
export type { SqlItemStore as SqliteItemStore } from '../sql/item-store.ts';
export type { KeyTable } from '../sql/key-row.ts';
export type { SqlRateLimiter as SqliteRateLimiter } from '../sql/rate-limiter.ts';
export type {
  RefusalFilter,
  RefusalGrouping,
  RefusalQueries,
  RefusalReportQuery,
  RefusalReportRow,
} from '../sql/refusal-report.ts';
export type { SqlResponseIndex as SqliteResponseIndex } from '../sql/response-index.ts';
export type { SqlResultStore as SqliteResultStore } from '../sql/result-store.ts';
export type { UsageLatencyRow } from '../sql/usage/first-bytes.ts';
export type {
  ColumnGrouping,
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
} from '../sql/usage/report.ts';
export type { SqlUsageSink as SqliteUsageSink } from '../sql/usage/sink.ts';
export { migrateSqlite, type SqliteClient, type SqliteDatabase } from './database.ts';
export type { SqliteHandle, SqliteStatement, SqliteValue } from './handle.ts';
export { sqliteMigrations } from './migrations.ts';
export { type SqliteQuotaStoreOptions, sqliteQuotaStore } from './quota-store.ts';
export {
  type SqliteAuditLogOptions,
  type SqliteCatalogOptions,
  type SqliteClusterStoreOptions,
  type SqliteIdempotencyStoreOptions,
  type SqliteItemStoreOptions,
  type SqliteKeyStore,
  type SqliteKeyStoreOptions,
  type SqliteRateLimiterOptions,
  type SqliteResponseIndexOptions,
  type SqliteResultStoreOptions,
  type SqliteUsageSinkOptions,
  sqliteAuditLog,
  sqliteCatalog,
  sqliteClusterStore,
  sqliteIdempotencyStore,
  sqliteItemStore,
  sqliteKeyStore,
  sqliteRateLimiter,
  sqliteResponseIndex,
  sqliteResultStore,
  sqliteUsageSink,
} from './stores.ts';
export { type OpenSqliteOptions, openSqlite, type SqliteDriver } from './thread/open.ts';
