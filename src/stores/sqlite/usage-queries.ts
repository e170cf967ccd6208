/** The statements on the usage table: sums by names, pages of records, deletion of old ones. */
import type { CallOptions } from '../../ports/call-options.ts';
import { bigintAt, integerOrNoneAt, textAt } from '../sql/columns.ts';
import { firstByteBucket, firstBytesFrom } from '../sql/first-bytes.ts';
import {
  type CheckedGrouping,
  type ColumnGrouping,
  checkChargesFilter,
  checkFilter,
  checkKeyIds,
  checkPage,
  checkReport,
  pageOf,
  pageStart,
  reportRowFrom,
  selectedNames,
  type UsageCharges,
  type UsageChargesFilter,
  type UsageFilter,
  type UsagePage,
  type UsageRecordFilter,
  type UsageRecordPage,
  type UsageReportQuery,
  type UsageReportRow,
} from '../sql/usage-report.ts';
import { countColumns, usageRecordFrom } from '../sql/usage-row.ts';
import type { Connection, SqliteValue } from './handle.ts';

// Sums are read as text: those of a year may exceed 2^53.
const sums = [
  'count(*) AS calls',
  ...countColumns.map((name) => ['CAST(coalesce(sum(', name, '), 0) AS TEXT) AS ', name].join('')),
  'CAST(sum(charge_nanos) AS TEXT) AS charge_nanos',
  'CAST(sum(CASE WHEN booked THEN 0 ELSE charge_nanos END) AS TEXT) AS unbooked_nanos',
  'CAST(coalesce(sum(cost_nanos), 0) AS TEXT) AS cost_nanos',
  'CAST(coalesce(sum(charge_nanos - cost_nanos), 0) AS TEXT) AS margin_nanos',
].join(', ');

const filterClause = `
FROM tollgate_usage
WHERE started_at_ms >= ? AND started_at_ms < ?
  AND (? IS NULL OR key_id = ?)
  AND (? IS NULL OR key_group = ?)
  AND (? IS NULL OR model_id = ?)
  AND (? IS NULL OR channel_id = ?)
  AND (? IS NULL OR outcome = ?)`;

const nameColumns: Readonly<Record<ColumnGrouping, string>> = {
  key: 'key_id',
  group: 'key_group',
  model: 'model_id',
  channel: "coalesce(channel_id, '')",
  day: "date(started_at_ms / 1000, 'unixepoch')",
  outcome: 'outcome',
};
const metadataValue = "coalesce((SELECT value FROM json_each(metadata) WHERE key = ?), '')";

/** The statement of a report. There are few, since metadata names are parameters. */
function reportOf(groupings: readonly CheckedGrouping[]): {
  readonly sql: string;
  readonly metadataNames: readonly string[];
} {
  const { clause, metadataNames } = selectedNames(groupings, nameColumns, () => metadataValue);
  const positions = groupings.map((_, index) => index + 1).join(', ');
  const parts = ['SELECT ', clause, ', ', sums, filterClause];
  const order = [' GROUP BY ', positions, ' ORDER BY ', positions];
  return { sql: [...parts, ...order].join(''), metadataNames };
}

const oldestPage = `
  AND (started_at_ms, seq) > (?, ?)
ORDER BY started_at_ms, seq LIMIT ?`;
const newestPage = `
  AND (started_at_ms, seq) < (?, ?)
ORDER BY started_at_ms DESC, seq DESC LIMIT ?`;

const selectOldest = ['SELECT *', filterClause, oldestPage].join('');
const selectNewest = ['SELECT *', filterClause, newestPage].join('');

const selectFirstBytes = [
  'SELECT ',
  firstByteBucket,
  ' AS bucket, count(*) AS calls',
  filterClause,
  ' AND first_byte_ms IS NOT NULL GROUP BY 1',
].join('');

const selectLastCall = `
SELECT max(started_at_ms) AS started_at_ms FROM tollgate_usage WHERE key_id = ?`;

/** The unary plus makes SQLite search by the request id, and not by the time. */
const requestClause = `
SELECT * FROM tollgate_usage
WHERE +started_at_ms >= ? AND +started_at_ms < ?
  AND (? IS NULL OR key_id = ?)
  AND (? IS NULL OR key_group = ?)
  AND (? IS NULL OR model_id = ?)
  AND (? IS NULL OR channel_id = ?)
  AND (? IS NULL OR outcome = ?)
  AND request_id = ?`;
/** The statement that reads the calls of one request id. */
export const selectRequest: string = `${requestClause}
  AND (+started_at_ms, +seq) > (?, ?)
ORDER BY +started_at_ms, +seq LIMIT ?`;
const selectRequestNewest = `${requestClause}
  AND (+started_at_ms, +seq) < (?, ?)
ORDER BY +started_at_ms DESC, +seq DESC LIMIT ?`;

