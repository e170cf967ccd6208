/**
 * The store of claims in memory keeps its contract, and the contract finds faults: each fault fails
 * a named case. What only this store promises, its bounds, comes first.
 */
import { describe, expect, it } from 'vitest';
import type { ClaimInput, IdempotencyStore } from '../../src/ports/idempotency-store.ts';
import { memoryIdempotencyStore } from '../../src/stores/memory/idempotency-store.ts';
import { idempotencyStoreContract } from '../../src/testing/contracts/idempotency-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

describe('memoryIdempotencyStore', () => {
  const contract = idempotencyStoreContract(() => {
    const clock = fakeClock();
    return { store: memoryIdempotencyStore({ clock }), clock };
  });
  for (const { name, run } of contract) it(name, run);

  it('where it is full forgets what is done, then unknown texts, then old unknown images', () => {
    const clock = fakeClock();
    const store = memoryIdempotencyStore({ clock, maxRecords: 5 });
    const running = claimOf('r', { keyId: 'key-2' });
    const image = claimOf('i', { keyId: 'key-3', operation: 'images', keepMs: 2 * hourMs });
    claimed(store, { ...running, leaseMs: 2 * hourMs });
    for (const [name, state] of [
      ['i', 'unknown'],
      ['u1', 'unknown'],
      ['u2', 'unknown'],
      ['d', 'done'],
    ] as const) {
      const input = name === 'i' ? image : claimOf(name, { keepMs: 2 * hourMs });
      claimed(store, input);
      end(store, input, state);
    }

    const forgotten = ['d', 'u1', 'u2'];
    for (const [index, name] of forgotten.entries()) {
      const left = forgotten.slice(index).map((each) => claimOf(each));
      expect(left.map((input) => stateOf(store, input))).not.toContain(undefined);
      claimed(store, claimOf(`new-${name}`, { keyId: `key-${name}`, leaseMs: 2 * hourMs }));
    }
    expect([running, image].map((input) => stateOf(store, input))).toEqual(['running', 'unknown']);
    const late = claimOf('late', { keyId: 'key-late' });
    clock.advance(hourMs - 1);
    expect(() => store.claim(late)).toThrow(
      expect.objectContaining({ name: 'StoreUnavailable', outcome: 'not_done' }),
    );
    clock.advance(1);
    claimed(store, late);
    expect(stateOf(store, running)).toBe('running');
  });

  it.each([
    'chat',
    'images',
  ] as const)('a key whose %s calls all fail costs other keys nothing', (operation) => {
    const store = memoryIdempotencyStore({ clock: fakeClock(), maxRecords: 1_000 });
    let refused = 0;
    for (let index = 0; index < 100_000; index += 1) {
      const input = claimOf(`failed-${index}`, { keyId: 'greedy', operation });
      try {
        store.claim(input);
        end(store, input, 'unknown');
      } catch {
        refused += 1;
      }
    }

    expect(refused).toBe(operation === 'images' ? 99_500 : 0);
    for (let index = 0; index < 250; index += 1) {
      claimed(store, claimOf(`modest-${index}`, { keyId: 'modest' }));
    }
  });

  it('has room again when the time of the oldest is over', () => {
    const clock = fakeClock();
    const store = memoryIdempotencyStore({ clock, maxRecords: 2 });
    claimed(store, claimOf('a'));
    claimed(store, claimOf('b', { keyId: 'key-2' }));

    clock.advance(2 * timeMs);

    claimed(store, claimOf('c'));
    claimed(store, claimOf('a', { keyId: 'key-2' }));
  });

  it('T51 holds so many records, however many names there are', () => {
    const store = memoryIdempotencyStore({ maxRecords: 100 });

    for (let index = 0; index < 10_000; index += 1) {
      const input = claimOf(`name-${index}`);
      claimed(store, input);
      end(store, input, 'done');
    }

    const latest = Array.from({ length: 100 }, (_, index) => claimOf(`name-${9_999 - index}`));
    expect(new Set(latest.map((input) => stateOf(store, input)))).toEqual(new Set(['done']));
    claimed(store, claimOf('name-9899'));
  });
});

