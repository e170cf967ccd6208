/** Which store keeps what, by the databases of a configuration. */
import type { StoresConfig } from './config.ts';

type Database = 'sqlite' | 'postgres' | 'redis';

export type StoreChoice = {
  readonly [Name in Exclude<keyof StoresConfig, Database>]-?: NonNullable<StoresConfig[Name]>;
} & {
  /** The replicas, and the switches of channels. */
  readonly cluster: 'memory' | 'sqlite' | 'postgres';
};

/** The choices of a configuration, and which databases it has; their settings don't matter here. */
type ChosenStores = Omit<StoresConfig, Database> & { readonly [Name in Database]?: unknown };

/**
 * The chosen stores. The default is the first configured of PostgreSQL, SQLite and Redis that can
 * keep the data, else memory. Rates and the index of responses go to Redis first, because calls
 * change them often. Replies and their items are user data, and stay in memory by default.
 */
export function storeChoice(stores: ChosenStores = {}): StoreChoice {
  const { sqlite, postgres, redis } = stores;
  const tables = postgres !== undefined ? 'postgres' : sqlite !== undefined ? 'sqlite' : undefined;
  const shared = redis !== undefined ? 'redis' : 'memory';
  const often = redis !== undefined ? 'redis' : (tables ?? 'memory');
  return {
    keys: stores.keys ?? tables ?? 'memory',
    quota: stores.quota ?? tables ?? shared,
    usage: stores.usage ?? tables ?? 'memory',
    idempotency: stores.idempotency ?? tables ?? shared,
    rates: stores.rates ?? often,
    results: stores.results ?? 'memory',
    responseIndex: stores.responseIndex ?? often,
    items: stores.items ?? 'memory',
    audit: stores.audit ?? tables ?? 'memory',
    cluster: tables ?? 'memory',
  };
}
