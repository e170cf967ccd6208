// suite: quick
/**
 * The memory stores of responses and items fulfil their contracts, and the contracts detect faulty
 * stores: each fault fails a named case. The bounds, which only these stores have, are tested too.
 */
import { describe, expect, it } from 'vitest';
import type { ItemStore } from '../../src/ports/replies/item-store.ts';
import type { IndexEntry, ResponseIndex } from '../../src/ports/replies/response-index.ts';
import { memoryItemStore } from '../../src/stores/memory/item-store.ts';
import { memoryResponseIndex } from '../../src/stores/memory/response-index.ts';
import { itemStoreContract } from '../../src/testing/contracts/item-store.ts';
import { responseIndexContract } from '../../src/testing/contracts/response-index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

describe('memoryResponseIndex', () => {
  const contract = responseIndexContract(() => {
    const clock = fakeClock();
    return { index: memoryResponseIndex({ clock }), clock };
  });
  for (const { name, run } of contract) it(name, run);

  it('forgets the oldest above maxEntries; an entry that is remembered again is new', () => {
    const index = memoryResponseIndex({ clock: fakeClock(), maxEntries: 3 });
    index.remember(['a', 'b', 'c'].map(entry));
    index.remember([entry('a')]);
    index.remember([entry('d')]);

    expect(known(index, ['a', 'b', 'c', 'd'])).toEqual(['a', 'c', 'd']);
  });

  it('lets no owner push out the entries of others', () => {
    const index = memoryResponseIndex({ clock: fakeClock(), maxEntries: 8 });
    const others = ['b', 'c'].map((owner) => ({ ...entry('first'), owner }));
    index.remember(others);
    const ids = Array.from({ length: 20 }, (_, number) => `id${number}`);
    for (const id of ids) index.remember([entry(id)]);

    for (const other of others) expect(index.find(other.owner, ['first'])).toEqual([other]);
    expect(known(index, ids)).toEqual(ids.slice(-6));
  });

  it('answers directly', () => {
    const index = memoryResponseIndex();

    expect(index.remember([entry('a')])).toBe(undefined);
    expect(index.find('k', ['b'])).toEqual([undefined]);
    expect(index.forget('k', ['a'])).toBe(undefined);
  });
});

describe('memoryItemStore', () => {
  const contract = itemStoreContract(() => {
    const clock = fakeClock();
    return { store: memoryItemStore({ clock }), clock };
  });
  for (const { name, run } of contract) it(name, run);

  it('keeps no item above maxItemBytes, and says which', () => {
    const store = memoryItemStore({ maxItemBytes: 100 });

    const tooLarge = store.put('k', [item('a', 100), item('b', 101), item('c', 1)], 1_000);

    expect(tooLarge).toEqual(['b']);
    expect(kept(store, 'k', ['a', 'b', 'c'])).toEqual(['a', 'c']);
  });

  it('forgets what was not used for the longest time', () => {
    const store = memoryItemStore({ maxBytes: 40_000 });
    // Three fit into the quarter of one owner.
    for (const id of ['a', 'b', 'c']) store.put('k', [item(id, 2_500)], 1_000);
    kept(store, 'k', ['a']);

    store.put('k', [item('d', 2_500)], 1_000);

    expect(kept(store, 'k', ['a', 'b', 'c', 'd'])).toEqual(['a', 'c', 'd']);
  });

  it('lets one owner take a quarter, and displace nobody else', () => {
    const store = memoryItemStore({ maxBytes: 40_000 });
    store.put('quiet', [item('q', 5_000)], 1_000);

    for (let count = 0; count < 100; count += 1) {
      store.put('busy', [item(`b${count}`, 2_500)], 1_000);
    }

    expect(kept(store, 'quiet', ['q'])).toEqual(['q']);
    const all = Array.from({ length: 100 }, (_, count) => `b${count}`);
    expect(kept(store, 'busy', all)).toEqual(['b97', 'b98', 'b99']);
  });

  it('keeps at most maxBytes of all owners together', () => {
    const store = memoryItemStore({ maxBytes: 40_000 });
    const owners = Array.from({ length: 20 }, (_, number) => `k${number}`);

    for (const owner of owners) store.put(owner, [item('a', 4_000)], 1_000);

    expect(owners.filter((owner) => kept(store, owner, ['a']).length > 0)).toEqual(
      owners.slice(-8),
    );
  });
});

