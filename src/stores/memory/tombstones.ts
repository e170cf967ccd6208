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
  nextNumber(): number;
  /** Whether an entry is still remembered. Takes any number ever returned, and 0, for none. */
  has(number: number): boolean;
  /** The slot of the next or of a remembered entry. Slots are used in order, beginning with 0. */
  slotOf(number: number): number;
}

export interface TombstoneOptions {
  readonly limit: number;
  readonly maxAgeMs: number;
  /** Called with the slot of each entry as it is forgotten, before the slot is used again. */
  readonly forget: (slot: number) => void;
}

/** An empty ring that grows to its limit and then reuses the oldest slots. */
export function tombstones(options: TombstoneOptions): Tombstones {
  const { limit, maxAgeMs, forget } = options;
  // A power of two, so that a bit mask finds the slot: dividing large numbers is slow.
  const slots = leastPowerOfTwo(limit);
  const mask = slots - 1;
  const times: number[] = [];
  let oldest = slots;
  let next = slots;

  const dropOldest = (): void => {
    forget(oldest & mask);
    oldest += 1;
  };

  return {
    add: (atMs) => {
      // Two for each one added: old entries get fewer, and no single call removes all of them.
      for (let dropped = 0; dropped < 2 && oldest < next; dropped += 1) {
        if ((times[oldest & mask] ?? 0) + maxAgeMs > atMs) break;
        dropOldest();
      }
      if (next - oldest === limit) dropOldest();
      const number = next;
      times[number & mask] = atMs;
      next += 1;
      return number;
    },
    nextNumber: () => next,
    has: (number) => number >= oldest,
    slotOf: (number) => number & mask,
  };
}

function leastPowerOfTwo(count: number): number {
  return 2 ** Math.ceil(Math.log2(count));
}
