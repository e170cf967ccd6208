/**
 * A cache in front of a key store: concurrent lookups of one key are joined, found keys and misses
 * are remembered for a while, and known keys keep working while the store is down.
 */
import type { z } from 'zod';
import { type Clock, systemClock } from '../clock.ts';
import { ConfigurationError } from '../errors.ts';
import { isPromiseLike, type MaybePromise } from '../ports/call-options.ts';
import type { ApiKey, KeyLookupOptions, KeyRequest, KeyStore } from '../ports/keys/key-store.ts';
import {
  aClock,
  aFunction,
  checkMakerOptions,
  checkSetUp,
  methods,
  positive,
  strict,
  wait,
} from '../ports/set-up.ts';
import { within } from '../ports/within.ts';
import { digestSecret } from '../secret.ts';

/** How long keys and misses are cached, and how many of them. */
export interface CachedKeyStoreOptions {
  /** How long a found key is served from the cache. Default: 30 s. */
  readonly ttlMs?: number;
  /** How long a secret that belongs to no key is remembered as such. Default: 5 s. */
  readonly negativeTtlMs?: number;
  /**
   * Serve a cached key up to this old while the store fails (stale-if-error). At least `ttlMs`.
   * Default: `ttlMs`, which serves no stale key.
   */
  readonly staleMs?: number;
  /**
   * Deadline for a lookup in the store. Default: 800 ms. Keep it below the gateway's
   * `storeTimeoutMs`: otherwise the gateway gives up before a stale key is served.
   */
  readonly timeoutMs?: number;
  /** How many keys are cached, and separately how many misses. Default: 10,000. */
  readonly maxKeys?: number;
  /**
   * Passes the request on to the store, and returns the part of it that the store's answer depends
   * on, such as a header that names the tenant. Each different text is looked up and cached
   * separately, so callers should not be able to send many. Default: the store does not get the
   * request, and a key is the same for every request.
   */
  readonly vary?: (request: KeyRequest) => string;
  /** What tells the time. Default: the machine's; a test passes a fake one. */
  readonly clock?: Clock;
}

/** A {@link KeyStore} whose cached keys can be invalidated. */
export interface CachedKeyStore extends KeyStore {
  /** How long a found key is served from the cache, in ms. */
  readonly ttlMs: number;
  /**
   * Looks this key up again at its next call, and all secrets that belonged to no key. Call it
   * after revoking, changing or adding a key. It affects this process only, so call it in every
   * process. Stores that come with this cache call it themselves.
   */
  forget(keyId: string): void;
  /** Looks all keys of an owner up again, as `forget` does. */
  forgetKeysOf(ownerId: string): void;
  /** Clears all cached keys and misses. */
  clear(): void;
}

const optionsSchema = strict('must be an object', {
  ttlMs: wait.optional(),
  negativeTtlMs: wait.optional(),
  staleMs: wait.optional(),
  timeoutMs: wait.optional(),
  maxKeys: positive.optional(),
  vary: aFunction.optional(),
  clock: aClock.optional(),
} satisfies Record<keyof CachedKeyStoreOptions, z.ZodType>);

/** While a stale key is served, the failing store is tried again only after this pause. */
const downMs = 1_000;

/**
 * Caches the keys of `store` by the full SHA-256 digest of the secret, never by the secret itself.
 * The gateway still checks at each call whether the key is disabled or has expired.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function cachedKeyStore(
  store: KeyStore,
  options: CachedKeyStoreOptions = {},
): CachedKeyStore {
  const settings = checked(store, options);
  const { maxKeys } = settings;
  const keys = lru(maxKeys);
  const misses = lru(maxKeys);
  const cache: KeyCache = { store, settings, keys, misses, pending: new Map() };
  return {
    ttlMs: settings.ttlMs,
    find: (secret, lookup) => {
      const request = settings.vary === undefined ? undefined : lookup?.request;
      const digest = request === undefined ? digestSecret(secret) : variant(cache, secret, request);
      const found = fresh(cache, digest);
      if (found !== undefined) return found.key;
      return cache.pending.get(digest) ?? lookUp(cache, digest, secret, request);
    },
    forget: (keyId) => {
      cache.pending = new Map();
      keys.deleteWhere(({ key }) => key?.id === keyId);
      misses.clear();
    },
    forgetKeysOf: (ownerId) => {
      cache.pending = new Map();
      keys.deleteWhere(({ key }) => key?.owner === ownerId);
    },
    clear: () => {
      cache.pending = new Map();
      keys.clear();
      misses.clear();
    },
  };
}

interface CacheSettings extends Required<Omit<CachedKeyStoreOptions, 'vary'>> {
  readonly vary: CachedKeyStoreOptions['vary'] | undefined;
}

interface KeyCache {
  readonly store: KeyStore;
  readonly settings: CacheSettings;
  readonly keys: Lru;
  /** Separate from the keys, so that guessed secrets can't evict them. */
  readonly misses: Lru;
  /** The lookups in progress; replaced by `forget`. */
  pending: Map<string, Promise<ApiKey | undefined>>;
}

