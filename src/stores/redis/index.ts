/**
 * Published as `tollgate/redis`: quota, rates, claims and, where a host asks for it, kept replies
 * for many processes, over Redis.
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
