/**
 * What the memory quota store keeps of a hold that has ended: what a repeat of its id is answered
 * with, and nothing else. Flat lists by slot, for there are a hundred thousand of them: an object
 * each would be the most of what the collector walks through.
 */
import type { Nanos } from '../../money.ts';
import { maxLines } from '../../ports/quota-input.ts';
import type { Line } from '../../ports/quota-store.ts';
import { tombstones } from './tombstones.ts';

/** How a hold ended. */
export type Ending = 'settled' | 'released' | 'expired';

/** Where the ids of one partition's ended holds are found: the slot of each. */
export type EndedIds = Map<string, number>;

/** What a late settle has to take back of an expiry. */
export interface ExpiryCharge {
  readonly row: { used: Nanos };
  readonly onExpire: Nanos;
}

/** The end of one hold. */
export interface EndedHold<Charge> {
  readonly as: Ending;
  /** Settled: the final charge, by line. */
  readonly charged: readonly Charge[];
  /** Expired: what that charged. */
  readonly expiry: readonly ExpiryCharge[];
}

/** The holds that have ended, of all partitions, as long as they are remembered. */
export interface EndedHolds {
  /** Remembers an end; a later one of the same id takes its place. */
  add(ids: EndedIds, id: string, end: EndedHold<Pick<Line, 'amount'>>, nowMs: number): void;
  /** How the hold of this id ended, or undefined. */
  find(ids: EndedIds, id: string): EndedHold<Nanos> | undefined;
}

/** Nothing has ended yet; at most `limit` ends are remembered, each for `maxAgeMs`. */
export function endedHolds(limit: number, maxAgeMs: number): EndedHolds {
  const none: readonly ExpiryCharge[] = [];
  const names: string[] = [];
  const places: EndedIds[] = [];
  const endings: Ending[] = [];
  const expiries: (readonly ExpiryCharge[])[] = [];
  const counts: number[] = [];
  let amounts = new BigInt64Array(64 * maxLines);

  const forget = (slot: number): void => {
    const name = names[slot];
    // One that expired and was settled later stands in two slots; the later one counts.
    if (name !== undefined && places[slot]?.get(name) === slot) places[slot].delete(name);
    names[slot] = '';
    expiries[slot] = none;
  };
  const order = tombstones({ limit, maxAgeMs, forget });

  const charge = (slot: number, charged: readonly Pick<Line, 'amount'>[]): void => {
    const start = slot * maxLines;
    if (start >= amounts.length) {
      const wider = new BigInt64Array(amounts.length * 2);
      wider.set(amounts);
      amounts = wider;
    }
    counts[slot] = charged.length;
    for (let index = 0; index < charged.length; index += 1) {
      amounts[start + index] = charged[index]?.amount ?? 0n;
    }
  };

  return {
    add: (ids, id, { as, charged, expiry }, nowMs) => {
      const slot = order.add(nowMs);
      names[slot] = id;
      places[slot] = ids;
      endings[slot] = as;
      expiries[slot] = expiry.length === 0 ? none : expiry;
      charge(slot, charged);
      ids.set(id, slot);
    },
    find: (ids, id) => {
      const slot = ids.get(id);
      const as = slot === undefined ? undefined : endings[slot];
      if (slot === undefined || as === undefined) return undefined;
      const start = slot * maxLines;
      const charged = [...amounts.subarray(start, start + (counts[slot] ?? 0))];
      return { as, charged, expiry: expiries[slot] ?? none };
    },
  };
}
