/** The public entry point: what a host needs on its first day. `tollgate/ports` has the rest. */

export {
  type JsonFileCatalog,
  type JsonFileCatalogOptions,
  jsonFileCatalog,
} from './catalog/json-file-catalog.ts';
export { type StaticCatalog, staticCatalog } from './catalog/static-catalog.ts';
export { type Vendor, vendorCapabilities } from './dialects/vendors.ts';
export {
  ConfigurationError,
  type ErrorCode,
  GatewayError,
  isConfigurationError,
  isGatewayError,
} from './errors.ts';
export type {
  EventFilter,
  EventListener,
  EventOf,
  EventType,
  GatewayEvent,
  LogLevel,
} from './events/events.ts';
export { type LogEventsOptions, logEvents } from './events/log.ts';
export type { FailureReason } from './failure-reasons.ts';
export { createGateway, type Gateway } from './gateway.ts';
export type { GatewayOptions } from './gateway-options.ts';
export type { GatewayHandler, GatewayRequest, GatewayResponse } from './http.ts';
export { type IssuedKey, type IssueKeyOptions, issueKey } from './issue-key.ts';
export {
  type ImagePrice,
  maxNanos,
  type Nanos,
  type Price,
  type TokenPrice,
  type Usage,
} from './money.ts';
export { bedrock } from './platforms/bedrock/bedrock.ts';
export { azure, vertex } from './platforms/places.ts';
export type {
  ApiKey,
  KeyRequest,
  KeyStore,
  QuotaSubject,
  SessionStore,
} from './ports/keys/key-store.ts';
export { perKey } from './ports/keys/per-key.ts';
export type { RateLimits } from './ports/limits/rates.ts';
export type { Capabilities } from './ports/models/capabilities.ts';
export type {
  Catalog,
  Channel,
  CredentialAnswer,
  CredentialRequest,
  Model,
} from './ports/models/catalog.ts';
export type { Timeouts } from './ports/timeouts.ts';
export type { UsageRecord } from './ports/usage-sink.ts';
export { formatMoney, money } from './prices/amount.ts';
export { imagePrice, tokenPrice } from './prices/codec.ts';
export type { ImagePriceRow, TokenPriceInput } from './prices/price-json.ts';
export { type PublicPriceList, pricesFrom } from './prices/public-list.ts';
export { digestSecret } from './secret.ts';
export type { GatewayStatus } from './stages/status.ts';
export { cachedKeyStore } from './stores/cached-key-store.ts';
export { jsonlUsageSink } from './stores/jsonl/usage-sink.ts';
export { memoryClusterStore } from './stores/memory/cluster-store.ts';
export { memoryIdempotencyStore } from './stores/memory/idempotency-store.ts';
export { memoryItemStore } from './stores/memory/item-store.ts';
export { type MemoryKeyStore, memoryKeyStore } from './stores/memory/key-store.ts';
export { memoryQuotaStore } from './stores/memory/quota-store.ts';
export { memoryRateLimiter } from './stores/memory/rate-limiter.ts';
export { memoryResponseIndex } from './stores/memory/response-index.ts';
export { memoryResultStore } from './stores/memory/result-store.ts';
export { type MemoryUsageSink, memoryUsageSink } from './stores/memory/usage-sink.ts';
export { reconcile } from './stores/sql/reconcile.ts';
export { undiciClient } from './upstream/undici-client.ts';