/**
 * The name of the cache entry of a secret, for requests with the same `vary` text. Both are hashed,
 * so that no text can look like a part of another secret.
 */
function variant({ settings: { vary } }: KeyCache, secret: string, request: KeyRequest): string {
  const text: unknown = vary?.(request);
  if (typeof text === 'string') return `${digestSecret(secret)}.${digestSecret(text)}`;
  throw new ConfigurationError(
    'cachedKeyStore: options.vary must return a string. Return the part of the request that the ' +
      'key depends on.',
  );
}

function fresh({ keys, misses, settings }: KeyCache, digest: string): Found | undefined {
  const found = keys.get(digest) ?? misses.get(digest);
  const isFresh = found !== undefined && settings.clock.monotonicMs() < found.freshUntilMs;
  return isFresh ? found : undefined;
}

function lookUp(
  cache: KeyCache,
  digest: string,
  secret: string,
  request: KeyRequest | undefined,
): MaybePromise<ApiKey | undefined> {
  const { store, settings, pending: lookups } = cache;
  const { clock, timeoutMs } = settings;
  const startedMs = clock.monotonicMs();
  const accept = (result: ApiKey | undefined): ApiKey | undefined => {
    // A store may also return a database's null for "no key".
    const key = result ?? undefined;
    // A lookup that began before a `forget` may return the version to be forgotten.
    if (lookups === cache.pending) keep(cache, digest, key, startedMs);
    return key;
  };
  try {
    const options: KeyLookupOptions =
      request === undefined ? { timeoutMs } : { timeoutMs, request };
    const result = store.find(secret, options);
    if (!isPromiseLike(result)) return accept(result);
    const lookup = within(Promise.resolve(result), timeoutMs, clock)
      .then(accept)
      .catch((error: unknown) => stale(cache, digest, error))
      .finally(() => lookups.delete(digest));
    lookups.set(digest, lookup);
    return lookup;
  } catch (error) {
    return stale(cache, digest, error);
  }
}

/** The age counts from before the lookup: a key revoked meanwhile is not cached any longer. */
function keep(
  { keys, misses, settings: { ttlMs, negativeTtlMs } }: KeyCache,
  digest: string,
  key: ApiKey | undefined,
  foundMs: number,
): void {
  keys.delete(digest);
  misses.delete(digest);
  if (key === undefined) {
    misses.set(digest, { key, foundMs, freshUntilMs: foundMs + negativeTtlMs });
  } else if (typeof key.id === 'string') {
    // A key without an id could not be invalidated; the gateway reports and refuses it.
    keys.set(digest, { key, foundMs, freshUntilMs: foundMs + ttlMs });
  }
}

/** The cached key while the store fails. */
function stale(
  { keys, settings: { clock, staleMs } }: KeyCache,
  digest: string,
  error: unknown,
): ApiKey | undefined {
  const found = keys.get(digest);
  const nowMs = clock.monotonicMs();
  if (found === undefined || nowMs - found.foundMs > staleMs) throw error;
  const freshUntilMs = Math.min(nowMs + downMs, found.foundMs + staleMs);
  keys.set(digest, { ...found, freshUntilMs });
  return found.key;
}

function checked(store: KeyStore, options: CachedKeyStoreOptions): CacheSettings {
  checkSetUp(methods('find'), store, {
    root: 'cachedKeyStore: store',
    remedyFor: () => 'Give it the store that knows the keys',
    names: 'the port KeyStore',
  });
  checkMakerOptions('cachedKeyStore', optionsSchema, options);
  const { ttlMs = 30_000, negativeTtlMs = 5_000, timeoutMs = 800, maxKeys = 10_000 } = options;
  const { staleMs = ttlMs, clock = systemClock(), vary } = options;
  if (staleMs < ttlMs) {
    throw new ConfigurationError(
      'cachedKeyStore: options.staleMs must be at least ttlMs. Raise it, or leave it out to ' +
        'serve no stale keys.',
    );
  }
  return { ttlMs, negativeTtlMs, staleMs, timeoutMs, maxKeys, vary, clock };
}

interface Found {
  readonly key: ApiKey | undefined;
  readonly foundMs: number;
  readonly freshUntilMs: number;
}

interface Lru {
  get(digest: string): Found | undefined;
  set(digest: string, found: Found): void;
  delete(digest: string): void;
  deleteWhere(matches: (found: Found) => boolean): void;
  clear(): void;
}

function lru(max: number): Lru {
  // A map keeps insertion order, and `get` inserts again: the first is the least recently used.
  const entries = new Map<string, Found>();
  return {
    get: (digest) => {
      const found = entries.get(digest);
      if (found === undefined) return undefined;
      entries.delete(digest);
      entries.set(digest, found);
      return found;
    },
    set: (digest, found) => {
      entries.delete(digest);
      entries.set(digest, found);
      const [oldest] = entries.keys();
      if (entries.size > max && oldest !== undefined) entries.delete(oldest);
    },
    delete: (digest) => {
      entries.delete(digest);
    },
    deleteWhere: (matches) => {
      for (const [digest, found] of entries) if (matches(found)) entries.delete(digest);
    },
    clear: () => entries.clear(),
  };
}
