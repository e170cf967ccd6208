/**
 * `tollgate/ports`: for authors of stores, sinks, guards and clients, with the types that
 * `tollgate` refers to and does not export itself.
 */

export {
  type CallEnding,
  type ChargePolicy,
  type ChargeRule,
  chargePolicy,
  type ReplyKind,
} from './charge-policy.ts';
export { type Clock, systemClock } from './clock.ts';
export {
  type GatewayErrorDetails,
  isUpstreamError,
  statusOf,
  UpstreamError,
  type UpstreamStage,
} from './errors.ts';
export type { HoldEnd } from './events/events.ts';
export type { EventSource, FilteredListener } from './events/filter.ts';
export type {
  EntryLogger,
  EventLogger,
  FieldsFirstLogger,
  LogFields,
  MessageFirstLogger,
} from './events/log.ts';
export { failureReasons, isFailureReason, type NoChannelReason } from './failure-reasons.ts';
export type { HeaderMap, IncomingHeaders, ReplyBody } from './http.ts';
export type {
  CostMember,
  FreePrice,
  MemberPrice,
  MemberPrices,
  PassUsage,
  PriceTier,
  TokenRates,
  ToolCalls,
  UnreportedTokens,
  UsageRemarks,
} from './money.ts';
export {
  type CallOptions,
  type MaybePromise,
  StoreCorrupt,
  StoreUnavailable,
} from './ports/call-options.ts';
export type {
  ChannelSwitch,
  ClusterStore,
  ClusterView,
  Replica,
  ReplicaChannel,
  ReplicaReport,
} from './ports/cluster-store.ts';
export type { Guard, GuardDecision, GuardedCall } from './ports/guard.ts';
export type { HealthStatus } from './ports/health-status.ts';
export type { FailedKeyLimit } from './ports/keys/failed-key-limit.ts';
export type { KeyLookupOptions } from './ports/keys/key-store.ts';
export { checkedQuotaStore } from './ports/limits/checked-quota-store.ts';
export type {
  AdjustInput,
  AdjustResult,
  ChargeBasis,
  ExtendInput,
  ExtendResult,
  QuotaLine,
  QuotaState,
  QuotaStore,
  ReleaseInput,
  ReleaseResult,
  ReserveInput,
  ReserveResult,
  SettleInput,
  SettleResult,
} from './ports/limits/quota-store.ts';
export type {
  RateDecision,
  RateLimiter,
  RatePeriodMs,
  RateTake,
} from './ports/limits/rate-limiter.ts';
export type { AmountPerPeriod, KeyRateLimits } from './ports/limits/rates.ts';
export type { DialectName, ReasoningEffort, ThinkingBudget } from './ports/models/capabilities.ts';
export type {
  AccountCredential,
  AwsCredential,
  ChannelCost,
  MediaPartTokens,
  ProtocolName,
  TokenCredential,
} from './ports/models/catalog.ts';
export type { ListedModel, PriceOfListed, PriceOfName } from './ports/models/listed-model.ts';
export type {
  AzureApi,
  AzureOptions,
  AzurePlatform,
  BedrockPlatform,
  HostedChannel,
  Platform,
  VertexPlatform,
} from './ports/models/platform.ts';
export type { AllowedMembers, ReachMember } from './ports/models/reach-members.ts';
export type { PortName } from './ports/port-failure.ts';
export type { RecordedRefusals, RefusalLog } from './ports/refusal-log.ts';
export type {
  AbandonInput,
  AbandonResult,
  ClaimInput,
  ClaimRecord,
  ClaimResult,
  FinishInput,
  FinishResult,
  IdempotencyStore,
} from './ports/replies/idempotency-store.ts';
export type { ItemStore, StoredItem } from './ports/replies/item-store.ts';
export type { IndexEntry, ResponseIndex } from './ports/replies/response-index.ts';
export type { ResponseOptions } from './ports/replies/response-options.ts';
export type { ResultOptions, ResultStore, StoredResult } from './ports/replies/result-store.ts';
export type {
  ByteSink,
  UpstreamBody,
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from './ports/upstream-client.ts';
export type { CallAttempt, CallOutcome, RecordedLine, UsageSink } from './ports/usage-sink.ts';
export { priceFromJson, priceToJson } from './prices/codec.ts';
export { costOf, type PricedRequest } from './prices/cost.ts';
export type {
  MemberPriceInput,
  MembersInput,
  PriceJson,
  RatesInput,
  TierInput,
} from './prices/price-json.ts';
export type { PriceOf } from './prices/public-list.ts';
export type { ChannelTest } from './stages/channel-test.ts';
export type { ClusterStatus, SwitchPlace } from './stages/cluster.ts';
export type { PortTimes } from './stages/ports/port-times.ts';
export type { ResolveResult, UnknownResolution } from './stages/settle/resolve-unknown.ts';
export type { CachedKeyStore, CachedKeyStoreOptions } from './stores/cached-key-store.ts';
export type { JsonlUsageSinkOptions } from './stores/jsonl/usage-sink.ts';
export type { MemoryClusterStoreOptions } from './stores/memory/cluster-store.ts';
export type { MemoryIdempotencyStoreOptions } from './stores/memory/idempotency-store.ts';
export type { MemoryItemStoreOptions } from './stores/memory/item-store.ts';
export type { MemoryKeyStoreOptions } from './stores/memory/key-store.ts';
export type { MemoryQuotaStoreOptions, QuotaLimit } from './stores/memory/quota-store.ts';
export type { MemoryRateLimiter, MemoryRateLimiterOptions } from './stores/memory/rate-limiter.ts';
export type { MemoryResponseIndexOptions } from './stores/memory/response-index.ts';
export type { MemoryResultStoreOptions } from './stores/memory/result-store.ts';
export type { MemoryUsageSinkOptions } from './stores/memory/usage-sink.ts';
export type { ReconcileSources, Reconciliation } from './stores/sql/reconcile.ts';
export type {
  RefusalFilter,
  RefusalGrouping,
  RefusalQueries,
  RefusalReportQuery,
  RefusalReportRow,
} from './stores/sql/refusal-report.ts';
export type { AccountStatus, ChannelStatus } from './upstream/channel-status.ts';
export type { UndiciClientOptions } from './upstream/undici-client.ts';
