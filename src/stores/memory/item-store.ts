/**
 * Keeps items of replies in this process's memory, bounded by bytes and age. The least recently
 * used are forgotten first: those of an owner that exceeds its share, otherwise those of all
 * owners.
 */
import type { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type { ItemStore } from '../../ports/replies/item-store.ts';
import { aClock, checkMakerOptions, positive, strict } from '../../ports/set-up.ts';
import { OwnedEntries } from './owned-entries.ts';

/** How many bytes are kept. */
export interface MemoryItemStoreOptions {
  /** What tells the time. Default: the machine's; a test passes a fake one. */
  readonly clock?: Clock;
  /** For all items together; a quarter of it for those of one owner. Default: 64 MiB. */
  readonly maxBytes?: number;
  /** A larger item is not kept. Default: 256 KiB. */
  readonly maxItemBytes?: number;
}

const optionsSchema = strict('must be an object', {
  clock: aClock.optional(),
  maxBytes: positive.optional(),
  maxItemBytes: positive.optional(),
} satisfies Record<keyof MemoryItemStoreOptions, z.ZodType>);

/** Estimated memory of an item besides its bytes. */
const entryBytes = 512;

/**
 * An item store in memory; its methods return directly, never a promise.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function memoryItemStore(options: MemoryItemStoreOptions = {}): ItemStore {
  checkMakerOptions('memoryItemStore', optionsSchema, options);
  const { clock = systemClock(), maxBytes = 64 * 1024 * 1024, maxItemBytes = 256 * 1024 } = options;
  const table = new OwnedEntries<Uint8Array>(maxBytes);
  return {
    put: (owner, items, ttlMs) => {
      const nowMs = clock.monotonicMs();
      const tooLarge: string[] = [];
      for (const { id, json } of items) {
        const name = nameOf(owner, id);
        table.remove(name);
        const bytes = json.byteLength + entryBytes;
        if (json.byteLength > maxItemBytes || !table.fits(bytes)) {
          tooLarge.push(id);
          continue;
        }
        // A copy: the given bytes may be a view of a larger buffer, or be overwritten later.
        const value = new Uint8Array(json);
        table.add({ name, owner, value, bytes, forgetAtMs: nowMs + ttlMs });
      }
      table.makeRoom(owner, nowMs);
      return tooLarge;
    },
    get: (owner, ids) => {
      const nowMs = clock.monotonicMs();
      return ids.map((id) => {
        const item = table.get(nameOf(owner, id), nowMs);
        // Added again, because the first ones are forgotten first.
        if (item !== undefined) table.add(item);
        return item?.value;
      });
    },
    forget: (owner, ids) => {
      for (const id of ids) table.remove(nameOf(owner, id));
    },
    forgetOwner: (owner) => table.forgetSome(owner),
  };
}

/** No id contains a line feed, so that no owner and id can look like another pair. */
function nameOf(owner: string, id: string): string {
  return `${id}\n${owner}`;
}
