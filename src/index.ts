/** The public entry point. */

export {
  type JsonFileCatalog,
  type JsonFileCatalogOptions,
  jsonFileCatalog,
} from './catalog/json-file-catalog.ts';
export { type StaticCatalog, staticCatalog } from './catalog/static-catalog.ts';
export {
  type CallEnding,
  type ChargePolicy,
  type ChargeRule,
  chargePolicy,
  type ReplyKind,
} from './charge-policy.ts';
export { type Clock, systemClock } from './clock.ts';
export { type Vendor, vendorCapabilities } from './dialects/vendors.ts';
export {
  ConfigurationError,
  type ErrorCode,
  GatewayError,
  type GatewayErrorDetails,
  isConfigurationError,
  isGatewayError,
  isUpstreamError,
  statusOf,
  UpstreamError,
  type UpstreamStage,
} from './errors.ts';
export type {
  EventFilter,
  EventListener,
  EventOf,
  EventType,
  GatewayEvent,
  HoldEnd,
  LogLevel,
} from './events/events.ts';
export type { EventSource, FilteredListener } from './events/filter.ts';
export {
  type EntryLogger,
  type EventLogger,
  type FieldsFirstLogger,
  type LogEventsOptions,
  type LogFields,
  logEvents,
  type MessageFirstLogger,
} from './events/log.ts';
export {
  type FailureReason,
  failureReasons,
  isFailureReason,
  type NoChannelReason,
} from './failure-reasons.ts';
export { createGateway, type Gateway } from './gateway.ts';
export type { GatewayOptions } from './gateway-options.ts';
export type {
  GatewayHandler,
  GatewayRequest,
  GatewayResponse,
  HeaderMap,
  IncomingHeaders,
  ReplyBody,
} from './http.ts';
export { type IssuedKey, type IssueKeyOptions, issueKey } from './issue-key.ts';
export {
  type CostMember,
  type FreePrice,
  type ImagePrice,
  type MemberPrice,
  type MemberPrices,
  maxNanos,
  type Nanos,
  type PassUsage,
  type Price,
  type PriceTier,
  type TokenPrice,
  type TokenRates,
  type ToolCalls,
  type UnreportedTokens,
  type Usage,
  type UsageRemarks,
} from './money.ts';
export { azure } from './platforms/azure.ts';
export { bedrock } from './platforms/bedrock/bedrock.ts';
export { vertex } from './platforms/vertex.ts';
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
export type {
  ApiKey,
  KeyLookupOptions,
  KeyRequest,
  KeyStore,
  QuotaSubject,
  SessionStore,
} from './ports/keys/key-store.ts';
export { perKey } from './ports/keys/per-key.ts';
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
export type { AmountPerPeriod, KeyRateLimits, RateLimits } from './ports/limits/rates.ts';
export type {
  Capabilities,
  DialectName,
  ReasoningEffort,
  ThinkingBudget,
} from './ports/models/capabilities.ts';
export type {
  AccountCredential,
  AwsCredential,
  Catalog,
  Channel,
  ChannelCost,
  CredentialAnswer,
  CredentialRequest,
  MediaPartTokens,
  Model,
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
export type { PortName } from './ports/port-names.ts';
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
export type { Timeouts } from './ports/timeouts.ts';
export type {
  ByteSink,
  UpstreamBody,
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from './ports/upstream-client.ts';
export type {
  CallAttempt,
  CallOutcome,
  RecordedLine,
  UsageRecord,
  UsageSink,
} from './ports/usage-sink.ts';
export { formatMoney, money } from './prices/amount.ts';
export { imagePrice, priceFromJson, priceToJson, tokenPrice } from './prices/codec.ts';
export { costOf, type PricedRequest } from './prices/cost.ts';
export type {
  ImagePriceRow,
  MemberPriceInput,
  MembersInput,
  PriceJson,
  RatesInput,
  TierInput,
  TokenPriceInput,
} from './prices/price-json.ts';
export { type PriceOf, type PublicPriceList, pricesFrom } from './prices/public-list.ts';
export { digestSecret } from './secret.ts';
export type { ChannelTest } from './stages/channel-test.ts';
export type { ClusterStatus, SwitchPlace } from './stages/cluster.ts';
export type { PortTimes } from './stages/ports/port-times.ts';
export type { ResolveResult, UnknownResolution } from './stages/settle/resolve-unknown.ts';
export type { GatewayStatus } from './stages/status.ts';
export {
  type CachedKeyStore,
  type CachedKeyStoreOptions,
  cachedKeyStore,
} from './stores/cached-key-store.ts';
export { type JsonlUsageSinkOptions, jsonlUsageSink } from './stores/jsonl/usage-sink.ts';
export {
  type MemoryClusterStoreOptions,
  memoryClusterStore,
} from './stores/memory/cluster-store.ts';
export {
  type MemoryIdempotencyStoreOptions,
  memoryIdempotencyStore,
} from './stores/memory/idempotency-store.ts';
export { type MemoryItemStoreOptions, memoryItemStore } from './stores/memory/item-store.ts';
export {
  type MemoryKeyStore,
  type MemoryKeyStoreOptions,
  memoryKeyStore,
} from './stores/memory/key-store.ts';
export {
  type MemoryQuotaStoreOptions,
  memoryQuotaStore,
  type QuotaLimit,
} from './stores/memory/quota-store.ts';
export {
  type MemoryRateLimiter,
  type MemoryRateLimiterOptions,
  memoryRateLimiter,
} from './stores/memory/rate-limiter.ts';
export {
  type MemoryResponseIndexOptions,
  memoryResponseIndex,
} from './stores/memory/response-index.ts';
export {
  type MemoryResultStoreOptions,
  memoryResultStore,
} from './stores/memory/result-store.ts';
export {
  type MemoryUsageSink,
  type MemoryUsageSinkOptions,
  memoryUsageSink,
} from './stores/memory/usage-sink.ts';
export { type ReconcileSources, type Reconciliation, reconcile } from './stores/sql/reconcile.ts';
export type {
  RefusalFilter,
  RefusalGrouping,
  RefusalQueries,
  RefusalReportQuery,
  RefusalReportRow,
} from './stores/sql/refusal-report.ts';
export type { AccountStatus, ChannelStatus } from './upstream/channel-status.ts';
export { type UndiciClientOptions, undiciClient } from './upstream/undici-client.ts';
