/** The quota store of a process whose version of the package had no batches yet. */
import { jsonWithBigints } from '../../../src/json.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import { type PostgresLocation, statements } from '../../../src/stores/postgres/client.ts';
import {
  extendResults,
  releaseResult,
  reserveResult,
  resultOf,
  settleResult,
} from '../../../src/stores/postgres/quota-replies.ts';
import { postgresQuotaStore } from '../../../src/stores/postgres/quota-store.ts';

/** Runs each operation in a statement of its own, by the functions that processes had then. */
export function olderQuotaStore(location: PostgresLocation): QuotaStore {
  const db = statements(location);
  const call = async (name: string, input: object) => {
    const text = `SELECT "tollgate".quota_${name}($1::text::jsonb)::text AS result`;
    return resultOf(await db.rows(text, [jsonWithBigints(input)]));
  };
  return {
    ...postgresQuotaStore(location),
    reserve: async ({ onExpire, maxConcurrentCalls, ...input }) => {
      const lines = input.lines.map((line, index) => ({
        ...line,
        charge: onExpire === 'release' ? 0n : onExpire.charge[index],
        cap: maxConcurrentCalls?.[index],
      }));
      return reserveResult(await call('reserve', { ...input, lines }), lines.length);
    },
    extend: async (items) => {
      const partition = items[0]?.partition;
      return extendResults(await call('extend', { partition, items }), items.length);
    },
    settle: async (input) => settleResult(await call('settle', input), input.lines.length),
    release: async (input) => releaseResult(await call('release', input)),
  };
}
