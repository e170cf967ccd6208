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

export class OwnedEntries<Value> {
  readonly #maxBytes: number;
  readonly #all: Entries<Value> = { byName: new Map(), bytes: 0 };
  readonly #owners = new Map<string, Entries<Value>>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The entry with this name, unless its time is over. */
  get(name: string, nowMs: number): OwnedEntry<Value> | undefined {
    const entry = this.#all.byName.get(name);
    return entry !== undefined && entry.forgetAtMs > nowMs ? entry : undefined;
  }

  /** Whether an entry of this size fits into the share of one owner. */
  fits(bytes: number): boolean {
    return bytes <= this.#maxBytes * ownerShare;
  }

  /** Adds an entry that fits as the last one, in place of the one with its name. */
  add(entry: OwnedEntry<Value>): void {
    this.remove(entry.name);
    const own = this.#owners.get(entry.owner) ?? { byName: new Map(), bytes: 0 };
    this.#owners.set(entry.owner, own);
    for (const entries of [this.#all, own]) {
      entries.byName.set(entry.name, entry);
      entries.bytes += entry.bytes;
    }
  }

  remove(name: string): void {
    const entry = this.#all.byName.get(name);
    const own = this.#owners.get(entry?.owner ?? '');
    if (entry === undefined || own === undefined) return;
    for (const entries of [this.#all, own]) {
      entries.byName.delete(name);
      entries.bytes -= entry.bytes;
    }
    if (own.byName.size === 0) this.#owners.delete(entry.owner);
  }

  /** Forgets what this owner keeps above its share, then what all keep above the bound. */
  makeRoom(owner: string, nowMs: number): void {
    const own = this.#owners.get(owner);
    if (own !== undefined) this.#removeFirst(own, () => this.fits(own.bytes));
    this.#removeFirst(
      this.#all,
      ({ forgetAtMs }) => this.#all.bytes <= this.#maxBytes && forgetAtMs > nowMs,
    );
  }

  forgetSome(owner: string): number {
    const names = [...(this.#owners.get(owner)?.byName.keys() ?? [])].slice(0, maxForgotten);
    for (const name of names) this.remove(name);
    return names.length;
  }

  /** Removes entries from the first one on, until one may stay. */
  #removeFirst({ byName }: Entries<Value>, mayStay: (entry: OwnedEntry<Value>) => boolean): void {
    for (const entry of byName.values()) {
      if (mayStay(entry)) return;
      this.remove(entry.name);
    }
  }
}
