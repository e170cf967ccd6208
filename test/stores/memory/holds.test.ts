// suite: slow
/** How the memory quota store finds running and ended holds by id. */
import { describe, expect, it, vi } from 'vitest';
import { EndedHolds, type EndedId } from '../../../src/stores/memory/ended-holds.ts';
import { type Chained, HoldTable, hashOf } from '../../../src/stores/memory/hold-table.ts';

interface Item extends Chained<Item> {
  readonly id: string;
}

function item(id: string, hash = hashOf(id)): Item {
  return { id, hash, next: undefined };
}

const ids = Array.from({ length: 1_000 }, (_, n) => `hold-${String(n).padStart(11, '0')}`);

describe('a table of holds', () => {
  it('finds each of a thousand holds, and none that was deleted', () => {
    const table = new HoldTable<Item>();
    const items = ids.map((id) => item(id));
    for (const one of items) table.add(one);
    const odd = items.filter((_, n) => n % 2 === 1);
    for (const one of odd) table.delete(one);

    const found = items.filter((one) => table.find(item(one.id)) === one);

    expect(found).toEqual(items.filter((_, n) => n % 2 === 0));
  });

  it('distinguishes ids with the same hash, in any order of deletion', () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
      [1, 2, 0],
    ]) {
      const table = new HoldTable<Item>();
      const items = ['a', 'b', 'c'].map((id) => item(id, 7));
      for (const one of items) table.add(one);
      for (const [turn, n] of order.entries()) {
        const deleted = items[n];
        if (deleted !== undefined) table.delete(deleted);
        const remaining = items.filter((one) => table.find(item(one.id, 7)) === one);

        expect(remaining).toEqual(
          items.filter((_, index) => !order.slice(0, turn + 1).includes(index)),
        );
      }
    }
  });

  it('unlinks a deleted hold, so that it keeps no other alive', () => {
    const table = new HoldTable<Item>();
    const [a, b] = [item('a', 7), item('b', 7)];
    table.add(a);
    table.add(b);
    table.delete(b);

    expect(b.next).toBeUndefined();
  });
});

describe('ended holds', () => {
  const first = { number: 0 };
  const second = { number: 1 };
  const named = (id: string, partition = first): EndedId => ({ id, hash: hashOf(id), partition });
  const settled = (...amounts: readonly bigint[]) => ({
    as: 'settled' as const,
    charged: amounts.map((amount) => ({ amount })),
    expiry: [],
  });
  const released = { as: 'released', charged: [], expiry: [] } as const;

  it('are found up to the limit, beyond which the oldest are forgotten', () => {
    for (const limit of [1, 2, 3, 64, 65, 100, 128, 999]) {
      const ended = new EndedHolds(limit, 1_000);
      for (const [n, id] of ids.entries()) ended.add(named(id), settled(BigInt(n)), 0);

      const found = ids.filter((id) => ended.find(named(id)) !== undefined);

      expect(found).toEqual(ids.slice(-limit));
      expect(ended.find(named(ids[999] ?? ''))?.charged).toEqual([999n]);
    }
  });

  it('are forgotten two at a time once they are too old', () => {
    const ended = new EndedHolds(100, 1_000);
    for (const id of ids.slice(0, 10)) ended.add(named(id), released, 0);
    ended.add(named('late-0000000000001'), released, 999);
    ended.add(named('late-0000000000002'), released, 1_000);

    expect(ids.slice(0, 10).map((id) => ended.find(named(id))?.as)).toEqual([
      undefined,
      undefined,
      ...Array.from({ length: 8 }, () => 'released'),
    ]);
  });

  it('are unchanged if there is no memory for more', () => {
    const ended = new EndedHolds(1_000, 60_000);
    const [next = '', ...known] = ids.slice(0, 65);
    for (const id of known) ended.add(named(id), settled(1n), 0);
    // A simulated allocation failure; a real one needs gigabytes.
    vi.stubGlobal('BigInt64Array', undefined);

    try {
      expect(() => ended.add(named(next), settled(1n), 0)).toThrow(TypeError);
    } finally {
      vi.unstubAllGlobals();
    }

    expect(ended.find(named(next))).toBeUndefined();
    ended.add(named(next), settled(1n), 0);
    expect([next, ...known].every((id) => ended.find(named(id))?.as === 'settled')).toBe(true);
  });

  it('are identified by the whole id, not by its hash or beginning', () => {
    const ended = new EndedHolds(2, 1_000);
    const long = 'x'.repeat(64);
    const hash = 5;
    ended.add({ id: long, hash, partition: first }, settled(1n), 0);
    ended.add({ id: 'y'.repeat(64), hash, partition: first }, settled(2n), 0);
    ended.add({ id: 'x'.repeat(16), hash, partition: first }, settled(3n), 0);

    const charged = (id: string) => ended.find({ id, hash, partition: first })?.charged;
    expect([long, 'x'.repeat(16), 'x'.repeat(17), 'x'.repeat(15)].map(charged)).toEqual([
      undefined,
      [3n],
      undefined,
      undefined,
    ]);
    expect(charged('y'.repeat(64))).toEqual([2n]);
  });

  it('belong to one partition', () => {
    const ended = new EndedHolds(10, 1_000);
    ended.add(named('hold-in-the-first', first), released, 0);

    expect(ended.find(named('hold-in-the-first', first))?.as).toBe('released');
    expect(ended.find(named('hold-in-the-first', second))).toBeUndefined();
  });

  it('keep the last ending, and the charges of an expiry only with it', () => {
    const ended = new EndedHolds(3, 1_000);
    const expiry = [{ row: { used: 0n }, onExpire: 5n }];
    ended.add(named(ids[0] ?? ''), { as: 'expired', charged: [], expiry }, 0);
    expect(ended.find(named(ids[0] ?? ''))).toEqual({ as: 'expired', charged: [], expiry });

    ended.add(named(ids[0] ?? ''), settled(1n, 2n), 0);
    ended.add(named(ids[1] ?? ''), released, 0);
    // This takes the slot of the expiry, which has been forgotten.
    ended.add(named(ids[2] ?? ''), released, 0);

    expect(ended.find(named(ids[0] ?? ''))).toEqual({
      as: 'settled',
      charged: [1n, 2n],
      expiry: [],
    });
    expect(ended.find(named(ids[2] ?? ''))).toEqual({ as: 'released', charged: [], expiry: [] });
  });
});
