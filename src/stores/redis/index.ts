/**
 * The entry point `tollgate/redis`: stores for quota, rate limits, idempotency, the index of
 * responses and, if a host wants it, replies and their items, shared by many processes.
 */
export type {
  IoRedisBytesClient,
  NodeRedisBytesClient,
  NodeRedisBytesOptions,
  NodeRedisBytesScripts,
  RedisBytesClient,
} from './binary-client.ts';
export type {
  IoRedisClient,
  NodeRedisClient,
  NodeRedisScriptOptions,
  RedisClient,
  RedisLike,
} from './client.ts';
export {
  type RedisIdempotencyStoreOptions,
  redisIdempotencyStore,
} from './idempotency-store.ts';
export { type RedisItemStoreOptions, redisItemStore } from './item-store.ts';
export { type RedisQuotaStoreOptions, redisQuotaStore } from './quota-store.ts';
export { type RedisRateLimiterOptions, redisRateLimiter } from './rate-limiter.ts';
export { type RedisResponseIndexOptions, redisResponseIndex } from './response-index.ts';
export { type RedisResultStoreOptions, redisResultStore } from './result-store.ts';
