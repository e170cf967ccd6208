/** The table of refusals: adding counts, sums by names, deletion of old ones. */
import type { CallOptions, Promised } from '../../ports/call-options.ts';
import type { RecordedRefusals, RefusalLog } from '../../ports/refusal-log.ts';
import {
  matches,
  type SqlColumn,
  type SqlDialect,
  type SqlEngine,
  type SqlInsert,
  whole,
} from './engine.ts';
import {
  checkRefusalReport,
  filterNames,
  type RefusalGrouping,
  type RefusalQueries,
  refusalNames,
  refusalReportSql,
  refusalRowFrom,
} from './refusal-report.ts';

const columns: readonly SqlColumn[] = [
  { name: 'id', type: 'text' },
  { name: 'refused_at_ms', type: 'bigint' },
  { name: 'key_id', type: 'text' },
  { name: 'key_group', type: 'text' },
  { name: 'model_id', type: 'text' },
  { name: 'protocol', type: 'text' },
  { name: 'code', type: 'text' },
  { name: 'reason', type: 'text' },
  { name: 'detail', type: 'text' },
  { name: 'refusals', type: 'bigint' },
];

const insertion: SqlInsert = { table: 'refusals', columns, conflict: '(id) DO NOTHING' };

export function refusalStatements({ table, utcDay }: SqlDialect) {
  const filterClause = `
FROM ${table('refusals')}
WHERE refused_at_ms >= ${whole('$1')} AND refused_at_ms < ${whole('$2')}
  AND ${matches('key_id', '$3')}
  AND ${matches('key_group', '$4')}
  AND ${matches('model_id', '$5')}
  AND ${matches('protocol', '$6')}
  AND ${matches('code', '$7')}
  AND ${matches('reason', '$8')}`;
  return {
    report: (groupings: readonly RefusalGrouping[]) =>
      refusalReportSql(groupings, { ...refusalNames, day: utcDay('refused_at_ms') }, filterClause),
    remove: `
DELETE FROM ${table('refusals')} WHERE id IN (
  SELECT id FROM ${table('refusals')}
  WHERE refused_at_ms < ${whole('$1')}
  ORDER BY refused_at_ms, id LIMIT ${whole('$2')}
)`,
  };
}

/** Counts of refusals in a table. */
export interface SqlRefusals extends Promised<RefusalLog & RefusalQueries> {}

/** The counts, and the deletion of those from before a time, which returns how many. */
export function sqlRefusals(engine: SqlEngine): {
  readonly log: SqlRefusals;
  readonly deleteBefore: (ms: number, limit: number, options?: CallOptions) => Promise<number>;
} {
  const sql = refusalStatements(engine.dialect);
  return {
    log: {
      recordRefusals: async (counts, options) => {
        // Sorted, so that processes lock the rows in the same order.
        const rows = counts.map(rowOf).toSorted((one, other) => (one.id < other.id ? -1 : 1));
        await engine.insert(insertion, rows, options);
      },
      refusalReport: async (query, options) => {
        const groupings = checkRefusalReport(query);
        const values = [BigInt(query.fromMs), BigInt(query.toMs), ...filterNames(query)];
        const rows = await engine.read(sql.report(groupings), values, options);
        return rows.map((row) => refusalRowFrom(row, groupings.length));
      },
    },
    deleteBefore: (ms, limit, options) =>
      engine.change(sql.remove, [BigInt(ms), BigInt(limit)], options),
  };
}

function rowOf(count: RecordedRefusals) {
  return {
    id: count.id,
    refused_at_ms: BigInt(count.atMs),
    key_id: count.keyId,
    key_group: count.group,
    model_id: count.modelId,
    protocol: count.protocol,
    code: count.code,
    reason: count.reason,
    detail: count.detail,
    refusals: BigInt(count.refusals),
  };
}
