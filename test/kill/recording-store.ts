/** A quota store that records each operation and its result before the gateway sees it. */
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import type { Note } from './facts.ts';

/** The subject that all callers share; the other line of each call has its own caller. */
export const poolSubject = 'pool';

/** The same store, with every reserve, settle and release recorded. */
export function recordingQuotaStore(store: QuotaStore, note: Note): QuotaStore {
  return {
    ...store,
    reserve: async (input, options) => {
      const subject = input.lines.find((line) => line.subject !== poolSubject)?.subject ?? '';
      note({ fact: 'reserving', id: input.id, subject });
      const result = await store.reserve(input, options);
      if (result.status === 'held') note({ fact: 'held', id: input.id });
      return result;
    },
    settle: async (input, options) => {
      const { id, lines } = input;
      note({ fact: 'settling', id, amount: lines[0]?.amount ?? 0n });
      const result = await store.settle(input, options);
      note({ fact: 'acknowledged', id, status: result.status });
      return result;
    },
    release: async (input, options) => {
      const result = await store.release(input, options);
      if (result.status === 'released') note({ fact: 'released', id: input.id });
      return result;
    },
  };
}
