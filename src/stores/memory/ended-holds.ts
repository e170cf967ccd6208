/**
 * Ended holds of the memory quota store: just enough to answer a repeated request for an id. There
 * are up to a hundred thousand, so they are kept in flat typed arrays by slot, ids included:
 * strings and objects would make up most of the garbage collector's work.
 *
 * Lookup works like zlib's hash chains: each bucket has the number of its latest entry, and each
 * entry the number of the one before it. Entries are never removed from a chain. The numbers along
 * a chain only decrease, so it ends at the first number that has been forgotten.
 */
import type { Nanos } from '../../money.ts';
import { maxLines } from '../../ports/limits/quota-input.ts';
import type { QuotaLine } from '../../ports/limits/quota-store.ts';
import type { HashedId } from './hold-table.ts';
import { Tombstones } from './tombstones.ts';

export type HoldEnding = 'settled' | 'released' | 'expired';

/** What an expiry has charged to a row; a late settle takes it back. */
export interface ExpiryCharge {
  readonly row: { used: Nanos };
  readonly onExpire: Nanos;
}

export interface EndedHold<Charge> {
  readonly as: HoldEnding;
  /** For `settled`: the final charge, by line. */
  readonly charged: readonly Charge[];
  /** For `expired`: the charges of the expiry. */
  readonly expiry: readonly ExpiryCharge[];
}

/** The id of an ended hold; ids are unique within a partition. */
export interface EndedId extends HashedId {
  readonly partition: { readonly number: number };
}

const endings: readonly HoldEnding[] = ['settled', 'released', 'expired'];
/** The length limit of `quota-input.ts`; a shorter id ends with a zero, which no id contains. */
const idBytes = 64;
const minSlots = 64;
const maxBuckets = 2 ** 20;
/** Keeps every typed array below the maximum length. */
const maxEnded = 2 ** 24;

export class EndedHolds {
  readonly #expiries = new Map<number, readonly ExpiryCharge[]>();
  readonly #order: Tombstones;
  #lists = emptyLists(minSlots);
  #capacity = minSlots;

  constructor(limit: number, maxAgeMs: number) {
    this.#order = new Tombstones(Math.min(limit, maxEnded), maxAgeMs, (slot) => {
      this.#expiries.delete(slot);
    });
  }

  /** Remembers an ending; a later one of the same id replaces it. */
  add(name: EndedId, end: EndedHold<Pick<QuotaLine, 'amount'>>, nowMs: number): void {
    const next = this.#order.nextNumber();
    if (this.#order.slotOf(next) >= this.#capacity) this.#grow(next);
    const number = this.#order.add(nowMs);
    const slot = this.#order.slotOf(number);
    const { hashes, partitions, ids, kinds, counts, amounts } = this.#lists;
    hashes[slot] = name.hash;
    chain(this.#lists, slot, number);
    partitions[slot] = name.partition.number;
    writeId(ids, slot, name.id);
    kinds[slot] = endings.indexOf(end.as);
    counts[slot] = end.charged.length;
    for (let index = 0; index < end.charged.length; index += 1) {
      amounts[slot * maxLines + index] = end.charged[index]?.amount ?? 0n;
    }
    if (end.expiry.length > 0) this.#expiries.set(slot, end.expiry);
  }

  find(name: EndedId): EndedHold<Nanos> | undefined {
    const { kinds, counts, amounts } = this.#lists;
    const slot = this.#slotOf(name);
    const as = slot === undefined ? undefined : endings[kinds[slot] ?? 0];
    if (slot === undefined || as === undefined) return undefined;
    const start = slot * maxLines;
    const charged = [...amounts.subarray(start, start + (counts[slot] ?? 0))];
    return { as, charged, expiry: this.#expiries.get(slot) ?? [] };
  }

  /** Allocates all arrays before using any: an allocation may fail for lack of memory. */
  #grow(nextNumber: number): void {
    const { hashes, partitions, ids, kinds, counts, amounts } = this.#lists;
    const wider = emptyLists(2 * this.#capacity);
    wider.hashes.set(hashes);
    wider.partitions.set(partitions);
    wider.ids.set(ids);
    wider.kinds.set(kinds);
    wider.counts.set(counts);
    wider.amounts.set(amounts);
    // Until the ring is full, slots are in the order of their numbers.
    for (let slot = 0; slot < this.#capacity; slot += 1) {
      chain(wider, slot, nextNumber - this.#capacity + slot);
    }
    this.#lists = wider;
    this.#capacity *= 2;
  }

  #slotOf({ partition, id, hash }: EndedId): number | undefined {
    const { latest, before, hashes, partitions, ids } = this.#lists;
    let number = latest[hash & (latest.length - 1)] ?? 0;
    while (this.#order.has(number)) {
      const slot = this.#order.slotOf(number);
      if (hashes[slot] === hash && partitions[slot] === partition.number && hasId(ids, slot, id)) {
        return slot;
      }
      number = before[slot] ?? 0;
    }
    return undefined;
  }
}

/** Puts an entry at the beginning of its bucket's chain. */
function chain({ latest, before, hashes }: EndedLists, slot: number, number: number): void {
  const bucket = (hashes[slot] ?? 0) & (latest.length - 1);
  before[slot] = latest[bucket] ?? 0;
  latest[bucket] = number;
}

function writeId(ids: Uint8Array, slot: number, id: string): void {
  const start = slot * idBytes;
  for (let at = 0; at < id.length; at += 1) ids[start + at] = id.charCodeAt(at);
  if (id.length < idBytes) ids[start + id.length] = 0;
}

function hasId(ids: Uint8Array, slot: number, id: string): boolean {
  const start = slot * idBytes;
  for (let at = 0; at < id.length; at += 1) {
    if (ids[start + at] !== id.charCodeAt(at)) return false;
  }
  return id.length === idBytes || ids[start + id.length] === 0;
}

type EndedLists = ReturnType<typeof emptyLists>;

/** Arrays for this many endings, with as many buckets; `latest` has the last entry of each. */
function emptyLists(capacity: number) {
  return {
    latest: new Float64Array(Math.min(capacity, maxBuckets)),
    before: new Float64Array(capacity),
    hashes: new Int32Array(capacity),
    partitions: new Int32Array(capacity),
    ids: new Uint8Array(capacity * idBytes),
    kinds: new Uint8Array(capacity),
    counts: new Uint8Array(capacity),
    amounts: new BigInt64Array(capacity * maxLines),
  };
}
