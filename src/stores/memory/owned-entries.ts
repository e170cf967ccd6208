/**
 * A table in memory that is bounded in bytes, for all owners together and for each owner by itself,
 * so that nobody can push out what others keep.
 */

/** One owner holds at most this share of a bounded store. */
export const ownerShare = 0.25;

const maxForgotten = 1_000;

/** An entry, whose name is unique among those of all owners. */
export interface OwnedEntry<Value> {
  readonly name: string;
  readonly owner: string;
  readonly value: Value;
  readonly bytes: number;
  readonly forgetAtMs: number;
}

interface Entries<Value> {
  readonly byName: Map<string, OwnedEntry<Value>>;
  bytes: number;
}

export interface OwnedEntries<Value> {
  /** The entry with this name, unless its time is over. */
  get(name: string, nowMs: number): OwnedEntry<Value> | undefined;
  /** Whether an entry of this size fits into the share of one owner. */
  fits(bytes: number): boolean;
  /** Adds an entry that fits as the last one, in place of the one with its name. */
  add(entry: OwnedEntry<Value>): void;
  remove(name: string): void;
  /** Forgets what this owner keeps above its share, then what all keep above the bound. */
  makeRoom(owner: string, nowMs: number): void;
  forgetSome(owner: string): number;
}

export function ownedEntries<Value>(maxBytes: number): OwnedEntries<Value> {
  const table: Table<Value> = { all: { byName: new Map(), bytes: 0 }, owners: new Map() };
  const { all, owners } = table;
  const fits = (bytes: number): boolean => bytes <= maxBytes * ownerShare;
  return {
    get: (name, nowMs) => {
      const entry = all.byName.get(name);
      return entry !== undefined && entry.forgetAtMs > nowMs ? entry : undefined;
    },
    fits,
    add: (entry) => add(table, entry),
    remove: (name) => remove(table, name),
    makeRoom: (owner, nowMs) => {
      const own = owners.get(owner);
      if (own !== undefined) removeFirst(table, own, () => fits(own.bytes));
      const mayStay = ({ forgetAtMs }: OwnedEntry<Value>): boolean =>
        all.bytes <= maxBytes && forgetAtMs > nowMs;
      removeFirst(table, all, mayStay);
    },
    forgetSome: (owner) => {
      const names = [...(owners.get(owner)?.byName.keys() ?? [])].slice(0, maxForgotten);
      for (const name of names) remove(table, name);
      return names.length;
    },
  };
}

interface Table<Value> {
  readonly all: Entries<Value>;
  readonly owners: Map<string, Entries<Value>>;
}

function add<Value>(table: Table<Value>, entry: OwnedEntry<Value>): void {
  remove(table, entry.name);
  const own = table.owners.get(entry.owner) ?? { byName: new Map(), bytes: 0 };
  table.owners.set(entry.owner, own);
  for (const entries of [table.all, own]) {
    entries.byName.set(entry.name, entry);
    entries.bytes += entry.bytes;
  }
}

function remove<Value>({ all, owners }: Table<Value>, name: string): void {
  const entry = all.byName.get(name);
  const own = owners.get(entry?.owner ?? '');
  if (entry === undefined || own === undefined) return;
  for (const entries of [all, own]) {
    entries.byName.delete(name);
    entries.bytes -= entry.bytes;
  }
  if (own.byName.size === 0) owners.delete(entry.owner);
}

/** Removes entries from the first one on, until one may stay. */
function removeFirst<Value>(
  table: Table<Value>,
  { byName }: Entries<Value>,
  mayStay: (entry: OwnedEntry<Value>) => boolean,
): void {
  for (const entry of byName.values()) {
    if (mayStay(entry)) return;
    remove(table, entry.name);
  }
}
