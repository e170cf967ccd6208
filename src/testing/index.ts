/**
 * Published as `tollgate/testing`: contracts as lists of cases, the fake upstream and the fake
 * clock. It needs no test runner.
 */
export { type AdapterSetup, adapterContract } from './contracts/adapter.ts';
export { type CatalogSetup, catalogContract } from './contracts/catalog.ts';
export type { ContractCase } from './contracts/contract-case.ts';
export {
  type IdempotencyStoreSetup,
  idempotencyStoreContract,
} from './contracts/idempotency-store.ts';
export { type ItemStoreSetup, itemStoreContract } from './contracts/item-store.ts';
export { type KeyStoreSetup, keyStoreContract } from './contracts/key-store.ts';
export type { QuotaStoreSetup } from './contracts/quota/case-context.ts';
export { quotaStoreContract } from './contracts/quota-store.ts';
export type { RateLimiterSetup } from './contracts/rate-limiter.ts';
export { rateLimiterContract } from './contracts/rate-limiter.ts';
export {
  type RefusalLogSetup,
  recordedRefusals,
  refusalLogContract,
} from './contracts/refusal-log.ts';
export { type ResponseIndexSetup, responseIndexContract } from './contracts/response-index.ts';
export { type ResultStoreSetup, resultStoreContract } from './contracts/result-store.ts';
export { type UpstreamClientSetup, upstreamClientContract } from './contracts/upstream-client.ts';
export {
  type StoredUsage,
  type UsageSinkSetup,
  usageRecord,
  usageSinkContract,
} from './contracts/usage-sink.ts';
export { type FakeClock, fakeClock } from './fake-clock.ts';
export type { RecordedCall } from './providers/exchange.ts';
export { faultNames } from './providers/provider.ts';
export {
  type Break,
  type Gate,
  gate,
  type Piece,
  type Script,
  type ScriptHeaders,
  script,
} from './providers/scripts.ts';
export {
  type FakeUpstream,
  type FakeUpstreamOptions,
  startFakeUpstream,
} from './providers/server.ts';
