/** The statements on the table of refusals: adding counts, sums by names, deletion of old ones. */
import type { CallOptions } from '../../ports/call-options.ts';
import type { RecordedRefusals } from '../../ports/refusal-log.ts';
import {
  checkRefusalReport,
  filterNames,
  type RefusalGrouping,
  type RefusalReportQuery,
  type RefusalReportRow,
  refusalNames,
  refusalReportSql,
  refusalRowFrom,
} from '../sql/refusal-report.ts';
import { refusalRow } from '../sql/refusal-row.ts';
import type { Connection, SqliteValue } from './handle.ts';

const insertRefusal = `
INSERT INTO tollgate_refusal
  (id, refused_at_ms, key_id, key_group, model_id, protocol, code, reason, detail, refusals)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING`;

const nameColumns: Readonly<Record<RefusalGrouping, string>> = {
  ...refusalNames,
  day: "date(refused_at_ms / 1000, 'unixepoch')",
};

const filterClause = `
FROM tollgate_refusal
WHERE refused_at_ms >= ? AND refused_at_ms < ?
  AND (? IS NULL OR key_id = ?)
  AND (? IS NULL OR key_group = ?)
  AND (? IS NULL OR model_id = ?)
  AND (? IS NULL OR protocol = ?)
  AND (? IS NULL OR code = ?)
  AND (? IS NULL OR reason = ?)`;

const deleteRefusals = `
DELETE FROM tollgate_refusal WHERE id IN (
  SELECT id FROM tollgate_refusal
  WHERE refused_at_ms < ?
  ORDER BY refused_at_ms, id LIMIT ?
) RETURNING id`;

/** The statements, exported so that a test can check their query plans. */
export const refusalStatements: readonly string[] = [
  refusalReportSql(['key'], nameColumns, filterClause),
  deleteRefusals,
];

/** Adds counts, each once, in one transaction. */
export function writeRefusals(
  connection: Connection,
  counts: readonly RecordedRefusals[],
  options?: CallOptions,
): void {
  if (counts.length === 0) return;
  connection.transaction(() => {
    for (const count of counts) connection.run(insertRefusal, ...valuesOf(count));
  }, options);
}

/** See `RefusalQueries.refusalReport`. */
export function readRefusalReport(
  connection: Connection,
  query: RefusalReportQuery,
  options?: CallOptions,
): readonly RefusalReportRow[] {
  const groupings = checkRefusalReport(query);
  const names = filterNames(query).flatMap((name) => [name, name]);
  const values = [BigInt(query.fromMs), BigInt(query.toMs), ...names];
  return connection.reading(
    () =>
      connection
        .rows(refusalReportSql(groupings, nameColumns, filterClause), ...values)
        .map((row) => refusalRowFrom(row, groupings.length)),
    options,
  );
}

/** Deletes counts from before a time, the oldest first; returns how many. */
export function deleteRefusalsBefore(
  connection: Connection,
  beforeMs: number,
  limit: number,
  options?: CallOptions,
): number {
  return connection.transaction(
    () => connection.rows(deleteRefusals, BigInt(beforeMs), BigInt(limit)).length,
    options,
  );
}

function valuesOf(count: RecordedRefusals): readonly SqliteValue[] {
  return Object.values(refusalRow(count));
}
