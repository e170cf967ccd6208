/** Faulty handling of limits, adjustments and calls in doubt, with the case that detects each. */
import type { QuotaBalance, QuotaStore } from '../../src/ports/limits/quota-store.ts';
import { newId } from '../../src/testing/contracts/quota/case-context.ts';

/** A fault: the methods that differ from the correct store. */
export type Fault = (correct: QuotaStore) => Partial<QuotaStore>;

/** Each fault with the case that must fail. */
export const limitFaults: readonly (readonly [fault: string, caughtBy: string, Fault])[] = [
  [
    'repeats an adjustment',
    'QS-09',
    (correct) => ({
      adjust: (input) => correct.adjust({ ...input, id: newId() }),
    }),
  ],
  [
    'keeps the first limit',
    'QS-50',
    (correct) => {
      const first = new Map<string, bigint | undefined>();
      return {
        reserve: (input) =>
          correct.reserve({
            ...input,
            lines: input.lines.map(({ limit, ...line }) => {
              const row = `${line.subject}|${line.period}`;
              const known = first.get(row) ?? limit;
              first.set(row, known);
              return known === undefined ? line : { ...line, limit: known };
            }),
          }),
      };
    },
  ],
  [
    'stores a limit only if the hold is granted',
    'QS-50',
    (correct) => ({
      reserve: async (input) => {
        const before = await Promise.all(
          input.lines.map(async (line) => correct.read(line.subject, line.period, input.partition)),
        );
        const result = await correct.reserve(input);
        if (result.status !== 'insufficient') return result;
        for (const [index, line] of input.lines.entries()) {
          const limit = before[index]?.limit;
          if (limit === undefined) continue;
          const lines = [{ ...line, amount: 0n, limit }];
          const again = { ...input, id: newId(), lines };
          await correct.reserve(again);
          await correct.release(again);
        }
        return result;
      },
    }),
  ],
  [
    'sets the limit where it should add to extra',
    'QS-51',
    (correct) => ({
      reserve: async (input) => {
        const lines = await Promise.all(
          input.lines.map(async (line) => {
            const row = await correct.read(line.subject, line.period, input.partition);
            const extra = row?.extra ?? 0n;
            return line.limit === undefined ? line : { ...line, limit: line.limit - extra };
          }),
        );
        return correct.reserve({
          ...input,
          lines: lines.map((line) =>
            line.limit !== undefined && line.limit < 0n ? { ...line, limit: 0n } : line,
          ),
        });
      },
    }),
  ],
  [
    'carries an addition over to the next period',
    'QS-51',
    (correct) => {
      let added = 0n;
      return {
        adjust: (input) => {
          added += input.addLimit ?? 0n;
          return correct.adjust(input);
        },
        reserve: (input) =>
          correct.reserve({
            ...input,
            lines: input.lines.map((line) =>
              line.limit === undefined || line.period === '2026-11'
                ? line
                : { ...line, limit: line.limit + added },
            ),
          }),
      };
    },
  ],
  [
    'lets an operator set a limit that records state',
    'QS-52',
    (correct) => ({
      adjust: async (input) => {
        try {
          return await correct.adjust(input);
        } catch {
          const { limit: _, ...rest } = input;
          return correct.adjust(rest);
        }
      },
    }),
  ],
  [
    'counts a hold in doubt as running',
    'QS-60',
    (correct) => ({
      extend: (inputs) => correct.extend(inputs.map(({ idle: _, ...input }) => input)),
    }),
  ],
  [
    'returns the money of a hold in doubt',
    'QS-60',
    (correct) => ({
      extend: async (inputs) => {
        const results = await correct.extend(inputs);
        for (const { id, partition, idle } of inputs) {
          const lines = [{ subject: 'alice', period: '', amount: 0n }];
          if (idle === true) await correct.release({ id, partition, lines });
        }
        return results;
      },
    }),
  ],
  [
    'stops counting a hold again at each `idle` extend',
    'QS-60',
    (correct) => {
      const idleCounts = new Map<string, number>();
      return {
        extend: (inputs) => {
          for (const { id, idle } of inputs) {
            if (idle === true) idleCounts.set(id, (idleCounts.get(id) ?? 0) + 1);
          }
          return correct.extend(inputs);
        },
        read: async (...row) => {
          const state = await correct.read(...row);
          if (state === undefined) return undefined;
          const twice = [...idleCounts.values()].reduce((sum, times) => sum + times - 1, 0);
          return { ...state, inFlight: state.inFlight - twice };
        },
      };
    },
  ],
  [
    'returns the rest before the hold, not after it',
    'QS-47',
    (correct) => ({
      reserve: async (input) => {
        const result = await correct.reserve(input);
        if (result.status !== 'held') return result;
        const available = result.available.map(
          (remaining, index) => remaining + (input.lines[index]?.amount ?? 0n),
        );
        return { ...result, available };
      },
    }),
  ],
  [
    'states the balances of a charge without it',
    'QS-63',
    (correct) => ({
      settle: async (input) => {
        const result = await correct.settle(input);
        if (!('balances' in result) || result.balances === undefined) return result;
        const amounts = input.lines.map((line) => line.amount);
        const before = ({ used, limit }: QuotaBalance, index: number) => ({
          ...{ used: used - (amounts[index] ?? 0n), limit },
        });
        return { ...result, balances: result.balances.map(before) };
      },
    }),
  ],
];
