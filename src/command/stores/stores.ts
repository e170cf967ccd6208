/** Creates the stores that a configuration chooses, on the open databases. */
import type { AdminKeyStore, AdminOwnedStore } from '../../admin/deps.ts';
import type { Clock } from '../../clock.ts';
import { thrownCode } from '../../events/thrown.ts';
import type { AuditLog } from '../../ports/audit-log.ts';
import { isStoreUnavailable, StoreUnavailable } from '../../ports/call-options.ts';
import type { ClusterStore } from '../../ports/cluster-store.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import type { QuotaStore } from '../../ports/limits/quota-store.ts';
import type { RateLimiter } from '../../ports/limits/rate-limiter.ts';
import type { RefusalLog } from '../../ports/refusal-log.ts';
import type { IdempotencyStore } from '../../ports/replies/idempotency-store.ts';
import type { ItemStore } from '../../ports/replies/item-store.ts';
import type { ResponseIndex } from '../../ports/replies/response-index.ts';
import type { ResponseOptions } from '../../ports/replies/response-options.ts';
import type { ResultStore } from '../../ports/replies/result-store.ts';
import type { UsageSink } from '../../ports/usage-sink.ts';
import { money } from '../../prices/amount.ts';
import { memoryIdempotencyStore } from '../../stores/memory/idempotency-store.ts';
import { memoryItemStore } from '../../stores/memory/item-store.ts';
import { memoryKeyStore } from '../../stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../stores/memory/quota-store.ts';
import { memoryResponseIndex } from '../../stores/memory/response-index.ts';
import { memoryResultStore } from '../../stores/memory/result-store.ts';
import { memoryUsageSink } from '../../stores/memory/usage-sink.ts';
import { postgresQuotaStore } from '../../stores/postgres/quota-store.ts';
import {
  type PostgresKeyStore,
  postgresAuditLog,
  postgresClusterStore,
  postgresIdempotencyStore,
  postgresItemStore,
  postgresKeyStore,
  postgresRateLimiter,
  postgresResponseIndex,
  postgresResultStore,
  postgresUsageSink,
} from '../../stores/postgres/stores.ts';
import { redisIdempotencyStore } from '../../stores/redis/idempotency-store.ts';
import { redisItemStore } from '../../stores/redis/item-store.ts';
import { redisQuotaStore } from '../../stores/redis/quota-store.ts';
import { redisRateLimiter } from '../../stores/redis/rate-limiter.ts';
import { redisResponseIndex } from '../../stores/redis/response-index.ts';
import { redisResultStore } from '../../stores/redis/result-store.ts';
import type { SqlUsageSink } from '../../stores/sql/usage/sink.ts';
import { sqliteQuotaStore } from '../../stores/sqlite/quota-store.ts';
import {
  type SqliteKeyStore,
  sqliteAuditLog,
  sqliteClusterStore,
  sqliteIdempotencyStore,
  sqliteItemStore,
  sqliteKeyStore,
  sqliteRateLimiter,
  sqliteResponseIndex,
  sqliteResultStore,
  sqliteUsageSink,
} from '../../stores/sqlite/stores.ts';
import type { FixedKey, ServeConfig, StoreName } from '../config/config.ts';
import { type StoreChoice, storeChoice } from '../config/store-choice.ts';
import type { UsageLogListener } from '../serve/losses.ts';
import type { Databases, OpenPostgres, OpenRedis } from './databases.ts';

/** The stores of a gateway. For an undefined one, the gateway uses its own in memory. */
export interface Stores {
  readonly choice: StoreChoice;
  /** Keys in the configuration can only be read. */
  readonly keys: SqliteKeyStore | PostgresKeyStore | FixedKeys;
  readonly quota: QuotaStore;
  readonly usage: UsageSink & RefusalLog;
  /** The same log, if it can be queried. */
  readonly usageLog: SqlUsageSink | undefined;
  readonly idempotency: IdempotencyStore;
  readonly rateLimiter: RateLimiter | undefined;
  /** Undefined without a database. */
  readonly cluster: ClusterStore | undefined;
  readonly results: ResultStore;
  readonly responses: Required<Pick<ResponseOptions, 'index' | 'items'>>;
  /** The audit trail, if it is in a database. */
  readonly auditLog: AuditLog | undefined;
  /** The stores from which the replies of a removed key are deleted. */
  readonly replyStores: readonly AdminOwnedStore[];
}

/**
 * Creates each store at its first use, because a command opens only the databases that it needs.
 * Memory stores begin empty, except for the keys of the configuration.
 *
 * @param listener for failures of the usage log; commands write no records and need none
 */
