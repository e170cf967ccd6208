/** Stores with a fault in limits, adjustments or calls in doubt, and the case that finds each. */
import type { QuotaStore } from '../../src/ports/quota-store.ts';
import { newId } from '../../src/testing/contracts/quota/scene.ts';

/** A fault: what the wrapped store does otherwise than the sound one. */
export type Fault = (sound: QuotaStore) => Partial<QuotaStore>;

/** Each fault, and the name of the case that must fail by it. */
export const limitFaults: readonly (readonly [fault: string, caughtBy: string, Fault])[] = [
  [
    'repeats an adjustment',
    'QS-09',
    (sound) => ({
      adjust: (input) => sound.adjust({ ...input, id: newId() }),
    }),
  ],
  [
    'keeps the limit it was first given',
    'QS-50',
    (sound) => {
      const first = new Map<string, bigint | undefined>();
      return {
        reserve: (input) =>
          sound.reserve({
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
    'keeps a limit only of a hold that is granted',
    'QS-50',
    (sound) => ({
      reserve: async (input) => {
        const before = await Promise.all(
          input.lines.map(async (line) => sound.read(line.subject, line.period, input.partition)),
        );
        const result = await sound.reserve(input);
        if (result.status !== 'insufficient') return result;
        for (const [index, line] of input.lines.entries()) {
          const limit = before[index]?.limit;
          if (limit === undefined) continue;
          const lines = [{ ...line, amount: 0n, limit }];
          const again = { ...input, id: newId(), lines };
          await sound.reserve(again);
          await sound.release(again);
        }
        return result;
      },
    }),
  ],
  [
    'sets the limit where it should add beside it',
    'QS-51',
    (sound) => ({
      reserve: async (input) => {
        const lines = await Promise.all(
          input.lines.map(async (line) => {
            const row = await sound.read(line.subject, line.period, input.partition);
            const extra = row?.extra ?? 0n;
            return line.limit === undefined ? line : { ...line, limit: line.limit - extra };
          }),
        );
        return sound.reserve({
          ...input,
          lines: lines.map((line) =>
            line.limit !== undefined && line.limit < 0n ? { ...line, limit: 0n } : line,
          ),
        });
      },
    }),
  ],
  [
    'carries what was added over to the next period',
    'QS-51',
    (sound) => {
      let added = 0n;
      return {
        adjust: (input) => {
          added += input.addLimit ?? 0n;
          return sound.adjust(input);
        },
        reserve: (input) =>
          sound.reserve({
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
    'lets an operator set what records state',
    'QS-52',
    (sound) => ({
      adjust: async (input) => {
        try {
          return await sound.adjust(input);
        } catch {
          const { limit: _, ...rest } = input;
          return sound.adjust(rest);
        }
      },
    }),
  ],
  [
    'counts a hold in doubt as running',
    'QS-60',
    (sound) => ({
      extend: (inputs) => sound.extend(inputs.map(({ idle: _, ...input }) => input)),
    }),
  ],
  [
    'gives back the money of a hold in doubt',
    'QS-60',
    (sound) => ({
      extend: async (inputs) => {
        const results = await sound.extend(inputs);
        for (const { id, partition, idle } of inputs) {
          const lines = [{ subject: 'alice', period: '', amount: 0n }];
          if (idle === true) await sound.release({ id, partition, lines });
        }
        return results;
      },
    }),
  ],
  [
    'frees a place at each `idle` extend of the same hold',
    'QS-60',
    (sound) => {
      const told = new Map<string, number>();
      return {
        extend: (inputs) => {
          for (const { id, idle } of inputs) {
            if (idle === true) told.set(id, (told.get(id) ?? 0) + 1);
          }
          return sound.extend(inputs);
        },
        read: async (...row) => {
          const state = await sound.read(...row);
          if (state === undefined) return undefined;
          const twice = [...told.values()].reduce((sum, times) => sum + times - 1, 0);
          return { ...state, inFlight: state.inFlight - twice };
        },
      };
    },
  ],
  [
    'says what was left before the hold, not after',
    'QS-47',
    (sound) => ({
      reserve: async (input) => {
        const result = await sound.reserve(input);
        if (result.status !== 'held') return result;
        const available = result.available.map(
          (left, index) => left + (input.lines[index]?.amount ?? 0n),
        );
        return { ...result, available };
      },
    }),
  ],
];