// A line that holds nothing only counts calls and is never charged.
const selectCharges = `
SELECT quota_partition, json_extract(l.value, '$.subject') AS subject,
  json_extract(l.value, '$.period') AS period,
  CAST(sum(CASE WHEN booked THEN charge_nanos ELSE 0 END) AS TEXT) AS booked_nanos,
  CAST(sum(CASE WHEN booked THEN 0 ELSE charge_nanos END) AS TEXT) AS unbooked_nanos
FROM tollgate_usage, json_each(tollgate_usage.lines) AS l
WHERE json_extract(l.value, '$.heldNanos') <> '0'
  AND (? IS NULL OR quota_partition = ?)
  AND (? IS NULL OR json_extract(l.value, '$.subject') = ?)
  AND (? IS NULL OR json_extract(l.value, '$.period') = ?)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

// Without the record of a call in doubt, nobody could end its hold.
const deleteRecords = `
DELETE FROM tollgate_usage WHERE seq IN (
  SELECT seq FROM tollgate_usage
  WHERE started_at_ms < ? AND NOT (outcome = 'unknown' AND NOT booked)
  ORDER BY started_at_ms, seq LIMIT ?
) RETURNING seq`;

/** The statements, exported so that a test can check their query plans. */
export const usageStatements: readonly string[] = [
  reportOf([{ column: 'key' }]).sql,
  selectOldest,
  selectNewest,
  selectFirstBytes,
  selectLastCall,
  deleteRecords,
];

/** See `UsageQueries.usageReport`. */
export function readUsageReport(
  connection: Connection,
  query: UsageReportQuery,
  options?: CallOptions,
): readonly UsageReportRow[] {
  const groupings = checkReport(query);
  const { sql, metadataNames } = reportOf(groupings);
  const values = [...metadataNames, ...filterValues(query, query.fromMs)];
  return connection.reading(
    () => connection.rows(sql, ...values).map((row) => reportRowFrom(row, groupings.length)),
    options,
  );
}

/** See `UsageQueries.usageCharges`. */
export function readUsageCharges(
  connection: Connection,
  filter: UsageChargesFilter = {},
  options?: CallOptions,
): readonly UsageCharges[] {
  checkChargesFilter(filter);
  const { partition = null, subject = null, period = null } = filter;
  const values = [partition, partition, subject, subject, period, period];
  return connection.reading(
    () => connection.rows(selectCharges, ...values).map(chargesRow),
    options,
  );
}

/** See `UsageQueries.usageRecords`. */
export function readUsagePage(
  connection: Connection,
  filter: UsageRecordFilter,
  page: UsagePage | undefined,
  options?: CallOptions,
): UsageRecordPage {
  checkFilter(filter);
  const checked = checkPage(page);
  const { limit, newestFirst } = checked;
  const { cursor, fromMs, toMs } = pageStart(filter, checked);
  const { requestId } = filter;
  const [oldest, newest] =
    requestId === undefined ? [selectOldest, selectNewest] : [selectRequest, selectRequestNewest];
  const values = filterValues({ ...filter, toMs }, fromMs);
  const names = requestId === undefined ? values : [...values, requestId];
  const position = [BigInt(cursor.startedAtMs), cursor.seq];
  const rows = connection.reading(
    () =>
      connection
        .rows(newestFirst ? newest : oldest, ...names, ...position, BigInt(limit + 1))
        .map((row) => ({ seq: bigintAt(row, 'seq'), record: usageRecordFrom(row) })),
    options,
  );
  return pageOf(rows, limit);
}

/** See `UsageQueries.usageFirstBytes`. */
export function readFirstBytes(
  connection: Connection,
  filter: UsageFilter,
  options?: CallOptions,
): readonly number[] {
  checkFilter(filter);
  const values = filterValues(filter, filter.fromMs ?? 0);
  return connection.reading(
    () => firstBytesFrom(connection.rows(selectFirstBytes, ...values)),
    options,
  );
}

/** See `UsageQueries.usageLastCalls`. */
export function readLastCalls(
  connection: Connection,
  keyIds: readonly string[],
  options?: CallOptions,
): readonly (number | undefined)[] {
  checkKeyIds(keyIds);
  return connection.reading(
    () => keyIds.map((id) => integerOrNoneAt(connection.row(selectLastCall, id), 'started_at_ms')),
    options,
  );
}

/** Deletes records from before a time, the oldest first; returns how many. */
export function deleteUsageBefore(
  connection: Connection,
  beforeMs: number,
  limit: number,
  options?: CallOptions,
): number {
  return connection.transaction(
    () => connection.rows(deleteRecords, BigInt(beforeMs), BigInt(limit)).length,
    options,
  );
}

/** The values of `filterClause`. */
function filterValues(
  { toMs = Number.MAX_SAFE_INTEGER, keyId, group, modelId, channelId, outcome }: UsageFilter,
  fromMs: number,
): readonly SqliteValue[] {
  const names = [keyId, group, modelId, channelId, outcome].map((name) => name ?? null);
  return [BigInt(fromMs), BigInt(toMs), ...names.flatMap((name) => [name, name])];
}

function chargesRow(row: unknown): UsageCharges {
  return {
    partition: textAt(row, 'quota_partition'),
    subject: textAt(row, 'subject'),
    period: textAt(row, 'period'),
    bookedNanos: bigintAt(row, 'booked_nanos'),
    unbookedNanos: bigintAt(row, 'unbooked_nanos'),
  };
}
