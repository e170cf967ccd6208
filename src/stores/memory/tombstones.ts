/**
 * The order in which ended items are forgotten, oldest first: a ring of slots, each with its time.
 * Entries are numbered in order, so that the number alone says whether an entry is still remembered
 * and in which slot. The caller keeps the data of each slot in flat arrays.
 */

/** Numbers the latest entries, and forgets the oldest. */
export interface Tombstones {
  /**
   * Adds an entry and returns its number, above 0 and above all earlier ones. Forgets at most two
   * entries that are too old, and the oldest one if the ring is full.
   */
  add(atMs: number): number;
  /** The slot of the next entry. */
  nextSlot(): number;
  /** Whether an entry is still remembered. Takes any number ever returned, and 0, for none. */
  has(number: number): boolean;
  /** The slot of a remembered entry. Slots are used in order, beginning with 0. */
  slotOf(number: number): number;
}

/** How many entries are remembered and for how long, and what to do when one is forgotten. */
export interface TombstoneOptions {
  /** How many are remembered at most. */
  readonly limit: number;
  /** How long each is remembered, within `limit`. */
  readonly maxAgeMs: number;
  /** Called with the slot of each entry as it is forgotten, before the slot is used again. */
  readonly forget: (slot: number) => void;
}

/** An empty ring that grows to its limit and then reuses the oldest slots. */
export function tombstones(options: TombstoneOptions): Tombstones {
  const { limit, maxAgeMs, forget } = options;
  // A power of two, so that a bit mask finds the slot: dividing large numbers is slow.
  const slots = leastPowerOfTwo(limit);
  const times: number[] = [];
  let oldest = slots;
  let next = slots;

  const slotOf = (number: number): number => number & (slots - 1);

  const dropOldest = (): void => {
    forget(slotOf(oldest));
    oldest += 1;
  };

  const dropOld = (nowMs: number): void => {
    const atMs = times[slotOf(oldest)];
    if (oldest < next && atMs !== undefined && atMs + maxAgeMs <= nowMs) dropOldest();
  };

  return {
    add: (atMs) => {
      // Two for each one added: old entries get fewer, and no single call removes all of them.
      dropOld(atMs);
      dropOld(atMs);
      if (next - oldest === limit) dropOldest();
      const number = next;
      times[slotOf(number)] = atMs;
      next += 1;
      return number;
    },
    nextSlot: () => slotOf(next),
    has: (number) => number >= oldest,
    slotOf,
  };
}

/** The least power of two that is not below a count. */
export function leastPowerOfTwo(count: number): number {
  return 2 ** Math.ceil(Math.log2(count));
}
