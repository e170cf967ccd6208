/**
 * Finds what calls come into and go out of, by id. Not a `Map`: V8 gives one a new table every few
 * dozen calls, and the old tables keep the calls that stood in them (`docs/performance.md`).
 */

/** An id as it is looked for. */
export interface HashedId {
  readonly id: string;
  /** By {@link hashOf}. */
  readonly hash: number;
}

/** What can stand in a table: it is linked to the next of its bucket. */
export interface Chained<T> extends HashedId {
  next: T | undefined;
}

/** Items by their id. */
export interface HoldTable<T extends Chained<T>> {
  find(asked: HashedId): T | undefined;
  /** Puts in an item whose id is not there. */
  add(item: T): void;
  /** Takes out an item that is there. */
  delete(item: T): void;
}

/** A number for an id; ids that differ in one character only have others, too. */
export function hashOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  }
  // Tables look at the low bits, where the last characters alone would show.
  return hash ^ (hash >>> 15);
}

const fewestBuckets = 64;

/** An empty table. It grows and never shrinks: a crowd that came may come again. */
export function holdTable<T extends Chained<T>>(): HoldTable<T> {
  let buckets = emptyBuckets<T>(fewestBuckets);
  let count = 0;

  const bucketOf = (hash: number): number => hash & (buckets.length - 1);

  const put = (item: T): void => {
    const bucket = bucketOf(item.hash);
    item.next = buckets[bucket];
    buckets[bucket] = item;
  };

  const widen = (): void => {
    const before = buckets;
    buckets = emptyBuckets(before.length * 2);
    for (const first of before) {
      for (let item = first; item !== undefined; ) {
        const { next } = item;
        put(item);
        item = next;
      }
    }
  };

  return {
    find: ({ id, hash }) => {
      let item = buckets[bucketOf(hash)];
      while (item !== undefined && item.id !== id) item = item.next;
      return item;
    },
    add: (item) => {
      if (count === buckets.length) widen();
      put(item);
      count += 1;
    },
    delete: (item) => {
      const bucket = bucketOf(item.hash);
      let before = buckets[bucket];
      if (before === item) buckets[bucket] = item.next;
      else {
        while (before !== undefined && before.next !== item) before = before.next;
        if (before !== undefined) before.next = item.next;
      }
      // An old item must not keep the young ones behind it alive.
      item.next = undefined;
      count -= 1;
    },
  };
}

function emptyBuckets<T>(count: number): (T | undefined)[] {
  return Array.from({ length: count }, () => undefined);
}