/** A fault: what the wrapped store does otherwise than the sound one. */
const claimFaults: readonly (readonly [
  fault: string,
  caughtBy: string,
  (sound: IdempotencyStore) => Partial<IdempotencyStore>,
])[] = [
  [
    'looks before it leaps',
    'IS-02',
    (sound) => {
      const taken = new Set<string>();
      return {
        claim: async (input) => {
          const isFree = !taken.has(input.name);
          await Promise.resolve();
          taken.add(input.name);
          const ifTaken = isFree ? 'replace' : input.ifTaken;
          return sound.claim({ ...input, ifTaken });
        },
      };
    },
  ],
  [
    'has one name for all',
    'IS-03',
    (sound) => ({ claim: (input) => sound.claim({ ...input, name: 'one' }) }),
  ],
  [
    'loses the status',
    'IS-04',
    (sound) => ({ finish: (input) => sound.finish({ ...input, httpStatus: 200 }) }),
  ],
  [
    'takes every end for a good one',
    'IS-04',
    (sound) => ({ finish: (input) => sound.finish({ ...input, state: 'done' }) }),
  ],
  ['ends twice', 'IS-05', (sound) => ({ finish: (input) => endedAnew(sound, input) })],
  ['abandons nothing', 'IS-06', () => ({ abandon: () => ({ status: 'abandoned' }) })],
  ['asks nobody whose claim it is', 'IS-07', (sound) => ownerless(sound)],
  [
    'has no leases',
    'IS-08',
    (sound) => ({ claim: (input) => sound.claim({ ...input, leaseMs: 10 ** 9 }) }),
  ],
  [
    'frees a name with its lease',
    'IS-08',
    (sound) => ({ claim: (input) => sound.claim({ ...input, keepMs: 0 }) }),
  ],
  [
    'takes no end behind the lease',
    'IS-09',
    (sound) => ({
      finish: async (input) => {
        const seen = await sound.claim(claimOf(input.name));
        const isLate = seen.status === 'taken' && seen.record.state === 'unknown';
        return isLate ? { status: 'gone' } : sound.finish(input);
      },
    }),
  ],
  [
    'keeps an end for ever',
    'IS-10',
    (sound) => ({ finish: (input) => sound.finish({ ...input, keepMs: 10 ** 12 }) }),
  ],
  [
    'forgets a crash too soon',
    'IS-11',
    (sound) => ({ claim: (input) => sound.claim({ ...input, keepMs: input.keepMs / 2 }) }),
  ],
  [
    'cuts a lease at the time of a record',
    'IS-12',
    (sound) => ({
      claim: (input) => sound.claim({ ...input, leaseMs: Math.min(input.leaseMs, input.keepMs) }),
    }),
  ],
  [
    'replaces nothing',
    'IS-13',
    (sound) => ({ claim: (input) => sound.claim({ ...input, ifTaken: 'answer' }) }),
  ],
  ['renews the lease of whoever is asked for', 'IS-14', (sound) => renewing(sound)],
];

describe('the idempotency contract finds a store that', () => {
  it.each(claimFaults)('%s: %s', async (_fault, caughtBy, faulty) => {
    const contract = idempotencyStoreContract(() => {
      const clock = fakeClock();
      const sound = memoryIdempotencyStore({ clock });
      return { store: { ...sound, ...faulty(sound) }, clock };
    });

    const [found] = contract.filter(({ name }) => name.startsWith(caughtBy));

    await expect(found?.run()).rejects.toThrow();
  });
});

const timeMs = 1_000;

const hourMs = 60 * 60 * 1000;

function claimOf(name: string, change: Partial<ClaimInput> = {}): ClaimInput {
  return {
    name,
    fingerprint: 'f',
    keyId: 'key-1',
    operation: 'chat',
    claimId: `claim-${name}`,
    requestId: 'r',
    leaseMs: timeMs,
    keepMs: timeMs,
    ifTaken: 'answer',
    ...change,
  };
}

function claimed(store: IdempotencyStore, input: ClaimInput | undefined): void {
  expect(input && store.claim(input)).toEqual({ status: 'claimed' });
}

function end(
  store: IdempotencyStore,
  input: ClaimInput | undefined,
  state: 'done' | 'unknown',
): void {
  const { name = '', claimId = '', keepMs = timeMs } = input ?? {};
  const ended = store.finish({ name, claimId, state, httpStatus: 200, keepMs });
  expect(ended).toEqual({ status: 'finished' });
}

function stateOf(store: IdempotencyStore, input: ClaimInput | undefined): unknown {
  const seen: unknown = input && store.claim(input);
  return Reflect.get(Object(Reflect.get(Object(seen), 'record')), 'state');
}

async function endedAnew(
  sound: IdempotencyStore,
  input: Parameters<IdempotencyStore['finish']>[0],
): Promise<{ readonly status: 'finished' | 'gone' }> {
  const ended = await sound.finish(input);
  const seen = await sound.claim(claimOf(input.name));
  if (ended.status === 'finished' || seen.status === 'claimed') return ended;
  const { claimId } = seen.record;
  if (claimId !== input.claimId) return ended;
  await sound.claim({ ...claimOf(input.name), claimId, ifTaken: 'replace', leaseMs: 10 ** 6 });
  return sound.finish(input);
}

function ownerless(sound: IdempotencyStore): Partial<IdempotencyStore> {
  const owners = new Map<string, string>();
  const owned = <T extends { readonly name: string; readonly claimId: string }>(input: T): T => ({
    ...input,
    claimId: owners.get(input.name) ?? input.claimId,
  });
  return {
    claim: async (input) => {
      const result = await sound.claim(input);
      if (result.status === 'claimed') owners.set(input.name, input.claimId);
      return result;
    },
    finish: (input) => sound.finish(owned(input)),
    abandon: (input) => sound.abandon(owned(input)),
  };
}

function renewing(sound: IdempotencyStore): Partial<IdempotencyStore> {
  const firsts = new Map<string, ClaimInput>();
  return {
    claim: async (input) => {
      const result = await sound.claim(input);
      if (result.status === 'claimed') firsts.set(input.name, input);
      const first = firsts.get(input.name);
      const isRunning = result.status === 'taken' && result.record.state === 'running';
      if (isRunning && first !== undefined) await sound.claim({ ...first, ifTaken: 'replace' });
      return result;
    },
  };
}
