/** Decides which database keeps what, and finds choices that can't work. */
import type { ServeConfig, StoreName, StoresConfig } from './config.ts';

/** What is kept somewhere, and the store that keeps it. */
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

/**
 * The chosen stores. What is not stated goes to PostgreSQL, else to SQLite, else to Redis, as far
 * as each can keep it. Replies and their items are user data, and stay in memory unless stated.
 */
export function storeChoice(stores: StoresConfig = {}): StoreChoice {
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

/** Members that contradict one another, each as a sentence with its remedy. */
export function storeProblems({ stores = {}, catalog, keys }: ServeConfig): readonly string[] {
  const choice = storeChoice(stores);
  const chosen: readonly (readonly [member: string, store: StoreName | undefined])[] = [
    ...Object.entries(choice).map(([name, store]) => [`stores.${name}`, store] as const),
    ['catalog.store', catalog.store],
  ];
  const missing = chosen.flatMap(([member, store]) =>
    store === undefined || store === 'memory' || stores[store] !== undefined
      ? []
      : [`${member} is "${store}", but there is no stores.${store}. Add it, or choose another.`],
  );
  const fixed =
    keys?.fixed === undefined || choice.keys === 'memory'
      ? []
      : [
          `keys.fixed is only for stores.keys "memory", and it is "${choice.keys}". ` +
            'Remove it, and issue keys by: npx tollgate keys issue.',
        ];
  return [...missing, ...fixed, ...repeatedIds(keys?.fixed?.map(({ id }) => id) ?? [])];
}

/** Ports that another member of the same file has already. */
export function portProblems({ listen, metrics, admin }: ServeConfig): readonly string[] {
  const ports = [
    { member: 'listen', port: listen?.port ?? 8_787 },
    ...(metrics === undefined ? [] : [{ member: 'metrics', port: metrics.port ?? 9_464 }]),
    ...(admin === undefined ? [] : [{ member: 'admin', port: admin.port ?? 8_788 }]),
  ];
  return ports.flatMap(({ member, port }, index) => {
    const other = ports.slice(0, index).find((earlier) => earlier.port === port && port !== 0);
    if (other === undefined) return [];
    return [`${member}.port is ${port}, as is ${other.member}.port. Choose another.`];
  });
}

function repeatedIds(ids: readonly string[]): readonly string[] {
  return ids.flatMap((id, index) =>
    ids.indexOf(id) === index
      ? []
      : [`keys.fixed[${index}].id "${id}" is taken. Give each key an id of its own.`],
  );
}
