/**
 * A key store with a short memory: a caller's second call asks nobody, a hundred at once ask once,
 * and keys that were known go on working while the store behind is down.
 */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import { ConfigurationError } from '../../errors.ts';
import { isPromiseLike, type MaybePromise } from '../../ports/call-options.ts';
import type { ApiKey, KeyStore } from '../../ports/key-store.ts';
import {
  aClock,
  checkMakerOptions,
  checkSetUp,
  methods,
  positive,
  wait,
} from '../../ports/set-up.ts';
import { within } from '../../ports/within.ts';
import { digestSecret } from '../../secret.ts';

/** How long what was found is believed. */
export interface CachedKeyStoreOptions {
  /** How long a key that was found is not looked up again; 30 s where left out. */
  readonly ttlMs?: number;
  /** The same of a secret that belongs to no key; 5 s where left out. */
  readonly negativeTtlMs?: number;
  /**
   * How old a key may be that is served because the store is down, at least `ttlMs`; as `ttlMs`
   * where left out, so that none is.
   */
  readonly staleMs?: number;
  /**
   * How long the store may take; 800 ms where left out. Less than the gateway's `storeTimeoutMs`,
   * or a stale key comes too late.
   */
  readonly timeoutMs?: number;
  /** How many keys are remembered, and as many secrets of no key; 10,000 where left out. */
  readonly maxKeys?: number;
  readonly clock?: Clock;
}

/** A {@link KeyStore} that can be told to forget. */
export interface CachedKeyStore extends KeyStore {
  /**
   * Looks this key up again from the next call on: for whoever revokes or changes it. In this
   * process: tell the others too.
   */
  forget(keyId: string): void;
  /** Forgets every key, and every secret of none. */
  clear(): void;
}

const optionsSchema = z.strictObject(
  {
    ttlMs: wait.optional(),
    negativeTtlMs: wait.optional(),
    staleMs: wait.optional(),
    timeoutMs: wait.optional(),
    maxKeys: positive.optional(),
    clock: aClock.optional(),
  } satisfies Record<keyof CachedKeyStoreOptions, z.ZodType>,
  'must be an object',
);

/** A store that is down is asked again no sooner where a stale key serves: nobody waits for it. */
const downMs = 1_000;

/**
 * Remembers what `store` finds, under the whole SHA-256 digest of the secret, never the secret.
 * Whether a key is disabled or has expired is for the gateway to judge, at each call.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function cachedKeyStore(
  store: KeyStore,
  options: CachedKeyStoreOptions = {},
): CachedKeyStore {
  const { ttlMs, negativeTtlMs, staleMs, timeoutMs, maxKeys, clock } = checked(store, options);
  // Apart, so that whoever tries secrets pushes no key out.
  const keys = lru(maxKeys);
  const misses = lru(maxKeys);
  let asked = new Map<string, Promise<ApiKey | undefined>>();

  const fresh = (digest: string): Found | undefined => {
    const found = keys.get(digest) ?? misses.get(digest);
    return found !== undefined && clock.monotonicMs() < found.freshUntilMs ? found : undefined;
  };

  /** Aged from before the store was asked: what was revoked meanwhile is believed no longer. */
  const keep = (digest: string, key: ApiKey | undefined, foundMs: number): void => {
    keys.delete(digest);
    misses.delete(digest);
    if (key === undefined)
      misses.set(digest, { key, foundMs, freshUntilMs: foundMs + negativeTtlMs });
    // Without an id it is no key, and could not be forgotten; the gateway tells of it.
    else if (typeof key.id === 'string')
      keys.set(digest, { key, foundMs, freshUntilMs: foundMs + ttlMs });
  };

  const stale = (digest: string, error: unknown): ApiKey | undefined => {
    const found = keys.get(digest);
    const nowMs = clock.monotonicMs();
    if (found === undefined || nowMs - found.foundMs > staleMs) throw error;
    const freshUntilMs = Math.min(nowMs + downMs, found.foundMs + staleMs);
    keys.set(digest, { ...found, freshUntilMs });
    return found.key;
  };

  const ask = (digest: string, secret: string): MaybePromise<ApiKey | undefined> => {
    const flights = asked;
    const startedMs = clock.monotonicMs();
    const take = (answer: ApiKey | undefined): ApiKey | undefined => {
      // A database's null is no key either.
      const key = answer ?? undefined;
      // What was asked before a `forget` may be what had to be forgotten.
      if (flights === asked) keep(digest, key, startedMs);
      return key;
    };
    try {
      const answer = store.find(secret, { timeoutMs });
      if (!isPromiseLike(answer)) return take(answer);
      const flight = within(Promise.resolve(answer), timeoutMs, clock)
        .then(take)
        .catch((error: unknown) => stale(digest, error))
        .finally(() => flights.delete(digest));
      flights.set(digest, flight);
      return flight;
    } catch (error) {
      return stale(digest, error);
    }
  };

  return {
    find: (secret) => {
      const digest = digestSecret(secret);
      const found = fresh(digest);
      if (found !== undefined) return found.key;
      return asked.get(digest) ?? ask(digest, secret);
    },
    forget: (keyId) => {
      asked = new Map();
      keys.deleteWhere(({ key }) => key?.id === keyId);
    },
    clear: () => {
      asked = new Map();
      keys.deleteWhere(() => true);
      misses.deleteWhere(() => true);
    },
  };
}

function checked(store: KeyStore, options: CachedKeyStoreOptions): Required<CachedKeyStoreOptions> {
  checkSetUp(methods('find'), store, {
    root: 'cachedKeyStore: store',
    remedyFor: () => 'Give it the store that knows the keys',
    names: 'the port KeyStore',
  });
  checkMakerOptions('cachedKeyStore', optionsSchema, options);
  const { ttlMs = 30_000, negativeTtlMs = 5_000, timeoutMs = 800, maxKeys = 10_000 } = options;
  const { staleMs = ttlMs, clock = systemClock() } = options;
  if (staleMs < ttlMs) {
    throw new ConfigurationError(
      'cachedKeyStore: options.staleMs must be at least ttlMs. Raise it, or leave it out for none.',
    );
  }
  return { ttlMs, negativeTtlMs, staleMs, timeoutMs, maxKeys, clock };
}

/** What a lookup gave, and until when it needs no other. */
interface Found {
  readonly key: ApiKey | undefined;
  readonly foundMs: number;
  readonly freshUntilMs: number;
}

/** So many lookups, those that were used last. */
interface Lru {
  get(digest: string): Found | undefined;
  set(digest: string, found: Found): void;
  delete(digest: string): void;
  deleteWhere(isGone: (found: Found) => boolean): void;
}

function lru(max: number): Lru {
  // A map keeps the order in which its entries came: the first is the one unused for longest.
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
    deleteWhere: (isGone) => {
      for (const [digest, found] of entries) if (isGone(found)) entries.delete(digest);
    },
  };
}
