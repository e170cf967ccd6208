/**
 * The entry point `tollgate/postgres`: all stores in PostgreSQL, and the migrations of their
 * tables.
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
export type { SqlClusterStore as PostgresClusterStore } from '../sql/cluster-store.ts';
export type { SqlIdempotencyStore as PostgresIdempotencyStore } from '../sql/idempotency-store.ts';
export type { SqlItemStore as PostgresItemStore } from '../sql/item-store.ts';
export type { KeyTable } from '../sql/key-row.ts';
export type { SqlRateLimiter as PostgresRateLimiter } from '../sql/rate-limiter.ts';
export type {
  RefusalFilter,
  RefusalGrouping,
  RefusalQueries,
  RefusalReportQuery,
  RefusalReportRow,
} from '../sql/refusal-report.ts';
export type { SqlResponseIndex as PostgresResponseIndex } from '../sql/response-index.ts';
export type { SqlResultStore as PostgresResultStore } from '../sql/result-store.ts';
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
export type { SqlUsageSink as PostgresUsageSink } from '../sql/usage/sink.ts';
export type { PostgresClient, PostgresLocation } from './client.ts';
export { migratePostgres, type PostgresMigration, postgresMigrations } from './migrations.ts';
export {
  type PostgresQuotaStore,
  type PostgresQuotaStoreOptions,
  postgresQuotaStore,
} from './quota-store.ts';
export {
  type PostgresCatalogOptions,
  type PostgresItemStoreOptions,
  type PostgresKeyStore,
  type PostgresKeyStoreOptions,
  type PostgresResultStoreOptions,
  type PostgresUsageSinkOptions,
  postgresAuditLog,
  postgresCatalog,
  postgresClusterStore,
  postgresIdempotencyStore,
  postgresItemStore,
  postgresKeyStore,
  postgresRateLimiter,
  postgresResponseIndex,
  postgresResultStore,
  postgresUsageSink,
} from './stores.ts';
