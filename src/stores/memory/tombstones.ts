/**
 * The order in which what has ended is forgotten, oldest first: a ring of slots, each with its
 * time. Entries are numbered as they come, so that a number tells whether its entry is still
 * remembered, and where; what stands there is its owner's to keep, in flat lists.
 */

/** Numbers the latest entries, and forgets the oldest. */
export interface Tombstones {
  /**
   * The number of a new entry, above 0 and above all before. Forgets what is too old, at most two
   * at a time, and the oldest if full.
   */
  add(atMs: number): number;
  /** The slot of the entry that comes next. */
  nextSlot(): number;
  /** Whether an entry is remembered still: of any number that was ever given, and of 0. */
  has(number: number): boolean;
  /** The slot of an entry that is remembered. Slots are taken up in order, from 0 on. */
  slotOf(number: number): number;
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
  // A power of two, for a remainder by bits: the numbers grow beyond what divides cheaply.
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
      // Two for each one added: old entries shrink away, and no call pays for all of them.
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
