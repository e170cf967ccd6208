/** A quota store that notes what it is asked and answered, before anybody acts on it. */
import type { QuotaStore } from '../../src/ports/quota-store.ts';
import type { Note } from './facts.ts';

/** The line of a call that names its caller; the other one is the pool that all callers share. */
export const poolSubject = 'pool';

/** The same store, every reserve, settle and release noted. */
export function notingQuotaStore(store: QuotaStore, note: Note): QuotaStore {
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
