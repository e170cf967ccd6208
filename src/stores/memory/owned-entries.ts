/**
 * A table in memory that is bounded in bytes, for all owners together and for each owner by itself,
 * so that nobody can push out what others keep.
 */

/** One owner holds at most this share of a bounded store. */
export const ownerShare = 0.25;

/** How many entries of an owner are forgotten at once. */
const maxForgotten = 1_000;

/** An entry, whose name is unique among those of all owners. */
export interface OwnedEntry<Value> {
  readonly name: string;
  readonly owner: string;
  readonly value: Value;
  readonly bytes: number;
  readonly forgetAtMs: number;
}

/** Entries by name. The first ones are forgotten first. */
type Entries<Value> = Map<string, OwnedEntry<Value>>;

/** The entries of all owners, in the order in which they were added. */
export class OwnedEntries<Value> {
  readonly #maxBytes: number;
  readonly #entries: Entries<Value> = new Map();
  readonly #owners = new Map<string, { readonly entries: Entries<Value>; bytes: number }>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(name: string, nowMs: number): OwnedEntry<Value> | undefined {
    const entry = this.#entries.get(name);
    return entry !== undefined && entry.forgetAtMs > nowMs ? entry : undefined;
  }

  /** Whether an entry of this size fits into the share of one owner. */
  fits(bytes: number): boolean {
    return bytes <= this.#maxBytes * ownerShare;
  }

  /** Adds an entry that fits as the last one, in place of the one with its name. */
  add(entry: OwnedEntry<Value>): void {
    const { name, owner, bytes } = entry;
    this.remove(name);
    const own = this.#owners.get(owner) ?? { entries: new Map(), bytes: 0 };
    this.#owners.set(owner, own);
    this.#entries.set(name, entry);
    own.entries.set(name, entry);
    this.#bytes += bytes;
    own.bytes += bytes;
  }

  remove(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    const own = this.#owners.get(entry.owner);
    this.#entries.delete(name);
    this.#bytes -= entry.bytes;
    if (own === undefined) return;
    own.entries.delete(name);
    own.bytes -= entry.bytes;
    if (own.entries.size === 0) this.#owners.delete(entry.owner);
  }

  /** Forgets what this owner keeps above its share, then what all keep above the bound. */
  makeRoom(owner: string, nowMs: number): void {
    const own = this.#owners.get(owner);
    if (own !== undefined) this.#removeFirst(own.entries, () => this.fits(own.bytes));
    this.#removeFirst(this.#entries, ({ forgetAtMs }) => {
      return this.#bytes <= this.#maxBytes && forgetAtMs > nowMs;
    });
  }

  /** Forgets the first entries of an owner; returns how many. */
  forgetSome(owner: string): number {
    const own = this.#owners.get(owner)?.entries.keys() ?? [];
    const names = [...own].slice(0, maxForgotten);
    for (const name of names) this.remove(name);
    return names.length;
  }

  #removeFirst(entries: Entries<Value>, mayStay: (entry: OwnedEntry<Value>) => boolean): void {
    for (const entry of entries.values()) {
      if (mayStay(entry)) return;
      this.remove(entry.name);
    }
  }
}
