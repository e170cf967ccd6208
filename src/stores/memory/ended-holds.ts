/**
 * What the memory quota store keeps of a hold that has ended: what a repeat of its id is answered
 * with, and nothing else. Flat lists of numbers by slot, ids among them, for there are a hundred
 * thousand: strings and objects would be the most of what the collector walks through.
 *
 * An id is found as zlib finds an earlier text: each bucket knows the number of its latest entry,
 * and each entry that of the one before it. Nothing is ever taken out of a chain. Numbers only
 * fall along it, and it ends at the first that is forgotten.
 */
import type { Nanos } from '../../money.ts';
import { maxLines } from '../../ports/quota-input.ts';
import type { QuotaLine } from '../../ports/quota-store.ts';
import type { HashedId } from './hold-table.ts';
import { leastPowerOfTwo, tombstones } from './tombstones.ts';

/** How a hold ended. */
export type HoldEnding = 'settled' | 'released' | 'expired';

/** What a late settle has to take back of an expiry. */
export interface ExpiryCharge {
  readonly row: { used: Nanos };
  readonly onExpire: Nanos;
}

/** The end of one hold. */
export interface EndedHold<Charge> {
  readonly as: HoldEnding;
  /** Settled: the final charge, by line. */
  readonly charged: readonly Charge[];
  /** Expired: what that charged. */
  readonly expiry: readonly ExpiryCharge[];
}

/** Whose end it is: ids are a partition's own. */
export interface EndedId extends HashedId {
  readonly partition: { readonly number: number };
}

/** The holds that have ended, of all partitions, as long as they are remembered. */
export interface EndedHolds {
  /** Remembers an end; a later one of the same id takes its place. */
  add(whose: EndedId, end: EndedHold<Pick<QuotaLine, 'amount'>>, nowMs: number): void;
  /** How the hold of this id ended, or undefined. */
  find(whose: EndedId): EndedHold<Nanos> | undefined;
}

const endings: readonly HoldEnding[] = ['settled', 'released', 'expired'];
/** The longest id, by `quota-input.ts`; shorter ones end with a zero, which no id has. */
const idBytes = 64;
const fewestSlots = 64;
const mostBuckets = 2 ** 20;
/** What there is room for below the longest typed array. */
const mostEnded = 2 ** 24;

/** Nothing has ended yet; at most `limit` ends are remembered, each for `maxAgeMs`. */
export function endedHolds(limit: number, maxAgeMs: number): EndedHolds {
  const most = Math.min(limit, mostEnded);
  const latest = new Float64Array(Math.min(leastPowerOfTwo(most), mostBuckets));
  const expiries = new Map<number, readonly ExpiryCharge[]>();
  const order = tombstones({ limit: most, maxAgeMs, forget: (slot) => expiries.delete(slot) });
  let room = fewestSlots;
  let { before, hashes, partitions, ids, kinds, counts, amounts } = emptyLists(room);

  /** All or nothing: there may be no memory for one of them. */
  const widen = (): void => {
    const wider = emptyLists(2 * room);
    wider.before.set(before);
    wider.hashes.set(hashes);
    wider.partitions.set(partitions);
    wider.ids.set(ids);
    wider.kinds.set(kinds);
    wider.counts.set(counts);
    wider.amounts.set(amounts);
    ({ before, hashes, partitions, ids, kinds, counts, amounts } = wider);
    room *= 2;
  };

  const bucketOf = (hash: number): number => hash & (latest.length - 1);

  const writeId = (slot: number, id: string): void => {
    const start = slot * idBytes;
    for (let at = 0; at < id.length; at += 1) ids[start + at] = id.charCodeAt(at);
    if (id.length < idBytes) ids[start + id.length] = 0;
  };

  const hasId = (slot: number, id: string): boolean => {
    const start = slot * idBytes;
    for (let at = 0; at < id.length; at += 1) {
      if (ids[start + at] !== id.charCodeAt(at)) return false;
    }
    return id.length === idBytes || ids[start + id.length] === 0;
  };

  const slotOf = ({ partition, id, hash }: EndedId): number | undefined => {
    let number = latest[bucketOf(hash)] ?? 0;
    while (order.has(number)) {
      const slot = order.slotOf(number);
      if (hashes[slot] === hash && partitions[slot] === partition.number && hasId(slot, id)) {
        return slot;
      }
      number = before[slot] ?? 0;
    }
    return undefined;
  };

  return {
    add: ({ partition, id, hash }, { as, charged, expiry }, nowMs) => {
      if (order.nextSlot() >= room) widen();
      const number = order.add(nowMs);
      const slot = order.slotOf(number);
      const bucket = bucketOf(hash);
      before[slot] = latest[bucket] ?? 0;
      latest[bucket] = number;
      hashes[slot] = hash;
      partitions[slot] = partition.number;
      writeId(slot, id);
      kinds[slot] = endings.indexOf(as);
      counts[slot] = charged.length;
      for (let index = 0; index < charged.length; index += 1) {
        amounts[slot * maxLines + index] = charged[index]?.amount ?? 0n;
      }
      if (expiry.length > 0) expiries.set(slot, expiry);
    },
    find: (whose) => {
      const slot = slotOf(whose);
      const as = slot === undefined ? undefined : endings[kinds[slot] ?? 0];
      if (slot === undefined || as === undefined) return undefined;
      const start = slot * maxLines;
      const charged = [...amounts.subarray(start, start + (counts[slot] ?? 0))];
      return { as, charged, expiry: expiries.get(slot) ?? [] };
    },
  };
}

/** Room for so many ends. */
function emptyLists(room: number) {
  return {
    before: new Float64Array(room),
    hashes: new Int32Array(room),
    partitions: new Int32Array(room),
    ids: new Uint8Array(room * idBytes),
    kinds: new Uint8Array(room),
    counts: new Uint8Array(room),
    amounts: new BigInt64Array(room * maxLines),
  };
}
