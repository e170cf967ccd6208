// suite: slow
/**
 * The memory idempotency store fulfils its contract, and the contract detects faulty stores: each
 * fault fails a named case. The bounds, which only this store has, are tested first.
 */
import { describe, expect, it } from 'vitest';
import type { ClaimInput, IdempotencyStore } from '../../src/ports/replies/idempotency-store.ts';
import { memoryIdempotencyStore } from '../../src/stores/memory/idempotency-store.ts';
import { idempotencyStoreContract } from '../../src/testing/contracts/idempotency-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

describe('memoryIdempotencyStore', () => {
  const contract = idempotencyStoreContract(() => {
    const clock = fakeClock();
    return { store: memoryIdempotencyStore({ clock }), clock };
  });
  for (const { name, run } of contract) it(name, run);

  it('when full, forgets done calls, then unknown texts, then old unknown images', () => {
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
      const remaining = forgotten.slice(index).map((each) => claimOf(each));
      expect(remaining.map((input) => stateOf(store, input))).not.toContain(undefined);
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
    for (let index = 0; index < 20_000; index += 1) {
      const input = claimOf(`failed-${index}`, { keyId: 'greedy', operation });
      try {
        store.claim(input);
        end(store, input, 'unknown');
      } catch {
        refused += 1;
      }
    }

    expect(refused).toBe(operation === 'images' ? 19_500 : 0);
    for (let index = 0; index < 250; index += 1) {
      claimed(store, claimOf(`modest-${index}`, { keyId: 'modest' }));
    }
  });

  it('accepts claims again when the oldest record has expired', () => {
    const clock = fakeClock();
    const store = memoryIdempotencyStore({ clock, maxRecords: 2 });
    claimed(store, claimOf('a'));
    claimed(store, claimOf('b', { keyId: 'key-2' }));

    clock.advance(2 * timeMs);

    claimed(store, claimOf('c'));
    claimed(store, claimOf('a', { keyId: 'key-2' }));
  });

  it('keeps at most maxRecords, however many names there are', () => {
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

/** A fault: the methods that differ from the correct store. */
const claimFaults: readonly (readonly [
  fault: string,
  caughtBy: string,
  (correct: IdempotencyStore) => Partial<IdempotencyStore>,
])[] = [
  [
    'checks and claims in two steps',
    'IS-02',
    (correct) => {
      const taken = new Set<string>();
      return {
        claim: async (input) => {
          const isFree = !taken.has(input.name);
          await Promise.resolve();
          taken.add(input.name);
          const ifTaken = isFree ? 'replace' : input.ifTaken;
          return correct.claim({ ...input, ifTaken });
        },
      };
    },
  ],
  [
    'uses one name for all',
    'IS-03',
    (correct) => ({ claim: (input) => correct.claim({ ...input, name: 'one' }) }),
  ],
  [
    'loses the status',
    'IS-04',
    (correct) => ({ finish: (input) => correct.finish({ ...input, httpStatus: 200 }) }),
  ],
  [
    'records every ending as done',
    'IS-04',
    (correct) => ({ finish: (input) => correct.finish({ ...input, state: 'done' }) }),
  ],
  [
    'lets a second ending win',
    'IS-05',
    (correct) => ({ finish: (input) => endedAnew(correct, input) }),
  ],
  ['abandons nothing', 'IS-06', () => ({ abandon: () => ({ status: 'abandoned' }) })],
  ['does not check who owns a claim', 'IS-07', (correct) => ownerless(correct)],
  [
    'has no leases',
    'IS-08',
    (correct) => ({ claim: (input) => correct.claim({ ...input, leaseMs: 10 ** 9 }) }),
  ],
  [
    'frees a name with its lease',
    'IS-08',
    (correct) => ({ claim: (input) => correct.claim({ ...input, keepMs: 0 }) }),
  ],
  [
    'accepts no ending after the lease',
    'IS-09',
    (correct) => ({
      finish: async (input) => {
        const seen = await correct.claim(claimOf(input.name));
        const isLate = seen.status === 'taken' && seen.record.state === 'unknown';
        return isLate ? { status: 'gone' } : correct.finish(input);
      },
    }),
  ],
  [
    'keeps an ended claim forever',
    'IS-10',
    (correct) => ({ finish: (input) => correct.finish({ ...input, keepMs: 10 ** 12 }) }),
  ],
  [
    'forgets a crashed claim too early',
    'IS-11',
    (correct) => ({ claim: (input) => correct.claim({ ...input, keepMs: input.keepMs / 2 }) }),
  ],
  [
    'ends a lease with its record',
    'IS-12',
    (correct) => ({
      claim: (input) => correct.claim({ ...input, leaseMs: Math.min(input.leaseMs, input.keepMs) }),
    }),
  ],
  [
    'does not replace',
    'IS-13',
    (correct) => ({ claim: (input) => correct.claim({ ...input, ifTaken: 'answer' }) }),
  ],
  ['renews a lease when its record is read', 'IS-14', (correct) => renewing(correct)],
  [
    'shares a claim between keys that begin alike',
    'IS-15',
    (correct) => {
      const names = new Map<string, string>();
      return {
        claim: (input) => {
          const start = input.keyId.slice(0, 2);
          const name = names.get(start) ?? input.name;
          names.set(start, name);
          return correct.claim({ ...input, name });
        },
      };
    },
  ],
];

describe('the idempotency contract detects a store that', () => {
  it.each(claimFaults)('%s: %s', async (_fault, caughtBy, faulty) => {
    const contract = idempotencyStoreContract(() => {
      const clock = fakeClock();
      const correct = memoryIdempotencyStore({ clock });
      return { store: { ...correct, ...faulty(correct) }, clock };
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
  correct: IdempotencyStore,
  input: Parameters<IdempotencyStore['finish']>[0],
): Promise<{ readonly status: 'finished' | 'gone' }> {
  const ended = await correct.finish(input);
  const seen = await correct.claim(claimOf(input.name));
  if (ended.status === 'finished' || seen.status === 'claimed') return ended;
  const { claimId } = seen.record;
  if (claimId !== input.claimId) return ended;
  await correct.claim({ ...claimOf(input.name), claimId, ifTaken: 'replace', leaseMs: 10 ** 6 });
  return correct.finish(input);
}

function ownerless(correct: IdempotencyStore): Partial<IdempotencyStore> {
  const owners = new Map<string, string>();
  const owned = <T extends { readonly name: string; readonly claimId: string }>(input: T): T => ({
    ...input,
    claimId: owners.get(input.name) ?? input.claimId,
  });
  return {
    claim: async (input) => {
      const result = await correct.claim(input);
      if (result.status === 'claimed') owners.set(input.name, input.claimId);
      return result;
    },
    finish: (input) => correct.finish(owned(input)),
    abandon: (input) => correct.abandon(owned(input)),
  };
}

function renewing(correct: IdempotencyStore): Partial<IdempotencyStore> {
  const firsts = new Map<string, ClaimInput>();
  return {
    claim: async (input) => {
      const result = await correct.claim(input);
      if (result.status === 'claimed') firsts.set(input.name, input);
      const first = firsts.get(input.name);
      const isRunning = result.status === 'taken' && result.record.state === 'running';
      if (isRunning && first !== undefined) await correct.claim({ ...first, ifTaken: 'replace' });
      return result;
    },
  };
}
