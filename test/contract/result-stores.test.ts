/**
 * The store of replies in memory keeps its contract, and the contract finds faults: each fault
 * fails a named case. What only this store promises, its bounds, comes first.
 */
import { describe, expect, it } from 'vitest';
import type { ResultStore, StoredResult } from '../../src/ports/result-store.ts';
import { memoryResultStore } from '../../src/stores/memory/result-store.ts';
import { resultStoreContract } from '../../src/testing/contracts/result-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

describe('memoryResultStore', () => {
  const contract = resultStoreContract(() => ({ store: memoryResultStore() }));
  for (const { name, run } of contract) it(name, run);

  it('forgets the oldest for a new one, and keeps none that is larger than all its room', () => {
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

  it('forgets what is old, and has its room again', () => {
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

  it('keeps 64 MiB for half an hour where nothing else is said', () => {
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
  (sound: ResultStore) => Partial<ResultStore>,
])[] = [
  [
    'drops headers',
    'RS-01',
    (sound) => ({ put: (name, { body }) => sound.put(name, { headers: {}, body }) }),
  ],
  [
    'keeps text, not bytes',
    'RS-01',
    (sound) => ({
      put: (name, { headers, body }) =>
        sound.put(name, { headers, body: Buffer.from(Buffer.from(body).toString()) }),
    }),
  ],
  ['keeps little', 'RS-02', () => memoryResultStore({ maxBytes: 2 ** 20 })],
  [
    'has one name for all',
    'RS-03',
    (sound) => ({
      put: (_name, result) => sound.put('one', result),
      get: () => sound.get('one'),
    }),
  ],
  ['keeps the latest only', 'RS-04', () => memoryResultStore({ maxBytes: 3_000 })],
  ['keeps what is not its own', 'RS-05', () => aliasing()],
  ['gives a reply once', 'RS-06', (sound) => onceOnly(sound)],
];

describe('the result contract finds a store that', () => {
  it.each(resultFaults)('%s: %s', async (_fault, caughtBy, faulty) => {
    const contract = resultStoreContract(() => {
      const sound = memoryResultStore();
      return { store: { ...sound, ...faulty(sound) } };
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

function onceOnly(sound: ResultStore): Partial<ResultStore> {
  const given = new Set<string>();
  return {
    get: (name) => {
      if (given.has(name)) return undefined;
      given.add(name);
      return sound.get(name);
    },
  };
}
