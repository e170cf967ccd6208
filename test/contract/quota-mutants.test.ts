// suite: slow
/**
 * The quota contract detects faulty stores: each known fault fails a named case.
 */
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import type { QuotaLine, QuotaStore, ReserveInput } from '../../src/ports/limits/quota-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { newId } from '../../src/testing/contracts/quota/case-context.ts';
import { quotaStoreContract } from '../../src/testing/contracts/quota-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { type Fault, limitFaults } from './quota-limit-faults.ts';

const faults: readonly (readonly [fault: string, caughtBy: string, Fault])[] = [
  ['does not check and hold atomically', 'QS-10', checksWithoutLock],
  ['compares with >= instead of >', 'QS-02', comparesTooStrictly],
  [
    'does not hold for subjects with a large balance',
    'QS-12',
    (correct) => ({
      reserve: async (input) => {
        const rich = (await availableOf(correct, input)).every((remaining) => remaining > 100_000n);
        return correct.reserve(rich ? withAmounts(input, () => 0n) : input);
      },
    }),
  ],
  [
    'also charges a second settle',
    'QS-19',
    (correct) => ({
      settle: async (input) => {
        const result = await correct.settle(input);
        if (result.status === 'already') await correct.settle({ ...input, id: newId() });
        return result;
      },
    }),
  ],
  [
    'refuses a settle above the balance',
    'QS-14',
    (correct) => ({
      settle: async (input) => {
        const [remaining = 0n] = await availableOf(correct, input);
        const tooMuch = input.lines.some((line) => line.amount > remaining + 100n);
        if (!tooMuch) return correct.settle(input);
        await correct.release(input);
        return { status: 'conflict', as: 'released' };
      },
    }),
  ],
  [
    'refuses a late settle',
    'QS-27',
    (correct) => ({
      settle: async (input) => {
        const lines = input.lines.map((line) => ({ ...line, limit: 0n }));
        const seen = await correct.reserve({ ...input, lines, ttlMs: 1_000, onExpire: 'release' });
        return seen.status === 'resolved' && seen.as === 'expired'
          ? { status: 'conflict', as: 'released' }
          : correct.settle(input);
      },
    }),
  ],
  [
    'renews all leases of a subject with any operation',
    'QS-25',
    (correct) => {
      const seen = new Map<string, ReserveInput>();
      const renew = async (): Promise<void> => {
        await correct.extend(
          [...seen.values()].map(({ id, partition, ttlMs }) => ({ id, partition, ttlMs })),
        );
      };
      return {
        reserve: async (input) => {
          await renew();
          seen.set(input.id, input);
          return correct.reserve(input);
        },
      };
    },
  ],
  [
    'skips the last line',
    'QS-16',
    (correct) => ({
      reserve: (input) => correct.reserve({ ...input, lines: allButLast(input.lines) }),
      settle: (input) => correct.settle({ ...input, lines: allButLast(input.lines) }),
    }),
  ],
  [
    'leaves the first lines held if the last does not fit',
    'QS-33',
    (correct) => ({
      reserve: async (input) => {
        const result = await correct.reserve(input);
        if (result.status === 'insufficient' && input.lines.length > 1) {
          await correct.reserve({ ...input, id: newId(), lines: allButLast(input.lines) });
        }
        return result;
      },
    }),
  ],
  [
    'does not remember the release of an unknown hold',
    'QS-22',
    (correct) => ({
      release: async (input) => {
        const [known] = await correct.extend([{ ...input, ttlMs: 1_000 }]);
        return known?.status === 'gone' && known.as === 'unknown'
          ? { status: 'released' }
          : correct.release(input);
      },
    }),
  ],
  [
    'holds again for a repeated reserve',
    'QS-17',
    (correct) => ({
      reserve: async (input) => {
        const result = await correct.reserve(input);
        return result.status === 'held' && result.replay
          ? correct.reserve({ ...input, id: newId() })
          : result;
      },
    }),
  ],
  [
    'accepts other lines for the same reserve',
    'QS-18',
    (correct) => ({
      reserve: async (input) => {
        const result = await correct.reserve(input);
        return result.status === 'id_conflict'
          ? { status: 'held', replay: true, expiresAtMs: 0, available: [0n] }
          : result;
      },
    }),
  ],
  [
    'extends ended holds',
    'QS-23',
    (correct) => ({
      extend: async (inputs) =>
        (await correct.extend(inputs)).map((result) =>
          result.status === 'gone' ? { status: 'held', expiresAtMs: 0 } : result,
        ),
    }),
  ],
  [
    'returns released for a settled hold',
    'QS-20',
    (correct) => ({
      release: async (input) => {
        await correct.release(input);
        return { status: 'released' };
      },
    }),
  ],
  [
    'reports every adjustment as new',
    'QS-09',
    (correct) => ({
      adjust: async (input) => ({ ...(await correct.adjust(input)), replay: false }),
    }),
  ],
  [
    'forgets the charge of an expiry',
    'QS-27',
    (correct) => ({
      reserve: (input) => correct.reserve({ ...input, onExpire: 'release' }),
    }),
  ],
  [
    'charges a late settle in addition to the expiry',
    'QS-27',
    (correct) => ({
      settle: async (input) => {
        const result = await correct.settle(input);
        if (result.status === 'settled_late' && result.from === 'expired') {
          await correct.settle({
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
    'charges the current period at the settle',
    'QS-30',
    (correct) => {
      let latest = '';
      return {
        reserve: (input) => {
          latest = input.lines[0]?.period ?? '';
          return correct.reserve(input);
        },
        settle: (input) =>
          correct.settle({
            ...input,
            lines: input.lines.map((line) => ({ ...line, period: latest })),
          }),
      };
    },
  ],
  [
    'ignores the cap on concurrent holds',
    'QS-15',
    (correct) => ({
      reserve: ({ maxConcurrentCalls: _ignored, ...input }) => correct.reserve(input),
    }),
  ],
  ['expires leases only in sweeps', 'QS-28', expiresBySweepOnly],
  [
    'counts an expired lease in each sweep',
    'QS-29',
    (correct) => {
      let total = 0;
      return {
        sweep: async (options) => {
          const result = await correct.sweep(options);
          total += result.expired;
          return { expired: total, more: result.more };
        },
      };
    },
  ],
  [
    'computes in single-precision floats',
    'QS-38',
    (correct) => ({
      reserve: (input) =>
        correct.reserve(withAmounts(input, (amount) => BigInt(Math.fround(Number(amount))))),
    }),
  ],
  [
    'accepts a negative charge',
    'QS-05',
    (correct) => ({
      settle: (input) =>
        correct.settle({
          ...input,
          lines: input.lines.map((line) => ({
            ...line,
            amount: line.amount < 0n ? 0n : line.amount,
          })),
        }),
    }),
  ],
  [
    'ignores the case of subjects',
    'QS-39',
    (correct) => ({
      reserve: (input) =>
        correct.reserve({
          ...input,
          lines: input.lines.map((line) => ({ ...line, subject: line.subject.toLowerCase() })),
        }),
    }),
  ],
  ...limitFaults,
];

describe('the quota contract detects a store that', () => {
  it.each(faults)('%s: %s', async (_fault, caughtBy, breakIt) => {
    const failed = await failedCases((clock) => {
      const correct = memoryQuotaStore({ clock });
      return { ...correct, ...breakIt(correct) };
    }, caughtBy);

    expect(failed).not.toEqual([]);
  });

  it('uses the caller’s clock: QS-31', async () => {
    const failed = await failedCases((clock) => {
      const startedAt = Date.now();
      const monotonicMs = () => clock.monotonicMs() + Date.now() - startedAt;
      return memoryQuotaStore({ clock: { ...clock, monotonicMs } });
    });

    expect(failed).toContainEqual(expect.stringMatching(/^QS-31 /));
  });

  it('lets balances expire: QS-41', async () => {
    const failed = await failedCases((clock) => {
      const correct = memoryQuotaStore({ clock });
      const lapsesAtMs = clock.now() + 86_400_000;
      return {
        ...correct,
        read: (...row) => (clock.now() > lapsesAtMs ? undefined : correct.read(...row)),
      };
    });

    expect(failed).toEqual([expect.stringMatching(/^QS-41 balances/)]);
  });

  it('remembers too few ended holds: QS-41', async () => {
    const failed = await failedCases((clock) => memoryQuotaStore({ clock, maxEnded: 3 }));

    expect(failed).toContainEqual(expect.stringMatching(/^QS-41 an ended hold/));
  });
});

it('the correct store fails no case', async () => {
  expect(await failedCases((clock) => memoryQuotaStore({ clock }))).toEqual([]);
});

/** The names of the failing cases among those with this prefix. */
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

function checksWithoutLock(correct: QuotaStore): Partial<QuotaStore> {
  return {
    reserve: async (input) => {
      const result = await correct.reserve(input);
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

function comparesTooStrictly(correct: QuotaStore): Partial<QuotaStore> {
  return {
    reserve: async (input) => {
      const [remaining] = await availableOf(correct, input);
      const subject = input.lines[0]?.subject ?? '';
      return remaining === input.lines[0]?.amount
        ? { status: 'insufficient', subject, available: remaining ?? 0n }
        : correct.reserve(input);
    },
  };
}

/** Sees the advanced clock only in sweeps. */
function expiresBySweepOnly(correct: QuotaStore): Partial<QuotaStore> {
  const seen: ReserveInput[] = [];
  const keep = async (): Promise<void> => {
    await correct.extend(seen.map(({ id, partition }) => ({ id, partition, ttlMs: 900_000 })));
  };
  return {
    reserve: async (input) => {
      seen.push(input);
      const result = await correct.reserve(input);
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