export function makeStores(
  config: ServeConfig,
  databases: Databases,
  clock: Clock,
  listener?: UsageLogListener,
): Stores {
  const choice = storeChoice(config.stores);
  const keys = once(() => keysOf(choice.keys, databases, config.keys));
  const quota = once(() => quotaOf(choice.quota, databases, config, clock));
  const usageLog = once(() => usageLogOf(choice.usage, databases, listener));
  const usage = once(() => usageLog() ?? memoryUsageSink());
  const idempotency = once(() => idempotencyOf(choice.idempotency, databases, clock));
  const rateLimiter = once(() => rateLimiterOf(choice.rates, databases));
  const auditLog = once(() => auditLogOf(choice.audit, databases));
  const cluster = once(() => clusterIn(choice.cluster, databases));
  const replies = once(() => repliesIn(choice, databases, clock));
  return {
    choice,
    get keys() {
      return keys();
    },
    get quota() {
      return quota();
    },
    get usage() {
      return usage();
    },
    get usageLog() {
      return usageLog();
    },
    get idempotency() {
      return idempotency();
    },
    get rateLimiter() {
      return rateLimiter();
    },
    get cluster() {
      return cluster();
    },
    get results() {
      return replies().results;
    },
    get responses() {
      const { index, items } = replies();
      return { index, items };
    },
    get auditLog() {
      return auditLog();
    },
    get replyStores() {
      return Object.values(replies());
    },
  };
}

interface Replies {
  readonly results: ResultStore;
  readonly index: ResponseIndex;
  readonly items: ItemStore;
}

/** Created here even in memory, because the admin library needs them too. */
function repliesIn(choice: StoreChoice, databases: Databases, clock: Clock): Replies {
  return {
    results: resultsIn(choice.results, databases, clock),
    index: indexIn(choice.responseIndex, databases, clock),
    items: itemsIn(choice.items, databases, clock),
  };
}

function resultsIn(
  store: StoreName,
  { kept, postgres, redis }: Databases,
  clock: Clock,
): ResultStore {
  if (store === 'sqlite') return sqliteResultStore({ client: open(kept, store) });
  if (store === 'postgres') return postgresResultStore(tablesIn(postgres));
  return store === 'redis' ? overRedis(redis, redisResultStore) : memoryResultStore({ clock });
}

function indexIn(
  store: StoreName,
  { sqlite, postgres, redis }: Databases,
  clock: Clock,
): ResponseIndex {
  if (store === 'sqlite') return sqliteResponseIndex({ client: open(sqlite, store) });
  if (store === 'postgres') return postgresResponseIndex(tablesIn(postgres));
  return store === 'redis' ? overRedis(redis, redisResponseIndex) : memoryResponseIndex({ clock });
}

function itemsIn(store: StoreName, { kept, postgres, redis }: Databases, clock: Clock): ItemStore {
  if (store === 'sqlite') return sqliteItemStore({ client: open(kept, store) });
  if (store === 'postgres') return postgresItemStore(tablesIn(postgres));
  return store === 'redis' ? overRedis(redis, redisItemStore) : memoryItemStore({ clock });
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function keysOf(
  store: StoreChoice['keys'],
  { sqlite, postgres }: Databases,
  { pepper, fixed, cacheMs: ttlMs }: ServeConfig['keys'],
): Stores['keys'] {
  const peppered = pepper === undefined ? {} : { pepper };
  const options = { ...peppered, cache: ttlMs === 0 ? (false as const) : { ttlMs } };
  if (store === 'sqlite') return sqliteKeyStore({ client: open(sqlite, store), ...options });
  if (store === 'postgres') return postgresKeyStore({ ...tablesIn(postgres), ...options });
  return fixedKeys({ ...peppered, ...(fixed === undefined ? {} : { fixed }) });
}

function quotaOf(
  store: StoreName,
  { sqlite, postgres, redis }: Databases,
  { stores }: ServeConfig,
  clock: Clock,
): QuotaStore {
  const durability = stores?.redis?.durability;
  if (store === 'sqlite') return sqliteQuotaStore({ client: open(sqlite, store) });
  if (store === 'postgres') return postgresQuotaStore(tablesIn(postgres));
  if (store === 'redis') {
    const chosen = durability === undefined ? {} : { durability };
    return overRedis(redis, (location) => redisQuotaStore({ ...location, ...chosen }));
  }
  return memoryQuotaStore({ clock });
}

function usageLogOf(
  store: StoreChoice['usage'],
  { sqlite, postgres }: Databases,
  listener: UsageLogListener | undefined,
): Stores['usageLog'] {
  if (store === 'sqlite') return sqliteUsageSink({ client: open(sqlite, store), ...listener });
  if (store === 'postgres') return postgresUsageSink({ ...tablesIn(postgres), ...listener });
  return undefined;
}

function auditLogOf(
  store: StoreChoice['audit'],
  { sqlite, postgres }: Databases,
): AuditLog | undefined {
  if (store === 'sqlite') return sqliteAuditLog({ client: open(sqlite, store) });
  return store === 'postgres' ? postgresAuditLog(tablesIn(postgres)) : undefined;
}

function idempotencyOf(
  store: StoreName,
  { sqlite, postgres, redis }: Databases,
  clock: Clock,
): IdempotencyStore {
  if (store === 'sqlite') return sqliteIdempotencyStore({ client: open(sqlite, store) });
  if (store === 'postgres') return postgresIdempotencyStore(tablesIn(postgres));
  if (store === 'redis') return overRedis(redis, redisIdempotencyStore);
  return memoryIdempotencyStore({ clock });
}

/**
 * A store in Redis whose failures say why there is no connection: a command that waited for one
 * only knows that it got no answer.
 */
function overRedis<Store extends object>(
  redis: OpenRedis | undefined,
  make: (location: Pick<OpenRedis, 'client' | 'prefix'>) => Store,
): Store {
  const { client, prefix, lostBy } = open(redis, 'redis');
  return new Proxy(make({ client, prefix }), {
    get: (store, name) => {
      const member: unknown = Reflect.get(store, name);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        try {
          return await Reflect.apply(member, store, args);
        } catch (error) {
          throw withCause(error, lostBy());
        }
      };
    },
  });
}

