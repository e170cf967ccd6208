/** What stores of replies in tables must do, over any number of processes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MaybePromise } from '../../src/ports/call-options.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import { memoryResultStore } from '../../src/stores/memory/result-store.ts';
import { resultStoreContract } from '../../src/testing/contracts/result-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

/** Empty tables, and what makes a store over them for a process. */
export interface KeptTables<Store, Options> {
  newStore(options?: Options): Store;
  advance(ms: number): MaybePromise<void>;
  /** How many rows the tables have: entries, and sums of their sizes. */
  rowCount(): MaybePromise<number>;
}

interface Bounds {
  readonly maxBytes?: number;
  readonly maxAgeMs?: number;
}

const headers = { 'content-type': 'application/json' };
const bodyOf = (bytes: number): Uint8Array => new Uint8Array(bytes).map((_, at) => at % 256);
const nameOf = (number: number): string =>
  `${String(number).padStart(64, '0')}.claim-0000000000000`;

/** A step of a random sequence. */
const step = fc.record({
  put: fc.nat(40),
  owner: fc.constantFrom('', 'ada', 'bob', "all'", 'of ada'),
  bytes: fc.oneof(fc.constant(0), fc.nat(3_000), fc.nat(12_000)),
  thenMs: fc.oneof(fc.nat(10), fc.nat(30_000)),
  forget: fc.constantFrom(undefined, undefined, undefined, 'ada', 'of ada'),
});

/** The cases of a result store. `open` empties the tables. */
export function resultStoreCases(open: () => MaybePromise<KeptTables<ResultStore, Bounds>>): void {
  describe('fulfils the contract', () => {
    const maxBytes = 20 * 2 ** 20;
    const contract = resultStoreContract(async () => ({
      store: (await open()).newStore({ maxBytes }),
      maxBytes,
    }));
    for (const { name, run } of contract) it(name, run);
  });

  it('keeps what a store in memory keeps, for random replies of several owners', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const { newStore, advance } = await open();
        const bounds = { maxBytes: 40_000, maxAgeMs: 60_000 };
        const stores = [newStore(bounds), newStore(bounds)] as const;
        const clock = fakeClock();
        const model = memoryResultStore({ ...bounds, clock });
        for (const [index, { put, owner, bytes, thenMs, forget }] of steps.entries()) {
          const store = stores[index % 2 === 0 ? 0 : 1];
          // A name is unique: its owner is always the same.
          const name = `${nameOf(put)}-${owner.length}`;
          const reply = { headers: { ...headers, etag: `${index}` }, body: bodyOf(bytes) };
          for (const each of [store, model]) await each.put(name, reply, { owner });
          if (forget !== undefined) {
            const forgotten = await model.forgetOwner?.(forget);
            expect(await store.forgetOwner?.(forget)).toBe(forgotten);
          }
          await advance(thenMs);
          clock.advance(thenMs);
          expect(await store.get(name)).toEqual(await model.get(name));
        }
        for (const { put, owner } of steps) {
          const name = `${nameOf(put)}-${owner.length}`;
          expect(await stores[0].get(name)).toEqual(await model.get(name));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('deletes the rows of replies whose time is over, and of their sums', async () => {
    const { newStore, advance, rowCount } = await open();
    const store = newStore({ maxAgeMs: 1_000 });
    for (let number = 0; number < 5; number += 1) {
      await store.put(nameOf(number), { headers, body: bodyOf(10) }, { owner: 'ada' });
    }
    await advance(1_000);
    expect(await store.get(nameOf(0))).toBeUndefined();

    await store.put(nameOf(9), { headers, body: bodyOf(10) }, { owner: 'bob' });

    // Its row, the sum of its owner, and the sum of all.
    expect(await rowCount()).toBe(3);
    expect(await store.forgetOwner?.('bob')).toBe(1);
    expect(await rowCount()).toBe(0);
  });

  it('stays within its bounds when many processes put at once', async () => {
    const { newStore } = await open();
    const stores = [1, 2, 3, 4].map(() => newStore({ maxBytes: 40_960 }));
    const puts = stores.flatMap((store, process) =>
      Array.from({ length: 10 }, (_, index) =>
        store.put(
          nameOf(10 * process + index),
          { headers, body: bodyOf(9_000) },
          { owner: `${index}` },
        ),
      ),
    );

    await Promise.all(puts);

    const kept = await Promise.all(puts.map(async (_, number) => stores[0]?.get(nameOf(number))));
    // Four of 9,000 bytes and their overhead fit.
    expect(kept.filter((found) => found !== undefined)).toHaveLength(4);
  });
}
