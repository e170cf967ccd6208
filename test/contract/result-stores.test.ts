/**
 * The memory result store fulfils its contract, and the contract detects faulty stores: each fault
 * fails a named case. The bounds, which only this store has, are tested first.
 */
import { describe, expect, it } from 'vitest';
import type { ResultStore, StoredResult } from '../../src/ports/result-store.ts';
import { memoryResultStore } from '../../src/stores/memory/result-store.ts';
import { resultStoreContract } from '../../src/testing/contracts/result-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

describe('memoryResultStore', () => {
  const contract = resultStoreContract(() => ({ store: memoryResultStore() }));
  for (const { name, run } of contract) it(name, run);

  it('evicts the oldest for a new reply, and keeps none larger than maxBytes', () => {
    const store = memoryResultStore({ maxBytes: 10_000 });
    store.put('a', reply(3_000));
    store.put('b', reply(3_000));

    store.put('c', reply(3_000));
    expect(namesIn(store, ['a', 'b', 'c'])).toEqual(['b', 'c']);
    store.put('d', reply(10_000));
    expect(namesIn(store, ['b', 'c', 'd'])).toEqual(['b', 'c']);
    store.put('c', reply(4_000));

    expect(namesIn(store, ['b', 'c'])).toEqual(['b', 'c']);
  });

  it('removes expired replies and frees their bytes', () => {
    const clock = fakeClock();
    const store = memoryResultStore({ clock, maxBytes: 10_000, maxAgeMs: 1_000 });
    store.put('a', reply(8_000));

    clock.advance(999);
    expect(namesIn(store, ['a'])).toEqual(['a']);
    clock.advance(1);
    expect(namesIn(store, ['a'])).toEqual([]);

    store.put('b', reply(8_000));
    expect(namesIn(store, ['b'])).toEqual(['b']);
  });

  it('keeps 64 MiB for half an hour by default', () => {
    const clock = fakeClock();
    const store = memoryResultStore({ clock });
    store.put('a', reply(40 * 2 ** 20));
    store.put('b', reply(20 * 2 ** 20));
    clock.advance(30 * 60_000 - 1);
    expect(namesIn(store, ['a', 'b'])).toEqual(['a', 'b']);

    store.put('c', reply(5 * 2 ** 20));
    expect(namesIn(store, ['a', 'b', 'c'])).toEqual(['b', 'c']);
    clock.advance(1);

    expect(namesIn(store, ['a', 'b', 'c'])).toEqual(['c']);
  });
});

const resultFaults: readonly (readonly [
  fault: string,
  caughtBy: string,
  (correct: ResultStore) => Partial<ResultStore>,
])[] = [
  [
    'drops headers',
    'RS-01',
    (correct) => ({ put: (name, { body }) => correct.put(name, { headers: {}, body }) }),
  ],
  [
    'keeps text, not bytes',
    'RS-01',
    (correct) => ({
      put: (name, { headers, body }) =>
        correct.put(name, { headers, body: Buffer.from(Buffer.from(body).toString()) }),
    }),
  ],
  ['keeps too few bytes', 'RS-02', () => memoryResultStore({ maxBytes: 2 ** 20 })],
  [
    'uses one name for all',
    'RS-03',
    (correct) => ({
      put: (_name, result) => correct.put('one', result),
      get: () => correct.get('one'),
    }),
  ],
  ['keeps only the latest reply', 'RS-04', () => memoryResultStore({ maxBytes: 3_000 })],
  ['keeps the caller’s buffer', 'RS-05', () => aliasing()],
  ['returns a reply once', 'RS-06', (correct) => onceOnly(correct)],
];

describe('the result contract detects a store that', () => {
  it.each(resultFaults)('%s: %s', async (_fault, caughtBy, faulty) => {
    const contract = resultStoreContract(() => {
      const correct = memoryResultStore();
      return { store: { ...correct, ...faulty(correct) } };
    });

    const [found] = contract.filter(({ name }) => name.startsWith(caughtBy));

    await expect(found?.run()).rejects.toThrow();
  });
});

function reply(bytes: number): StoredResult {
  return { headers: {}, body: new Uint8Array(bytes) };
}

function namesIn(store: ResultStore, names: readonly string[]): readonly string[] {
  return names.filter((name) => store.get(name) !== undefined);
}

function aliasing(): ResultStore {
  const kept = new Map<string, StoredResult>();
  return {
    put: (name, result) => {
      kept.set(name, result);
    },
    get: (name) => kept.get(name),
  };
}

function onceOnly(correct: ResultStore): Partial<ResultStore> {
  const given = new Set<string>();
  return {
    get: (name) => {
      if (given.has(name)) return undefined;
      given.add(name);
      return correct.get(name);
    },
  };
}
