/**
 * A bounded memory of what has ended, oldest forgotten first: a ring of entries, each with its
 * time.
 */

/** Remembers the latest entries, and forgets the oldest. */
export interface Tombstones<T> {
  /** Remembers an item. Forgets what is too old, at most two at a time, and the oldest if full. */
  add(item: T, atMs: number): void;
}

/** How many entries are remembered, how long, and what forgetting one means. */
export interface TombstoneOptions<T> {
  /** How many are remembered at most. */
  readonly limit: number;
  /** How long each is remembered, if there is room. */
  readonly maxAgeMs: number;
  /** Called with each item as it is forgotten, and the time it was added with. */
  readonly forget: (item: T, atMs: number) => void;
}

/** A ring that grows to its limit and then turns. */
export function tombstones<T>(options: TombstoneOptions<T>): Tombstones<T> {
  const { limit, maxAgeMs, forget } = options;
  const entries: (Entry<T> | undefined)[] = [];
  let first = 0;
  let count = 0;

  const dropFirst = (): void => {
    const entry = entries[first];
    entries[first] = undefined;
    first = (first + 1) % limit;
    count -= 1;
    if (entry !== undefined) forget(entry.item, entry.atMs);
  };

  const dropOld = (nowMs: number): void => {
    const entry = entries[first];
    if (count > 0 && entry !== undefined && entry.atMs + maxAgeMs <= nowMs) dropFirst();
  };

  return {
    add: (item, atMs) => {
      // Two for each one added: old entries shrink away, and no call pays for all of them.
      dropOld(atMs);
      dropOld(atMs);
      if (count === limit) dropFirst();
      entries[(first + count) % limit] = { item, atMs };
      count += 1;
    },
  };
}

interface Entry<T> {
  readonly item: T;
  readonly atMs: number;
}
