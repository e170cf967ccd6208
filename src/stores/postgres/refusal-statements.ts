/** The statements on the table of refusals: adding counts, sums by names, deletion of old ones. */
import { jsonWithBigints } from '../../json.ts';
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
import type { Statements } from './client.ts';

// One parameter for any number of rows.
const insertRefusals = `
INSERT INTO "tollgate".refusals
  (id, refused_at_ms, key_id, key_group, model_id, protocol, code, reason, detail, refusals)
SELECT id, refused_at_ms, key_id, key_group, model_id, protocol, code, reason, detail, refusals
FROM json_to_recordset($1::text::json) AS (
  id text, refused_at_ms bigint, key_id text, key_group text, model_id text, protocol text,
  code text, reason text, detail text, refusals bigint)
ORDER BY id
ON CONFLICT (id) DO NOTHING`;

const nameColumns: Readonly<Record<RefusalGrouping, string>> = {
  ...refusalNames,
  day: "to_char(to_timestamp(refused_at_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
};

const filterClause = `
FROM "tollgate".refusals
WHERE refused_at_ms >= $1::text::bigint AND refused_at_ms < $2::text::bigint
  AND ($3::text IS NULL OR key_id = $3)
  AND ($4::text IS NULL OR key_group = $4)
  AND ($5::text IS NULL OR model_id = $5)
  AND ($6::text IS NULL OR protocol = $6)
  AND ($7::text IS NULL OR code = $7)
  AND ($8::text IS NULL OR reason = $8)`;

const deleteRefusals = `
DELETE FROM "tollgate".refusals WHERE id IN (
  SELECT id FROM "tollgate".refusals
  WHERE refused_at_ms < $1::text::bigint
  ORDER BY refused_at_ms, id LIMIT $2::text::integer
) RETURNING id`;

/**
 * Adds counts, each once.
 *
 * @throws StoreUnavailable
 */
export async function writeRefusals(
  { rows }: Statements,
  counts: readonly RecordedRefusals[],
  options?: CallOptions,
): Promise<void> {
  await rows(insertRefusals, [jsonWithBigints(counts.map(refusalRow))], options);
}

/** See `RefusalQueries.refusalReport`. */
export async function readRefusalReport(
  { rows }: Statements,
  query: RefusalReportQuery,
  options?: CallOptions,
): Promise<readonly RefusalReportRow[]> {
  const groupings = checkRefusalReport(query);
  const values = [String(query.fromMs), String(query.toMs), ...filterNames(query)];
  const found = await rows(refusalReportSql(groupings, nameColumns, filterClause), values, options);
  return found.map((row) => refusalRowFrom(row, groupings.length));
}

/** Deletes counts from before a time, the oldest first; returns how many. */
export async function deleteRefusalsBefore(
  { rows }: Statements,
  beforeMs: number,
  limit: number,
  options?: CallOptions,
): Promise<number> {
  return (await rows(deleteRefusals, [String(beforeMs), String(limit)], options)).length;
}
