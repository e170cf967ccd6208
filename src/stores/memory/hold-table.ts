/**
 * A hash table of items by id that tolerates frequent adds and deletes. Not a `Map`: V8 reallocates
 * its table every few dozen calls, and the old tables keep their items alive
 * (`docs/internals/performance.md`).
 */

export interface HashedId {
  readonly id: string;
  /** Computed by {@link hashOf}. */
  readonly hash: number;
}

export interface Chained<T> extends HashedId {
  next: T | undefined;
}

/** A 32-bit FNV-1a hash of an id; ids that differ in one character have different hashes. */
export function hashOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  }
  // Tables use the low bits, which otherwise depend mostly on the last characters.
  return hash ^ (hash >>> 15);
}

const minBuckets = 64;

/** It never shrinks, since a peak load may return. */
export class HoldTable<T extends Chained<T>> {
  #buckets = emptyBuckets<T>(minBuckets);
  #count = 0;

  find({ id, hash }: HashedId): T | undefined {
    let item = this.#buckets[hash & (this.#buckets.length - 1)];
    while (item !== undefined && item.id !== id) item = item.next;
    return item;
  }

  /** Adds an item whose id is not in the table. */
  add(item: T): void {
    if (this.#count === this.#buckets.length) this.#buckets = rehashed(this.#buckets);
    put(this.#buckets, item);
    this.#count += 1;
  }

  /** Removes an item that is in the table. */
  delete(item: T): void {
    const buckets = this.#buckets;
    const bucket = item.hash & (buckets.length - 1);
    if (buckets[bucket] === item) buckets[bucket] = item.next;
    else unlink(buckets[bucket], item);
    // A deleted item must not keep the newer ones in its bucket alive.
    item.next = undefined;
    this.#count -= 1;
  }
}

function put<T extends Chained<T>>(buckets: (T | undefined)[], item: T): void {
  const bucket = item.hash & (buckets.length - 1);
  item.next = buckets[bucket];
  buckets[bucket] = item;
}

function rehashed<T extends Chained<T>>(buckets: readonly (T | undefined)[]): (T | undefined)[] {
  const wider = emptyBuckets<T>(buckets.length * 2);
  for (const first of buckets) {
    for (let item = first; item !== undefined; ) {
      const { next } = item;
      put(wider, item);
      item = next;
    }
  }
  return wider;
}

function emptyBuckets<T>(count: number): (T | undefined)[] {
  return Array.from({ length: count }, () => undefined);
}

/** Removes an item from the chain that begins with `first`, which is another item. */
function unlink<T extends Chained<T>>(first: T | undefined, item: T): void {
  let before = first;
  while (before !== undefined && before.next !== item) before = before.next;
  if (before !== undefined) before.next = item.next;
}
