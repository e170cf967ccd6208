/**
 * The quota contract has teeth: each fault that a store was ever shipped with fails a named case.
 */
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import type { QuotaLine, QuotaStore, ReserveInput } from '../../src/ports/quota-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { newId } from '../../src/testing/contracts/quota/scene.ts';
import { quotaStoreContract } from '../../src/testing/contracts/quota-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { type Fault, limitFaults } from './quota-limit-faults.ts';

const faults: readonly (readonly [fault: string, caughtBy: string, Fault])[] = [
  ['drops the guard', 'QS-10', dropsTheGuard],
  ['asks >= where it should ask >', 'QS-02', guardsTooEarly],
  [
    'trusts the rich and holds nothing',
    'QS-12',
    (sound) => ({
      reserve: async (input) => {
        const rich = (await availableOf(sound, input)).every((left) => left > 100_000n);
        return sound.reserve(rich ? withAmounts(input, () => 0n) : input);
      },
    }),
  ],
  [
    'charges a second settle too',
    'QS-19',
    (sound) => ({
      settle: async (input) => {
        const result = await sound.settle(input);
        if (result.status === 'already') await sound.settle({ ...input, id: newId() });
        return result;
      },
    }),
  ],
  [
    'refuses a settle above the balance',
    'QS-14',
    (sound) => ({
      settle: async (input) => {
        const [left = 0n] = await availableOf(sound, input);
        const tooMuch = input.lines.some((line) => line.amount > left + 100n);
        if (!tooMuch) return sound.settle(input);
        await sound.release(input);
        return { status: 'conflict', as: 'released' };
      },
    }),
  ],
  [
    'refuses a late settle',
    'QS-27',
    (sound) => ({
      settle: async (input) => {
        const lines = input.lines.map((line) => ({ ...line, limit: 0n }));
        const seen = await sound.reserve({ ...input, lines, ttlMs: 1_000, onExpire: 'release' });
        return seen.status === 'resolved' && seen.as === 'expired'
          ? { status: 'conflict', as: 'released' }
          : sound.settle(input);
      },
    }),
  ],
  [
    'renews every lease with any operation',
    'QS-25',
    (sound) => {
      const seen = new Map<string, ReserveInput>();
      const renew = async (): Promise<void> => {
        await sound.extend(
          [...seen.values()].map(({ id, partition, ttlMs }) => ({ id, partition, ttlMs })),
        );
      };
      return {
        reserve: async (input) => {
          await renew();
          seen.set(input.id, input);
          return sound.reserve(input);
        },
      };
    },
  ],
  [
    'skips the last line',
    'QS-16',
    (sound) => ({
      reserve: (input) => sound.reserve({ ...input, lines: allButLast(input.lines) }),
      settle: (input) => sound.settle({ ...input, lines: allButLast(input.lines) }),
    }),
  ],
  [
    'leaves the first lines held where the last does not fit',
    'QS-33',
    (sound) => ({
      reserve: async (input) => {
        const result = await sound.reserve(input);
        if (result.status === 'insufficient' && input.lines.length > 1) {
          await sound.reserve({ ...input, id: newId(), lines: allButLast(input.lines) });
        }
        return result;
      },
    }),
  ],
  [
    'keeps no tombstone for a release it did not expect',
    'QS-22',
    (sound) => ({
      release: async (input) => {
        const [known] = await sound.extend([{ ...input, ttlMs: 1_000 }]);
        return known?.status === 'gone' && known.as === 'unknown'
          ? { status: 'released' }
          : sound.release(input);
      },
    }),
  ],
  [
    'holds again for a reserve repeated',
    'QS-17',
    (sound) => ({
      reserve: async (input) => {
        const result = await sound.reserve(input);
        return result.status === 'held' && result.replay
          ? sound.reserve({ ...input, id: newId() })
          : result;
      },
    }),
  ],
  [
    'takes other lines for the same reserve',
    'QS-18',
    (sound) => ({
      reserve: async (input) => {
        const result = await sound.reserve(input);
        return result.status === 'id_conflict'
          ? { status: 'held', replay: true, expiresAtMs: 0, available: [0n] }
          : result;
      },
    }),
  ],
  [
    'revives what has ended',
    'QS-23',
    (sound) => ({
      extend: async (inputs) =>
        (await sound.extend(inputs)).map((result) =>
          result.status === 'gone' ? { status: 'held', expiresAtMs: 0 } : result,
        ),
    }),
  ],
  [
    'says released of what was settled',
    'QS-20',
    (sound) => ({
      release: async (input) => {
        await sound.release(input);
        return { status: 'released' };
      },
    }),
  ],
  [
    'forgets the charge of an expiry',
    'QS-27',
    (sound) => ({
      reserve: (input) => sound.reserve({ ...input, onExpire: 'release' }),
    }),
  ],
  [
    'charges a late settle beside its expiry',
    'QS-27',
    (sound) => ({
      settle: async (input) => {
        const result = await sound.settle(input);
        if (result.status === 'settled_late' && result.from === 'expired') {
          await sound.settle({
            ...input,
            id: newId(),
            lines: input.lines.map((line) => ({ ...line, amount: 6n })),
          });
        }
        return result;
      },
    }),
  ],
  [
    'charges the period of the day it settles',
    'QS-30',
    (sound) => {
      let latest = '';
      return {
        reserve: (input) => {
          latest = input.lines[0]?.period ?? '';
          return sound.reserve(input);
        },
        settle: (input) =>
          sound.settle({
            ...input,
            lines: input.lines.map((line) => ({ ...line, period: latest })),
          }),
      };
    },
  ],
  [
    'knows no cap of simultaneous holds',
    'QS-15',
    (sound) => ({
      reserve: ({ maxConcurrentCalls: _ignored, ...input }) => sound.reserve(input),
    }),
  ],
  ['expires nothing but by its sweeper', 'QS-28', expiresBySweepOnly],
  [
    'counts an expired lease in each sweep',
    'QS-29',
    (sound) => {
      let total = 0;
      return {
        sweep: async (options) => {
          const result = await sound.sweep(options);
          total += result.expired;
          return { expired: total, more: result.more };
        },
      };
    },
  ],
  [
    'reckons in single floats',
    'QS-38',
    (sound) => ({
      reserve: (input) =>
        sound.reserve(withAmounts(input, (amount) => BigInt(Math.fround(Number(amount))))),
    }),
  ],
  [
    'takes a negative charge',
    'QS-05',
    (sound) => ({
      settle: (input) =>
        sound.settle({
          ...input,
          lines: input.lines.map((line) => ({
            ...line,
            amount: line.amount < 0n ? 0n : line.amount,
          })),
        }),
    }),
  ],
  [
    'folds the case of its subjects',
    'QS-39',
    (sound) => ({
      reserve: (input) =>
        sound.reserve({
          ...input,
          lines: input.lines.map((line) => ({ ...line, subject: line.subject.toLowerCase() })),
        }),
    }),
  ],
  ...limitFaults,
];

