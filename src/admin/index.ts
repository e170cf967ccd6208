/** The entry point `tollgate/admin`: the admin library, and its interface over HTTP. */

export type { CatalogDifference } from '../catalog/catalog-diff.ts';
export type {
  CatalogVersion,
  CatalogVersions,
  PublishOptions,
  StoredCatalog,
} from '../catalog/catalog-versions.ts';
export { failureMeanings } from '../failure-meanings.ts';
export type { FailureMeaning } from '../host/failures.ts';
export type { AuditLog, AuditPage, AuditQuery, AuditRecord } from '../ports/audit-log.ts';
export type { PriceJson } from '../prices/price-json.ts';
export { type MemoryAuditLog, memoryAuditLog } from '../stores/memory/audit-log.ts';
export {
  type Admin,
  type AdminCapabilities,
  type AdminOptions,
  createAdmin,
} from './admin.ts';
export {
  AdminError,
  type AdminErrorCode,
  type AdminProblem,
  adminStatusOf,
  isAdminError,
} from './admin-error.ts';
export type {
  AdminAction,
  Audit,
  AuditChange,
  AuditEntry,
  AuditListener,
  AuditTrailPage,
  AuditTrailQuery,
} from './audit/audit.ts';
export type {
  AdminCalls,
  CallListQuery,
  CallPage,
  CallsOfRequest,
  Resolution,
  Resolved,
} from './calls/calls.ts';
export type { RefusalCount } from './calls/refusal-counts.ts';
export type {
  AdminRefusals,
  RefusalListQuery,
  RefusalReason,
  RefusalReasonsQuery,
  RefusalReportPage,
} from './calls/refusals.ts';
export type {
  AttemptDetail,
  CallDetail,
  CallSummary,
  RefusalSummary,
  SeenRefusal,
} from './calls/summary.ts';
export type {
  AdminCatalogs,
  CatalogCheck,
  PricePreview,
  VersionDiff,
  VersionRange,
} from './catalog/catalog.ts';
export type { CatalogChannel, CatalogModel, ModelLimit } from './catalog/models.ts';
export type { AccountModel, AccountPage, AccountQuery, AccountRow } from './channels/accounts.ts';
export type {
  AdminChannels,
  ChannelChanged,
  ChannelSwitched,
} from './channels/channels.ts';
export type { ChannelRow, ModelChannels, ReplicaState } from './channels/list.ts';
export type { ChannelTested, TestOptions } from './channels/tests.ts';
export type {
  AdminCatalog,
  AdminKeyCache,
  AdminKeyStore,
  AdminOwnedStore,
  AdminOwnerTable,
  Page,
} from './deps.ts';
export { type AdminHandler, type AdminHandlerOptions, adminHandler } from './http/handler.ts';
export { adminOpenApi, type OpenApiDocument } from './http/openapi.ts';
export type { AdminAccess, AdminSession, Authorize } from './http/request.ts';
export type { TopUp } from './keys/balance-changes.ts';
export type { BatchRow, IssuedBatch } from './keys/batch.ts';
export type {
  AdminKeys,
  KeyEdit,
  LimitChange,
  RotatedKey,
  RotateOptions,
  ToppedUpKey,
} from './keys/keys.ts';
export type { KeyListQuery, KeySort } from './keys/list.ts';
export type {
  AdminOwners,
  NewOwner,
  OwnerDetail,
  OwnerEdit,
  OwnerListQuery,
  OwnerSummary,
  ToppedUpOwner,
} from './keys/owners.ts';
export type { KeyBalance, KeySummary, OwnerOfKey, SubjectBalance } from './keys/summary.ts';
export type { NamesOf, NamesQuery, ReadNames } from './names.ts';
export type { NowBucket } from './now/live.ts';
export type { ChannelFailure, RecentAttempts } from './now/live-channels.ts';
export type { Earlier, Now, NowRange, ReadNow, Today } from './now/now.ts';
export type { Attention, Clause } from './now/sentence.ts';
export type { WithKnownCost } from './usage/rows.ts';
export type {
  UsageLatency,
  UsageMeasure,
  UsageSeries,
  UsageSeriesQuery,
  UsageSeriesRow,
  UsageStep,
  UsageTimesQuery,
} from './usage/series.ts';
export type {
  AdminUsageReports,
  CsvOptions,
  CsvProgress,
  UsageListQuery,
  UsageListRow,
  UsageReportPage,
} from './usage/usage.ts';
export type { WalkOptions } from './usage/walk-log.ts';
