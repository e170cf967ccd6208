/**
 * Published as `tollgate/redis`: stores for quota, rate limits, idempotency and, if a host wants
 * it, replies, shared by many processes.
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
export { type RedisQuotaStoreOptions, redisQuotaStore } from './quota-store.ts';
export { type RedisRateLimiterOptions, redisRateLimiter } from './rate-limiter.ts';
export { type RedisResultStoreOptions, redisResultStore } from './result-store.ts';
