/** Keeps the index of responses and items in this process's memory, bounded in number. */
import type { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type { IndexEntry, ResponseIndex } from '../../ports/replies/response-index.ts';
import { aClock, checkMakerOptions, positive, strict } from '../../ports/set-up.ts';
import { ownerShare } from './owned-entries.ts';

/** How many entries are kept. */
export interface MemoryResponseIndexOptions {
  /** What tells the time. Default: the machine's; a test passes a fake one. */
  readonly clock?: Clock;
  /**
   * How many entries are kept, of about 200 bytes each. Above that, an owner with more than a
   * quarter of them loses its own oldest entry; otherwise the oldest of all is forgotten. Default:
   * 100,000.
   */
  readonly maxEntries?: number;
}

/** How many entries of an owner are forgotten at once. */
const maxForgotten = 1_000;

const optionsSchema = strict('must be an object', {
  clock: aClock.optional(),
  maxEntries: positive.optional(),
} satisfies Record<keyof MemoryResponseIndexOptions, z.ZodType>);

/**
 * An index in memory; its methods return directly, never a promise.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function memoryResponseIndex(options: MemoryResponseIndexOptions = {}): ResponseIndex {
  checkMakerOptions('memoryResponseIndex', optionsSchema, options);
  const { clock = systemClock(), maxEntries = 100_000 } = options;
  const table: EntryTable = { entries: new Map(), owners: new Map() };
  return {
    durability: 'process',
    remember: (added) => {
      forgetExpired(table, clock.now());
      for (const entry of added) {
        add(table, entry);
        if (table.entries.size > maxEntries) forgetOldest(table, entry.owner, maxEntries);
      }
    },
    find: (owner, ids) => {
      const nowMs = clock.now();
      return ids.map((id) => {
        const entry = table.entries.get(nameOf(owner, id));
        return entry !== undefined && entry.expiresAtMs > nowMs ? entry : undefined;
      });
    },
    forget: (owner, ids) => {
      for (const id of ids) remove(table, owner, nameOf(owner, id));
    },
    forgetOwner: (owner) => {
      const names = [...(table.owners.get(owner) ?? [])].slice(0, maxForgotten);
      for (const name of names) remove(table, owner, name);
      return names.length;
    },
  };
}

/** All in order of age: an entry that is remembered again is appended again. */
interface EntryTable {
  readonly entries: Map<string, IndexEntry>;
  /** The names of the entries of each owner. */
  readonly owners: Map<string, Set<string>>;
}

function add(table: EntryTable, entry: IndexEntry): void {
  const { owner, id } = entry;
  const name = nameOf(owner, id);
  remove(table, owner, name);
  table.entries.set(name, { ...entry });
  const own = table.owners.get(owner) ?? new Set<string>();
  table.owners.set(owner, own.add(name));
}

function remove(table: EntryTable, owner: string, name: string): void {
  const own = table.owners.get(owner);
  table.entries.delete(name);
  own?.delete(name);
  if (own?.size === 0) table.owners.delete(owner);
}

/** No id contains a line feed, so that no owner and id can look like another pair. */
function nameOf(owner: string, id: string): string {
  return `${id}\n${owner}`;
}

function forgetExpired(table: EntryTable, nowMs: number): void {
  for (const [name, { owner, expiresAtMs }] of table.entries) {
    if (expiresAtMs > nowMs) return;
    remove(table, owner, name);
  }
}

/**
 * Forgets the oldest entry: one of this owner if it has more than its share, so that nobody can
 * push out those of others.
 */
function forgetOldest(table: EntryTable, owner: string, maxEntries: number): void {
  const own = table.owners.get(owner);
  const isAboveShare = own !== undefined && own.size > maxEntries * ownerShare;
  const [name] = isAboveShare ? own : table.entries.keys();
  const entry = name === undefined ? undefined : table.entries.get(name);
  if (name !== undefined && entry !== undefined) remove(table, entry.owner, name);
}
