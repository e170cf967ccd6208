/** The entry point `tollgate/admin`: the admin library, and its interface over HTTP. */

export { failureMeanings } from '../failure-meanings.ts';
export type { FailureMeaning } from '../host-failures.ts';
export {
  type Admin,
  type AdminCapabilities,
  type AdminOptions,
  createAdmin,
} from './admin.ts';
export { AdminError, type AdminErrorCode, adminStatusOf, isAdminError } from './admin-error.ts';
export type { AdminAction, Audit, AuditChange, AuditEntry, AuditListener } from './audit.ts';
export type {
  AttemptDetail,
  CallDetail,
  CallSummary,
  RefusalSummary,
  SeenRefusal,
} from './call-summary.ts';
export type {
  AdminCalls,
  CallListQuery,
  CallPage,
  CallsOfRequest,
  Resolution,
  Resolved,
} from './calls.ts';
export type {
  AdminCatalogs,
  AdminChannels,
  CatalogCheck,
  ChannelChanged,
  ChannelRow,
  ChannelSwitch,
  ModelChannels,
} from './channels.ts';
export type { AdminCatalog, AdminKeyCache, AdminKeyStore, AdminOwnedStore, Page } from './deps.ts';
export { type AdminHandler, type AdminHandlerOptions, adminHandler } from './http/handler.ts';
export { adminOpenApi, type OpenApiDocument } from './http/openapi.ts';
export type { AdminAccess, AdminSession, Authorize } from './http/request.ts';
export type { KeyBalance, KeySummary } from './key-summary.ts';
export type {
  AdminKeys,
  KeyListQuery,
  LimitChange,
  RotatedKey,
  RotateOptions,
  ToppedUpKey,
  TopUp,
} from './keys.ts';
export type { NowBucket } from './live.ts';
export type { NamesOf, NamesQuery, ReadNames } from './names.ts';
export type { Earlier, Now, NowRange, ReadNow, Today } from './now.ts';
export type { RefusalCount } from './refusal-counts.ts';
export type {
  AdminRefusals,
  RefusalListQuery,
  RefusalReason,
  RefusalReasonsQuery,
  RefusalReportPage,
} from './refusals.ts';
export type { Attention, Clause } from './sentence.ts';
export type {
  AdminUsageReports,
  CsvOptions,
  CsvProgress,
  UsageListQuery,
  UsageListRow,
  UsageReportPage,
  WalkOptions,
  WithKnownCost,
} from './usage.ts';
