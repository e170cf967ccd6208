/**
 * The order in which what has ended is forgotten, oldest first: a ring of numbered slots, each with
 * its time. What stands in a slot is its owner's to keep, by the number, in flat lists.
 */

/** Hands out slots for the latest entries, and takes the oldest back. */
export interface Tombstones {
  /**
   * The slot of a new entry. Forgets what is too old, at most two at a time, and the oldest if
   * full.
   */
  add(atMs: number): number;
}

/** How many entries are remembered, how long, and what forgetting one means. */
export interface TombstoneOptions {
  /** How many are remembered at most. */
  readonly limit: number;
  /** How long each is remembered, if there is room. */
  readonly maxAgeMs: number;
  /** Called with the slot of each entry as it is forgotten, before the slot is used again. */
  readonly forget: (slot: number) => void;
}

/** A ring that grows to its limit and then turns. */
export function tombstones(options: TombstoneOptions): Tombstones {
  const { limit, maxAgeMs, forget } = options;
  const times: number[] = [];
  let first = 0;
  let count = 0;

  const dropFirst = (): void => {
    forget(first);
    first = (first + 1) % limit;
    count -= 1;
  };

  const dropOld = (nowMs: number): void => {
    const atMs = times[first];
    if (count > 0 && atMs !== undefined && atMs + maxAgeMs <= nowMs) dropFirst();
  };

  return {
    add: (atMs) => {
      // Two for each one added: old entries shrink away, and no call pays for all of them.
      dropOld(atMs);
      dropOld(atMs);
      if (count === limit) dropFirst();
      const slot = (first + count) % limit;
      times[slot] = atMs;
      count += 1;
      return slot;
    },
  };
}