const indexFaults: readonly (readonly [
  fault: string,
  caughtBy: string,
  (correct: ResponseIndex) => Partial<ResponseIndex>,
])[] = [
  ['drops maxTokens', 'RI-01', (correct) => ({ remember: changed(correct, withoutTokens) })],
  [
    'returns entries in its own order',
    'RI-01',
    (correct) => ({
      find: async (owner, ids) => [...(await correct.find(owner, ids))].reverse(),
    }),
  ],
  [
    'ignores owners',
    'RI-02',
    (correct) => ({
      remember: changed(correct, (one) => ({ ...one, owner: 'all' })),
      find: (_owner, ids) => correct.find('all', ids),
    }),
  ],
  [
    'cuts owners at a separator',
    'RI-02',
    (correct) => ({ find: (owner, ids) => correct.find(owner.split('|')[0] ?? '', ids) }),
  ],
  [
    'forgets for all owners',
    'RI-03',
    (correct) => {
      const owners = new Set<string>();
      return {
        remember: changed(correct, (one) => {
          owners.add(one.owner);
          return one;
        }),
        forget: (_owner, ids) => {
          for (const owner of owners) correct.forget(owner, ids);
        },
      };
    },
  ],
  [
    'keeps the first entry',
    'RI-04',
    (correct) => ({
      remember: async (entries) => {
        for (const one of entries) {
          const [before] = await correct.find(one.owner, [one.id]);
          if (before === undefined) await correct.remember([one]);
        }
      },
    }),
  ],
  [
    'never expires',
    'RI-05',
    (correct) => ({
      remember: changed(correct, (one) => ({ ...one, expiresAtMs: one.expiresAtMs + 1e12 })),
      find: async (owner, ids) =>
        (await correct.find(owner, ids)).map(
          (one) => one && { ...one, expiresAtMs: one.expiresAtMs - 1e12 },
        ),
    }),
  ],
  ['forgets nothing', 'RI-06', () => ({ forget: () => {} })],
  [
    'remembers only 100 entries',
    'RI-07',
    (correct) => ({ remember: (entries) => correct.remember(entries.slice(0, 100)) }),
  ],
  [
    'fails without ids',
    'RI-08',
    (correct) => ({
      find: (owner, ids) => {
        if (ids.length === 0) throw new Error('no ids');
        return correct.find(owner, ids);
      },
    }),
  ],
  ['keeps only the latest reply', 'RI-09', () => memoryResponseIndex({ maxEntries: 2 })],
  [
    'takes a percent sign in an owner for an escape',
    'RI-11',
    (correct) => ({
      remember: changed(correct, (one) => ({ ...one, owner: decoded(one.owner) })),
      find: async (owner, ids) =>
        (await correct.find(decoded(owner), ids)).map((one) => one && { ...one, owner }),
      forget: (owner, ids) => correct.forget(decoded(owner), ids),
    }),
  ],
];