describe('a store with a fault fails the contract where it', () => {
  it.each(faults)('%s: %s', async (_fault, caughtBy, breakIt) => {
    const failed = await failedCases((clock) => {
      const sound = memoryQuotaStore({ clock });
      return { ...sound, ...breakIt(sound) };
    }, caughtBy);

    expect(failed).not.toEqual([]);
  });

  it('reads the clock of whoever asks: QS-31', async () => {
    const failed = await failedCases((clock) => {
      const startedAt = Date.now();
      const monotonicMs = () => clock.monotonicMs() + Date.now() - startedAt;
      return memoryQuotaStore({ clock: { ...clock, monotonicMs } });
    });

    expect(failed).toContainEqual(expect.stringMatching(/^QS-31 /));
  });

  it('lets balances lapse: QS-41', async () => {
    const failed = await failedCases((clock) => {
      const sound = memoryQuotaStore({ clock });
      const lapsesAtMs = clock.now() + 86_400_000;
      return {
        ...sound,
        read: (...row) => (clock.now() > lapsesAtMs ? undefined : sound.read(...row)),
      };
    });

    expect(failed).toEqual([expect.stringMatching(/^QS-41 balances/)]);
  });

  it('remembers too few of what has ended: QS-41', async () => {
    const failed = await failedCases((clock) => memoryQuotaStore({ clock, maxEnded: 3 }));

    expect(failed).toContainEqual(expect.stringMatching(/^QS-41 what has ended/));
  });
});

it('the sound store fails no case', async () => {
  expect(await failedCases((clock) => memoryQuotaStore({ clock }))).toEqual([]);
});

/** The names of the cases that fail, of those whose name begins so. */
async function failedCases(
  make: (clock: Clock) => QuotaStore,
  begins = 'QS-',
): Promise<readonly string[]> {
  const contract = quotaStoreContract(() => {
    const clock = fakeClock();
    return { store: make(clock), clock };
  });
  const failed: string[] = [];
  for (const { name, run } of contract.filter((each) => each.name.startsWith(begins)))
    await run().catch(() => failed.push(name));
  return failed;
}

function dropsTheGuard(sound: QuotaStore): Partial<QuotaStore> {
  return {
    reserve: async (input) => {
      const result = await sound.reserve(input);
      if (result.status !== 'insufficient') return result;
      return {
        status: 'held',
        replay: false,
        expiresAtMs: 0,
        available: input.lines.map(() => 0n),
      };
    },
  };
}

function guardsTooEarly(sound: QuotaStore): Partial<QuotaStore> {
  return {
    reserve: async (input) => {
      const [left] = await availableOf(sound, input);
      const subject = input.lines[0]?.subject ?? '';
      return left === input.lines[0]?.amount
        ? { status: 'insufficient', subject, available: left ?? 0n }
        : sound.reserve(input);
    },
  };
}

/** Sees only by its sweep that time has gone on. */
function expiresBySweepOnly(sound: QuotaStore): Partial<QuotaStore> {
  const seen: ReserveInput[] = [];
  const keep = async (): Promise<void> => {
    await sound.extend(seen.map(({ id, partition }) => ({ id, partition, ttlMs: 900_000 })));
  };
  return {
    reserve: async (input) => {
      seen.push(input);
      const result = await sound.reserve(input);
      await keep();
      return result;
    },
  };
}

async function availableOf(
  store: QuotaStore,
  { lines, partition }: Pick<ReserveInput, 'lines' | 'partition'>,
): Promise<readonly bigint[]> {
  const states = await Promise.all(
    lines.map(async (line) => store.read(line.subject, line.period, partition)),
  );
  return states.map((state) =>
    state === undefined ? 0n : state.limit + state.extra - state.used - state.held,
  );
}

function withAmounts(input: ReserveInput, change: (amount: bigint) => bigint): ReserveInput {
  const lines = input.lines.map((line) => ({ ...line, amount: change(line.amount) }));
  return { ...input, lines };
}

function allButLast(lines: readonly QuotaLine[]): readonly QuotaLine[] {
  return lines.length > 1 ? lines.slice(0, -1) : lines;
}
