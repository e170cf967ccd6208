/** Published as `tollgate/redis`: quota, rates and claims for many processes, over Redis. */
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