const itemFaults: readonly (readonly [
  fault: string,
  caughtBy: string,
  (correct: ItemStore) => Partial<ItemStore>,
])[] = [
  [
    'keeps text, not bytes',
    'IT-01',
    (correct) => ({
      put: (owner, items, ttlMs) => {
        const text = (json: Uint8Array) => Buffer.from(Buffer.from(json).toString());
        return correct.put(
          owner,
          items.map(({ id, json }) => ({ id, json: text(json) })),
          ttlMs,
        );
      },
    }),
  ],
  [
    'leaves missing items out of its answer',
    'IT-01',
    (correct) => ({
      get: async (owner, ids) => (await correct.get(owner, ids)).filter((json) => json),
    }),
  ],
  [
    'cuts owners at a separator',
    'IT-02',
    (correct) => ({ get: (owner, ids) => correct.get(owner.split('\n')[0] ?? '', ids) }),
  ],
  [
    'ignores owners',
    'IT-03',
    (correct) => ({
      put: (_owner, items, ttlMs) => correct.put('all', items, ttlMs),
      get: (_owner, ids) => correct.get('all', ids),
      forget: (_owner, ids) => correct.forget('all', ids),
    }),
  ],
  [
    'keeps the first item',
    'IT-04',
    (correct) => ({
      put: async (owner, items, ttlMs) => {
        const known = await correct.get(
          owner,
          items.map(({ id }) => id),
        );
        return correct.put(
          owner,
          items.filter((_, at) => known[at] === undefined),
          ttlMs,
        );
      },
    }),
  ],
  [
    'ignores the time',
    'IT-05',
    (correct) => ({ put: (owner, items) => correct.put(owner, items, 1e12) }),
  ],
  ['forgets nothing', 'IT-06', () => ({ forget: () => {} })],
  ['keeps the caller’s buffer', 'IT-07', () => aliasing()],
  ['keeps too few', 'IT-08', () => memoryItemStore({ maxBytes: 40_000 })],
  [
    'fails for an empty item',
    'IT-09',
    (correct) => ({
      get: async (owner, ids) =>
        (await correct.get(owner, ids)).map((json) => (json?.length ? json : undefined)),
    }),
  ],
  [
    'takes a percent sign in an owner for an escape',
    'IT-11',
    (correct) => ({
      put: (owner, items, ttlMs) => correct.put(decoded(owner), items, ttlMs),
      get: (owner, ids) => correct.get(decoded(owner), ids),
      forget: (owner, ids) => correct.forget(decoded(owner), ids),
    }),
  ],
];

describe('the contracts detect an index that', () => {
  it.each(indexFaults)('%s: %s', async (_fault, caughtBy, faulty) => {
    const contract = responseIndexContract(() => {
      const clock = fakeClock();
      const correct = memoryResponseIndex({ clock });
      return { index: { ...correct, ...faulty(correct) }, clock };
    });
    const found = contract.find(({ name }) => name.startsWith(caughtBy));

    await expect(found?.run()).rejects.toThrow();
  });
});

describe('the contracts detect an item store that', () => {
  it.each(itemFaults)('%s: %s', async (_fault, caughtBy, faulty) => {
    const contract = itemStoreContract(() => {
      const clock = fakeClock();
      const correct = memoryItemStore({ clock });
      return { store: { ...correct, ...faulty(correct) }, clock };
    });
    const found = contract.find(({ name }) => name.startsWith(caughtBy));

    await expect(found?.run()).rejects.toThrow();
  });
});

function entry(id: string): IndexEntry {
  const expiresAtMs = Number.MAX_SAFE_INTEGER;
  return { id, owner: 'k', account: 'a', modelId: 'm', kind: 'item', expiresAtMs };
}

function known(index: ResponseIndex, ids: readonly string[]): readonly string[] {
  const entries = index.find('k', ids);
  return Array.isArray(entries) ? ids.filter((_, at) => entries[at] !== undefined) : [];
}

function item(id: string, bytes: number) {
  return { id, json: new Uint8Array(bytes) };
}

function kept(store: ItemStore, owner: string, ids: readonly string[]): readonly string[] {
  const items = store.get(owner, ids);
  return Array.isArray(items) ? ids.filter((_, at) => items[at] !== undefined) : [];
}

function changed(
  correct: ResponseIndex,
  change: (entry: IndexEntry) => IndexEntry,
): ResponseIndex['remember'] {
  return (entries) => correct.remember(entries.map(change));
}

function decoded(owner: string): string {
  return owner.replaceAll(/%([0-9A-F]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16)));
}

function withoutTokens({ maxTokens: _, ...rest }: IndexEntry): IndexEntry {
  return rest;
}

function aliasing(): ItemStore {
  const byName = new Map<string, Uint8Array>();
  return {
    put: (owner, items) => {
      for (const { id, json } of items) byName.set(owner + id, json);
      return [];
    },
    get: (owner, ids) => ids.map((id) => byName.get(owner + id)),
    forget: (owner, ids) => {
      for (const id of ids) byName.delete(owner + id);
    },
  };
}
