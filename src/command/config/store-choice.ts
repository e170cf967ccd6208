/** Decides which database keeps what. */
import type { StoreName, StoresConfig } from './config.ts';

/** The store for each kind of data. */
export interface StoreChoice {
  readonly keys: 'memory' | 'sqlite' | 'postgres';
  readonly quota: StoreName;
  readonly usage: 'memory' | 'sqlite' | 'postgres';
  readonly idempotency: StoreName;
  readonly rates: 'memory' | 'redis';
  readonly results: 'memory' | 'redis';
  readonly responseIndex: 'memory' | 'redis';
  readonly items: 'memory' | 'redis';
}

/** The choices of a configuration, and which databases it has; their settings don't matter here. */
type ChosenStores = Omit<StoresConfig, Database> & { readonly [Name in Database]?: unknown };

type Database = 'sqlite' | 'postgres' | 'redis';

/**
 * The chosen stores. The default is the first configured of PostgreSQL, SQLite and Redis that can
 * keep the data, else memory. Replies and their items are user data, and stay in memory by default.
 */
export function storeChoice(stores: ChosenStores = {}): StoreChoice {
  const { sqlite, postgres, redis } = stores;
  const tables = postgres !== undefined ? 'postgres' : sqlite !== undefined ? 'sqlite' : undefined;
  const shared = redis !== undefined ? 'redis' : 'memory';
  return {
    keys: stores.keys ?? tables ?? 'memory',
    quota: stores.quota ?? tables ?? shared,
    usage: stores.usage ?? tables ?? 'memory',
    idempotency: stores.idempotency ?? tables ?? shared,
    rates: stores.rates ?? shared,
    results: stores.results ?? 'memory',
    responseIndex: stores.responseIndex ?? shared,
    items: stores.items ?? 'memory',
  };
}
