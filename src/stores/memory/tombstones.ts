/**
 * The order in which ended items are forgotten, oldest first: a ring of slots, each with its time.
 * Entries are numbered in order, so that the number alone says whether an entry is still remembered
 * and in which slot. The caller keeps the data of each slot in flat arrays.
 */

/** Numbers the latest entries, and forgets the oldest: a ring that grows to its limit. */
export class Tombstones {
  readonly #limit: number;
  readonly #maxAgeMs: number;
  readonly #forget: (slot: number) => void;
  readonly #mask: number;
  readonly #times: number[] = [];
  #oldest: number;
  #next: number;

  /** @param forget called with the slot of each entry that is forgotten, before it is used again */
  constructor(limit: number, maxAgeMs: number, forget: (slot: number) => void) {
    this.#limit = limit;
    this.#maxAgeMs = maxAgeMs;
    this.#forget = forget;
    // A power of two, so that a bit mask finds the slot: dividing large numbers is slow.
    const slots = 2 ** Math.ceil(Math.log2(limit));
    this.#mask = slots - 1;
    this.#oldest = slots;
    this.#next = slots;
  }

  /**
   * Adds an entry and returns its number, above 0 and above all earlier ones. Forgets at most two
   * entries that are too old, and the oldest one if the ring is full.
   */
  add(atMs: number): number {
    // Two for each one added: old entries get fewer, and no single call removes all of them.
    for (let dropped = 0; dropped < 2 && this.#oldest < this.#next; dropped += 1) {
      if ((this.#times[this.#oldest & this.#mask] ?? 0) + this.#maxAgeMs > atMs) break;
      this.#dropOldest();
    }
    if (this.#next - this.#oldest === this.#limit) this.#dropOldest();
    const number = this.#next;
    this.#times[number & this.#mask] = atMs;
    this.#next += 1;
    return number;
  }

  nextNumber(): number {
    return this.#next;
  }

  /** Whether an entry is still remembered. Takes any number ever returned, and 0, for none. */
  has(number: number): boolean {
    return number >= this.#oldest;
  }

  /** The slot of the next or of a remembered entry. Slots are used in order, beginning with 0. */
  slotOf(number: number): number {
    return number & this.#mask;
  }

  #dropOldest(): void {
    this.#forget(this.#oldest & this.#mask);
    this.#oldest += 1;
  }
}
