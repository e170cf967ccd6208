/** What stores of replies, items and ids in tables must do, over any number of processes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MaybePromise } from '../../src/ports/call-options.ts';
import type { ItemStore } from '../../src/ports/replies/item-store.ts';
import type { IndexEntry, ResponseIndex } from '../../src/ports/replies/response-index.ts';
import type { ResultStore } from '../../src/ports/replies/result-store.ts';
import { memoryItemStore } from '../../src/stores/memory/item-store.ts';
import { memoryResponseIndex } from '../../src/stores/memory/response-index.ts';
import { memoryResultStore } from '../../src/stores/memory/result-store.ts';
import { itemStoreContract } from '../../src/testing/contracts/item-store.ts';
import { responseIndexContract } from '../../src/testing/contracts/response-index.ts';
import { resultStoreContract } from '../../src/testing/contracts/result-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

/** Empty tables, and what makes a store over them for a process. */
export interface KeptTables<Store, Options> {
  newStore(options?: Options): Store;
  /** The clock of the database, in Unix ms. */
  now(): number;
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
      { numRuns: 20 },
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

const owners = ['ada', 'bob', "all'", 'of ada'] as const;
const someIds = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { minLength: 1 });

/** The cases of an item store. `open` empties the tables. */
export function itemStoreCases(
  open: () => MaybePromise<
    KeptTables<ItemStore, { readonly maxBytes?: number; readonly maxItemBytes?: number }>
  >,
): void {
  describe('fulfils the contract', () => {
    const contract = itemStoreContract(async () => {
      const { newStore, advance } = await open();
      return { store: newStore(), clock: { advance } };
    });
    for (const { name, run } of contract) it(name, run);
  });

  // A few items of one owner fill its share, so that what was used decides what is forgotten.
  const itemStep = fc.record({
    operation: fc.constantFrom('put', 'put', 'put', 'get', 'get', 'get', 'forget', 'forgetOwner'),
    owner: fc.constantFrom('ada', 'ada', 'ada', 'of ada', "all'"),
    ids: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), {
      minLength: 1,
      maxLength: 2,
    }),
    bytes: fc.oneof(fc.constant(0), fc.constant(1_000), fc.nat(2_500)),
  });

  it('keeps what a store in memory keeps, for random items that are put and used', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(itemStep, { minLength: 20, maxLength: 40 }), async (steps) => {
        const { newStore } = await open();
        const bounds = { maxBytes: 20_000, maxItemBytes: 2_000 };
        const stores = [newStore(bounds), newStore(bounds)] as const;
        const model = memoryItemStore({ ...bounds, clock: fakeClock() });
        for (const [index, { operation, owner, ids, bytes }] of steps.entries()) {
          const answers = [];
          // One id at a time is used: the order of several has no meaning.
          const used = ids.slice(0, 1);
          for (const store of [stores[index % 2 === 0 ? 0 : 1], model]) {
            if (operation === 'put') {
              // A larger one is not kept, and what is kept under its id is not defined.
              const items = (bytes > 2_000 ? ['large'] : ids).map((id) => ({
                id,
                json: bodyOf(bytes),
              }));
              answers.push(await store.put(owner, items, 60_000));
            } else if (operation === 'get') answers.push(await store.get(owner, used));
            else if (operation === 'forget') answers.push(await store.forget(owner, ids));
            else answers.push(await store.forgetOwner?.(owner));
          }
          expect(answers[0]).toEqual(answers[1]);
        }
        for (const owner of owners) {
          for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) {
            expect(await stores[0].get(owner, [id])).toEqual(await model.get(owner, [id]));
          }
        }
      }),
      { numRuns: 20 },
    );
  });
}

/** The cases of an index of responses. `open` empties the tables. */
export function responseIndexCases(
  open: () => MaybePromise<KeptTables<ResponseIndex, object>>,
): void {
  describe('fulfils the contract', () => {
    const contract = responseIndexContract(async () => {
      const { newStore, now, advance } = await open();
      return { index: newStore(), clock: { now, advance } };
    });
    for (const { name, run } of contract) it(name, run);
  });

  const indexStep = fc.record({
    operation: fc.constantFrom('remember', 'remember', 'find', 'forget', 'forgetOwner'),
    owner: fc.constantFrom(...owners),
    ids: someIds,
    kind: fc.constantFrom('response', 'item', 'sealed'),
    maxTokens: fc.constantFrom(undefined, 0, Number.MAX_SAFE_INTEGER),
    forMs: fc.nat(90_000),
    thenMs: fc.nat(30_000),
  });

  it('finds what an index in memory finds, from two processes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(indexStep, { minLength: 1, maxLength: 40 }), async (steps) => {
        const { newStore, now, advance } = await open();
        const indexes = [newStore(), newStore()] as const;
        const clock = fakeClock(now());
        const model = memoryResponseIndex({ clock });
        for (const [index, { operation, owner, ids, thenMs, ...rest }] of steps.entries()) {
          const { forMs, maxTokens, kind } = rest;
          const entries = ids.map((id): IndexEntry => {
            const counted = maxTokens === undefined ? {} : { maxTokens };
            const expiresAtMs = clock.now() + forMs;
            return { id, owner, account: `a${index}`, modelId: 'm', kind, ...counted, expiresAtMs };
          });
          for (const each of [indexes[index % 2 === 0 ? 0 : 1], model]) {
            if (operation === 'remember') await each.remember(entries);
            if (operation === 'forget') await each.forget(owner, ids);
            for (let some = 1; operation === 'forgetOwner' && some > 0; ) {
              some = (await each.forgetOwner?.(owner)) ?? 0;
            }
          }
          await advance(thenMs);
          clock.advance(thenMs);
          expect(await indexes[1].find(owner, ids)).toEqual(await model.find(owner, ids));
        }
      }),
      { numRuns: 20 },
    );
  });

  it('deletes the rows of entries that have expired', async () => {
    const { newStore, now, advance, rowCount } = await open();
    const entry = { owner: 'ada', account: 'a', modelId: 'm', kind: 'item' } as const;
    const ids = Array.from({ length: 50 }, (_, at) => `msg_${at}`);
    await newStore().remember(ids.map((id) => ({ ...entry, id, expiresAtMs: now() + 1_000 })));
    await advance(1_000);

    // A process sweeps after its first reply, and once a minute.
    await newStore().remember([{ ...entry, id: 'later', expiresAtMs: now() + 1_000 }]);

    await expect.poll(rowCount).toBe(1);
  });
}
