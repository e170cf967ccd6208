// suite: quick
/**
 * The memory result store fulfils its contract, and the contract detects faulty stores: each fault
 * fails a named case. The bounds, which only this store has, are tested first.
 */
import { describe, expect, it } from 'vitest';
import type { ResultStore, StoredResult } from '../../src/ports/replies/result-store.ts';
import { memoryResultStore } from '../../src/stores/memory/result-store.ts';
import { resultStoreContract } from '../../src/testing/contracts/result-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

const maxBytes = 20 * 2 ** 20;

describe('memoryResultStore', () => {
  const contract = resultStoreContract(() => ({
    store: memoryResultStore({ maxBytes }),
    maxBytes,
  }));
  for (const { name, run } of contract) it(name, run);

  it('evicts the oldest of all when full, and keeps none above the quarter of one owner', () => {
    const store = memoryResultStore({ maxBytes: 16_384 });
    const owners = ['a', 'b', 'c', 'd', 'e'];
    for (const owner of owners) store.put(owner, reply(3_000), { owner });

    expect(namesIn(store, owners)).toEqual(['b', 'c', 'd', 'e']);
    store.put('f', reply(3_073), { owner: 'f' });
    expect(namesIn(store, [...owners, 'f'])).toEqual(['b', 'c', 'd', 'e']);
    store.put('e', reply(3_072), { owner: 'e' });

    expect(namesIn(store, owners)).toEqual(['b', 'c', 'd', 'e']);
  });

  it('removes expired replies and frees their bytes', () => {
    const clock = fakeClock();
    const store = memoryResultStore({ clock, maxBytes: 16_384, maxAgeMs: 1_000 });
    for (const owner of ['a', 'b', 'c', 'd']) store.put(owner, reply(3_000), { owner });
    clock.advance(500);
    store.put('a2', reply(10), { owner: 'a' });

    clock.advance(499);
    expect(namesIn(store, ['b', 'c', 'd', 'a2'])).toEqual(['b', 'c', 'd', 'a2']);
    clock.advance(1);
    expect(namesIn(store, ['b', 'c', 'd', 'a2'])).toEqual(['a2']);

    store.put('e', reply(3_000), { owner: 'e' });
    expect(namesIn(store, ['a2', 'e'])).toEqual(['a2', 'e']);
  });

  it('keeps 64 MiB for half an hour by default', () => {
    const clock = fakeClock();
    const store = memoryResultStore({ clock });
    const owners = ['a', 'b', 'c', 'd'];
    for (const owner of owners) store.put(owner, reply(15 * 2 ** 20), { owner });
    clock.advance(30 * 60_000 - 1);
    expect(namesIn(store, owners)).toEqual(owners);

    store.put('e', reply(5 * 2 ** 20), { owner: 'e' });
    expect(namesIn(store, [...owners, 'e'])).toEqual(['b', 'c', 'd', 'e']);
    clock.advance(1);

    expect(namesIn(store, [...owners, 'e'])).toEqual(['e']);
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
  ['keeps too few bytes', 'RS-02', () => memoryResultStore({ maxBytes: 2 ** 22 })],
  [
    'uses one name for all',
    'RS-03',
    (correct) => ({
      put: (_name, result) => correct.put('one', result),
      get: () => correct.get('one'),
    }),
  ],
  ['keeps only the latest reply', 'RS-04', () => memoryResultStore({ maxBytes: 8_192 })],
  ['keeps the caller’s buffer', 'RS-05', () => aliasing()],
  ['returns a reply once', 'RS-06', (correct) => onceOnly(correct)],
  [
    'bounds all owners together alone',
    'RS-08',
    (correct) => ({ put: (name, result) => correct.put(name, result, { owner: 'all' }) }),
  ],
  [
    'forgets owners in any case',
    'RS-09',
    (correct) => ({
      put: (name, result, { owner = '' } = {}) =>
        correct.put(name, result, { owner: owner.toLowerCase() }),
      forgetOwner: (owner) => correct.forgetOwner?.(owner.toLowerCase()) ?? 0,
    }),
  ],
];

describe('the result contract detects a store that', () => {
  it.each(resultFaults)('%s: %s', async (_fault, caughtBy, faulty) => {
    const contract = resultStoreContract(() => {
      const correct = memoryResultStore({ maxBytes });
      return { store: { ...correct, ...faulty(correct) }, maxBytes };
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
