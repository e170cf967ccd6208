/**
 * Keeps items of replies in this process's memory, bounded by bytes and age. The least recently
 * used are forgotten first: those of an owner that exceeds its share, otherwise those of all
 * owners.
 */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type { ItemStore } from '../../ports/item-store.ts';
import { aClock, checkMakerOptions, positive } from '../../ports/set-up.ts';

/** How many bytes are kept. */
export interface MemoryItemStoreOptions {
  readonly clock?: Clock;
  /** For all items together; a quarter of it for those of one owner. Default: 64 MiB. */
  readonly maxBytes?: number;
  /** A larger item is not kept. Default: 256 KiB. */
  readonly maxItemBytes?: number;
}

const optionsSchema = z.strictObject(
  {
    clock: aClock.optional(),
    maxBytes: positive.optional(),
    maxItemBytes: positive.optional(),
  } satisfies Record<keyof MemoryItemStoreOptions, z.ZodType>,
  'must be an object',
);

/** Estimated memory of an item besides its bytes. */
const entryBytes = 512;
/** One owner holds at most this share of the bytes. */
const ownerShare = 0.25;
/** How many items of an owner are forgotten at once. */
const maxForgotten = 1_000;

/**
 * An item store in memory; its methods return directly, never a promise.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function memoryItemStore(options: MemoryItemStoreOptions = {}): ItemStore {
  checkMakerOptions('memoryItemStore', optionsSchema, options);
  const { clock = systemClock(), maxBytes = 64 * 1024 * 1024, maxItemBytes = 256 * 1024 } = options;
  const table: ItemTable = { items: new Map(), owners: new Map(), bytes: 0 };
  const maxOwnerBytes = maxBytes * ownerShare;
  return {
    put: (owner, items, ttlMs) => {
      const nowMs = clock.monotonicMs();
      const tooLarge: string[] = [];
      for (const { id, json } of items) {
        remove(table, owner, id);
        if (json.byteLength > maxItemBytes || sizeOf(json) > maxOwnerBytes) tooLarge.push(id);
        // A copy: the given bytes may be a view of a larger buffer, or be overwritten later.
        else add(table, { owner, id, json: new Uint8Array(json), forgetAtMs: nowMs + ttlMs });
      }
      const own = table.owners.get(owner);
      if (own !== undefined) removeOldest(table, own.items, () => own.bytes <= maxOwnerBytes);
      removeOldest(table, table.items, ({ forgetAtMs }) => {
        return table.bytes <= maxBytes && forgetAtMs > nowMs;
      });
      return tooLarge;
    },
    get: (owner, ids) => {
      const nowMs = clock.monotonicMs();
      return ids.map((id) => {
        const item = table.items.get(nameOf(owner, id));
        if (item === undefined || item.forgetAtMs <= nowMs) return undefined;
        // Appended again, because the first ones are forgotten first.
        remove(table, owner, id);
        add(table, item);
        return item.json;
      });
    },
    forget: (owner, ids) => {
      for (const id of ids) remove(table, owner, id);
    },
    forgetOwner: (owner) => removeSome(table, owner),
  };
}

interface Kept {
  readonly owner: string;
  readonly id: string;
  readonly json: Uint8Array;
  readonly forgetAtMs: number;
}

/** Items in the order of their last use, by name. */
type Items = Map<string, Kept>;

interface OwnItems {
  readonly items: Items;
  bytes: number;
}

interface ItemTable {
  readonly items: Items;
  readonly owners: Map<string, OwnItems>;
  bytes: number;
}

/** No id contains a line feed, so that no owner and id can look like another pair. */
function nameOf(owner: string, id: string): string {
  return `${id}\n${owner}`;
}

function add(table: ItemTable, item: Kept): void {
  const name = nameOf(item.owner, item.id);
  const own = table.owners.get(item.owner) ?? { items: new Map<string, Kept>(), bytes: 0 };
  table.owners.set(item.owner, own);
  table.items.set(name, item);
  own.items.set(name, item);
  table.bytes += sizeOf(item.json);
  own.bytes += sizeOf(item.json);
}

function remove(table: ItemTable, owner: string, id: string): void {
  const name = nameOf(owner, id);
  const item = table.items.get(name);
  const own = table.owners.get(owner);
  if (item === undefined || own === undefined) return;
  table.items.delete(name);
  own.items.delete(name);
  table.bytes -= sizeOf(item.json);
  own.bytes -= sizeOf(item.json);
  if (own.items.size === 0) table.owners.delete(owner);
}

/** Forgets the items of an owner that were not used for the longest time; returns how many. */
function removeSome(table: ItemTable, owner: string): number {
  const oldest = [...(table.owners.get(owner)?.items.values() ?? [])].slice(0, maxForgotten);
  for (const { id } of oldest) remove(table, owner, id);
  return oldest.length;
}

/** Forgets items from the first one on, until one may stay. */
function removeOldest(table: ItemTable, items: Items, mayStay: (item: Kept) => boolean): void {
  for (const item of items.values()) {
    if (mayStay(item)) return;
    remove(table, item.owner, item.id);
  }
}

function sizeOf({ byteLength }: Uint8Array): number {
  return byteLength + entryBytes;
}
