/**
 * An item store in a table, so that a call may refer to the items of a reply that another process
 * has sent.
 *
 * Items are user data, so this store is used only if a host sets it up.
 */
import type { Promised } from '../../ports/call-options.ts';
import type { ItemStore, StoredItem } from '../../ports/replies/item-store.ts';
import { ownerShare } from '../memory/owned-entries.ts';
import { textAt } from './columns.ts';
import type { SqlEngine } from './engine.ts';
import { contentOf, defaultKeptBytes, idList, keep, keptStatements } from './kept.ts';

/** How many bytes are kept. */
export interface SqlItemStoreOptions {
  /**
   * For all items together, with half a KiB of overhead for each; a quarter of it for those of one
   * owner. Default: 64 MiB.
   */
  readonly maxBytes?: number;
  /** A larger item is not kept. Default: 256 KiB. */
  readonly maxItemBytes?: number;
}

/** An {@link ItemStore} whose methods always return promises. */
export interface SqlItemStore extends Promised<Required<ItemStore>> {}

/** What an item takes besides its bytes. */
const entryBytes = 512;

/** A store over migrated tables. The least recently used items are forgotten first. */
export function sqlItemStore(
  engine: SqlEngine,
  { maxBytes = defaultKeptBytes, maxItemBytes = 256 * 1024 }: SqlItemStoreOptions,
): SqlItemStore {
  const sql = keptStatements(engine.dialect);
  const maxOwnerBytes = Math.floor(maxBytes * ownerShare);
  const fits = ({ json: { byteLength } }: StoredItem): boolean =>
    byteLength <= maxItemBytes && byteLength + entryBytes <= maxOwnerBytes;
  return {
    put: async (owner, items, ttlMs, options) => {
      const entries = items
        .filter(fits)
        .map(({ id, json }) => ({ id, content: json, size: json.byteLength + entryBytes }));
      const bounds = { kind: 'item', owner, ttlMs, maxBytes, maxOwnerBytes } as const;
      if (entries.length > 0) await keep(engine, bounds, entries, options);
      return items.filter((item) => !fits(item)).map(({ id }) => id);
    },
    get: async (owner, ids, options) => {
      if (ids.length === 0) return [];
      const [rows] = await Promise.all([
        engine.read(sql.items, [owner, idList(ids)], options),
        engine.call('use', { owner, ids }, options),
      ]);
      const found = new Map(rows.map((row) => [textAt(row, 'id'), contentOf(row)]));
      return ids.map((id) => found.get(id));
    },
    forget: async (owner, ids, options) => {
      await engine.change(sql.forgetItems, [owner, idList(ids)], options);
    },
    forgetOwner: (owner, options) => engine.change(sql.forgetOwner, ['item', owner], options),
  };
}
