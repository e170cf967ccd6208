/**
 * The entry point `tollgate/postgres`: all stores in PostgreSQL, and the migrations of their
 * tables.
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
export { type PostgresCatalogOptions, postgresCatalog } from './catalog.ts';
export type { PostgresClient, PostgresLocation } from './client.ts';
export { type PostgresIdempotencyStore, postgresIdempotencyStore } from './idempotency-store.ts';
export {
  type PostgresItemStore,
  type PostgresItemStoreOptions,
  postgresItemStore,
} from './item-store.ts';
export {
  type PostgresKeyStore,
  type PostgresKeyStoreOptions,
  postgresKeyStore,
} from './key-store.ts';
export { migratePostgres, type PostgresMigration, postgresMigrations } from './migrations.ts';
export {
  type PostgresQuotaStore,
  type PostgresQuotaStoreOptions,
  postgresQuotaStore,
} from './quota-store.ts';
export { type PostgresRateLimiter, postgresRateLimiter } from './rate-limiter.ts';
export { type PostgresResponseIndex, postgresResponseIndex } from './response-index.ts';
export {
  type PostgresResultStore,
  type PostgresResultStoreOptions,
  postgresResultStore,
} from './result-store.ts';
export {
  type PostgresUsageSink,
  type PostgresUsageSinkOptions,
  postgresUsageSink,
} from './usage-sink.ts';