function withCause(error: unknown, cause: unknown): unknown {
  if (cause === undefined || !isStoreUnavailable(error) || error.code !== undefined) return error;
  const { message, outcome } = error;
  return new StoreUnavailable(message, { outcome, code: thrownCode(cause), cause });
}

function rateLimiterOf(
  store: StoreName,
  { sqlite, postgres, redis }: Databases,
): RateLimiter | undefined {
  if (store === 'sqlite') return sqliteRateLimiter({ client: open(sqlite, store) });
  if (store === 'postgres') return postgresRateLimiter(tablesIn(postgres));
  return store === 'redis' ? overRedis(redis, redisRateLimiter) : undefined;
}

function clusterIn(
  store: StoreChoice['cluster'],
  { sqlite, postgres }: Databases,
): ClusterStore | undefined {
  if (store === 'sqlite') return sqliteClusterStore({ client: open(sqlite, store) });
  return store === 'postgres' ? postgresClusterStore(tablesIn(postgres)) : undefined;
}

function tablesIn(postgres: OpenPostgres | undefined): OpenPostgres {
  return open(postgres, 'postgres');
}

/** Throws only on a bug: the configuration was checked, and commands open what they need. */
function open<T>(database: T | undefined, name: string): T {
  if (database !== undefined) return database;
  throw new TypeError(`stores.${name} was not opened`);
}

type FixedKeysConfig = Pick<ServeConfig['keys'], 'fixed' | 'pepper'>;

/** A key store without changes: only the file can change its keys. */
interface FixedKeys extends Required<Pick<AdminKeyStore, 'find' | 'get' | 'page'>> {
  /** Replaces all keys: those that the file no longer has are refused from the next call on. */
  replace(keys: FixedKeysConfig): void;
}

function fixedKeys(keys: FixedKeysConfig): FixedKeys {
  let store = storeOf(keys);
  return {
    find: (secret) => store.find(secret),
    get: (id) => store.get(id),
    page: (query) => store.page(query),
    replace: (changed) => {
      store = storeOf(changed);
    },
  };
}

function storeOf({ fixed = [], pepper }: FixedKeysConfig): ReturnType<typeof memoryKeyStore> {
  const peppered = pepper === undefined ? {} : { pepper };
  return memoryKeyStore({ ...peppered, keys: fixed.map(recordOf) });
}

function recordOf(written: FixedKey): { readonly secret: string; readonly key: ApiKey } {
  const { secret, limit, period, metadata, maxConcurrentCalls, ...key } = written;
  return {
    secret,
    key: {
      ...key,
      disabled: false,
      quota: [{ id: key.id, period, limitNanos: money(limit) }],
      ...(metadata === undefined ? {} : { metadata }),
      ...(maxConcurrentCalls === undefined ? {} : { maxConcurrentCalls }),
    },
  };
}
