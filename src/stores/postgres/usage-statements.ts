/**
 * The statements on the usage table: writing batches, reading sums and pages of records, and
 * deleting old ones.
 */
import { jsonWithBigints } from '../../json.ts';
import { type CallOptions, isStoreUnavailable } from '../../ports/call-options.ts';
import type { UsageRecord } from '../../ports/usage-sink.ts';
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
import {
  countColumns,
  type UsageColumn,
  usageColumns,
  usageRecordFrom,
  usageValuesOf,
} from '../sql/usage-row.ts';
import { codeOf, type Statements } from './client.ts';

const columnNames = usageColumns.map(({ name }) => name).join(', ');

// One parameter for any number of rows. Members that are JSON are passed as text, unparsed.
const insertUsage = [
  'INSERT INTO "tollgate".usage AS u (',
  columnNames,
  ') SELECT ',
  usageColumns.map(({ name, type }) => (type === 'json' ? `${name}::json` : name)).join(', '),
  ' FROM ROWS FROM (json_to_recordset($1::text::json) AS (',
  usageColumns.map(({ name, type }) => `${name} ${type === 'json' ? 'text' : type}`).join(', '),
  ')) WITH ORDINALITY AS r (',
  columnNames,
  `, n)
ORDER BY n
ON CONFLICT (request_id, reservation_id) DO UPDATE
SET outcome = excluded.outcome, reason = excluded.reason, basis = excluded.basis,
  charge_nanos = excluded.charge_nanos, booked = excluded.booked, revision = excluded.revision
WHERE excluded.revision > u.revision`,
].join('');

/** Deadline of a write: one that hangs must not block all later ones. */
const timeoutMs = 10_000;

/**
 * Writes records, one row per call: the highest revision wins.
 *
 * @throws StoreUnavailable, in which case none is written unless the outcome is `unknown`
 */
export async function writeUsage(
  { rows }: Statements,
  records: readonly BufferedRecord[],
  signal: AbortSignal,
): Promise<void> {
  const rowsToWrite = [...latestOfEachCall(records).values()].map(({ row }) => row);
  await rows(insertUsage, [jsonWithBigints(rowsToWrite)], { timeoutMs, signal });
}

/** The highest revision of each call, since one statement can't change a row twice. */
function latestOfEachCall(records: readonly BufferedRecord[]): ReadonlyMap<string, BufferedRecord> {
  const byCall = new Map<string, BufferedRecord>();
  for (const entry of records) {
    const known = byCall.get(entry.call)?.record.revision ?? 0;
    if (entry.record.revision > known) byCall.set(entry.call, entry);
  }
  return byCall;
}

/** A record that waits to be written. */
export interface BufferedRecord {
  readonly record: UsageRecord;
  /** Identifies the call. */
  readonly call: string;
  readonly row: object;
}

/**
 * Prepares a record for writing.
 *
 * @throws RangeError where it is not a valid record
 */
export function prepare(record: UsageRecord): BufferedRecord {
  const values = usageValuesOf(record);
  const row = Object.fromEntries(usageColumns.map(({ name }, index) => [name, values[index]]));
  return { record, call: jsonWithBigints([record.requestId, record.reservationId]), row };
}

/** Whether the database refused the content of a record, so that a retry is useless. */
export function isRefused(error: unknown): boolean {
  return isStoreUnavailable(error) && /^2[23]/.test(codeOf(error.cause));
}

// Sums are read as text: those of a year may exceed 2^53.
const sums = [
  ' count(*)::text AS calls',
  ...countColumns.map((name) => ['coalesce(sum(', name, '), 0)::text AS ', name].join('')),
  'sum(charge_nanos)::text AS charge_nanos',
  'sum(CASE WHEN booked THEN 0 ELSE charge_nanos END)::text AS unbooked_nanos',
  'coalesce(sum(cost_nanos), 0)::text AS cost_nanos',
  'coalesce(sum(charge_nanos - cost_nanos), 0)::text AS margin_nanos',
].join(', ');

const filterClause = `
FROM "tollgate".usage
WHERE started_at_ms >= $1::text::bigint AND started_at_ms < $2::text::bigint
  AND ($3::text IS NULL OR key_id = $3)
  AND ($4::text IS NULL OR key_group = $4)
  AND ($5::text IS NULL OR model_id = $5)
  AND ($6::text IS NULL OR channel_id = $6)
  AND ($7::text IS NULL OR outcome = $7)`;
/** The number of parameters of {@link filterClause}. */
const filterValueCount = 7;

const nameColumns: Readonly<Record<ColumnGrouping, string>> = {
  key: 'key_id',
  group: 'key_group',
  model: 'model_id',
  channel: "coalesce(channel_id, '')",
  day: "to_char(to_timestamp(started_at_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
  outcome: 'outcome',
};

/** The statement of a report. There are few, since metadata names are parameters. */
function reportOf(groupings: readonly CheckedGrouping[]): {
  readonly sql: string;
  readonly metadataNames: readonly string[];
} {
  const { clause, metadataNames } = selectedNames(
    groupings,
    nameColumns,
    (index) => `coalesce(metadata->>$${filterValueCount + index}::text, '')`,
  );
  const positions = groupings.map((_, index) => index + 1).join(', ');
  const parts = ['SELECT ', clause, ',', sums, filterClause];
  const order = [' GROUP BY ', positions, ' ORDER BY ', positions];
  return { sql: [...parts, ...order].join(''), metadataNames };
}

// A line that holds nothing only counts calls and is never charged.
const selectCharges = `
SELECT u.quota_partition, l.subject, l.period,
  sum(CASE WHEN u.booked THEN u.charge_nanos ELSE 0 END)::text AS booked_nanos,
  sum(CASE WHEN u.booked THEN 0 ELSE u.charge_nanos END)::text AS unbooked_nanos
FROM "tollgate".usage AS u,
  json_to_recordset(u.lines) AS l (subject text, period text, "heldNanos" text)
WHERE l."heldNanos" <> '0'
  AND ($1::text IS NULL OR u.quota_partition = $1)
  AND ($2::text IS NULL OR l.subject = $2)
  AND ($3::text IS NULL OR l.period = $3)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

/** Drivers convert these types differently, but all of them return text unchanged. */
const readAsText: ReadonlySet<UsageColumn['type']> = new Set([
  'bigint',
  'double precision',
  'json',
]);

const recordColumns = [
  'SELECT seq::text AS seq, ',
  usageColumns
    .map(({ name, type }) => (readAsText.has(type) ? `${name}::text AS ${name}` : name))
    .join(', '),
  filterClause,
  `
  AND ($8::text IS NULL OR request_id = $8)`,
].join('');

const selectOldest = `${recordColumns}
  AND (usage.started_at_ms, usage.seq) > ($9::text::bigint, $10::text::bigint)
ORDER BY usage.started_at_ms, usage.seq LIMIT $11::text::integer`;
const selectNewest = `${recordColumns}
  AND (usage.started_at_ms, usage.seq) < ($9::text::bigint, $10::text::bigint)
ORDER BY usage.started_at_ms DESC, usage.seq DESC LIMIT $11::text::integer`;

const selectFirstBytes = [
  'SELECT (',
  firstByteBucket,
  ')::text AS bucket, count(*)::text AS calls',
  filterClause,
  ' AND first_byte_ms IS NOT NULL GROUP BY 1',
].join('');

// One index lookup for each key.
const selectLastCalls = `
SELECT (SELECT max(started_at_ms) FROM "tollgate".usage WHERE key_id = asked.id)::text
  AS started_at_ms
FROM json_array_elements_text($1::text::json) WITH ORDINALITY AS asked (id, position)
ORDER BY asked.position`;

// Without the record of a call in doubt, nobody could end its hold.
const deleteRecords = `
DELETE FROM "tollgate".usage WHERE seq IN (
  SELECT seq FROM "tollgate".usage
  WHERE started_at_ms < $1::text::bigint AND NOT (outcome = 'unknown' AND NOT booked)
  ORDER BY started_at_ms, seq LIMIT $2::text::integer
) RETURNING seq::text AS seq`;

/** See `UsageQueries.usageReport`. */
export async function readUsageReport(
  { rows }: Statements,
  query: UsageReportQuery,
  options?: CallOptions,
): Promise<readonly UsageReportRow[]> {
  const groupings = checkReport(query);
  const { sql, metadataNames } = reportOf(groupings);
  const values = [...filterValues(query, query.fromMs), ...metadataNames];
  const found = await rows(sql, values, options);
  return found.map((row) => reportRowFrom(row, groupings.length));
}

/** See `UsageQueries.usageCharges`. */
export async function readUsageCharges(
  { rows }: Statements,
  filter: UsageChargesFilter = {},
  options?: CallOptions,
): Promise<readonly UsageCharges[]> {
  checkChargesFilter(filter);
  const values = [filter.partition ?? null, filter.subject ?? null, filter.period ?? null];
  return (await rows(selectCharges, values, options)).map(chargesRow);
}

/** See `UsageQueries.usageRecords`. */
export async function readUsagePage(
  { rows }: Statements,
  filter: UsageRecordFilter,
  page: UsagePage | undefined,
  options?: CallOptions,
): Promise<UsageRecordPage> {
  checkFilter(filter);
  const checked = checkPage(page);
  const { limit, newestFirst } = checked;
  const { cursor, fromMs, toMs } = pageStart(filter, checked);
  const named = [...filterValues({ ...filter, toMs }, fromMs), filter.requestId ?? null];
  const position = [String(cursor.startedAtMs), String(cursor.seq)];
  const values = [...named, ...position, String(limit + 1)];
  const sql = newestFirst ? selectNewest : selectOldest;
  const found = (await rows(sql, values, options)).map((row) => ({
    seq: bigintAt(row, 'seq'),
    record: usageRecordFrom(row),
  }));
  return pageOf(found, limit);
}

/** See `UsageQueries.usageFirstBytes`. */
export async function readFirstBytes(
  { rows }: Statements,
  filter: UsageFilter,
  options?: CallOptions,
): Promise<readonly number[]> {
  checkFilter(filter);
  const values = filterValues(filter, filter.fromMs ?? 0);
  return firstBytesFrom(await rows(selectFirstBytes, values, options));
}

/** See `UsageQueries.usageLastCalls`. */
export async function readLastCalls(
  { rows }: Statements,
  keyIds: readonly string[],
  options?: CallOptions,
): Promise<readonly (number | undefined)[]> {
  checkKeyIds(keyIds);
  const found = await rows(selectLastCalls, [jsonWithBigints(keyIds)], options);
  return found.map((row) => integerOrNoneAt(row, 'started_at_ms'));
}

/** Deletes records from before a time, the oldest first; returns how many. */
export async function deleteUsageBefore(
  { rows }: Statements,
  beforeMs: number,
  limit: number,
  options?: CallOptions,
): Promise<number> {
  return (await rows(deleteRecords, [String(beforeMs), String(limit)], options)).length;
}

/** The values of {@link filterClause}. */
function filterValues(
  { toMs = Number.MAX_SAFE_INTEGER, keyId, group, modelId, channelId, outcome }: UsageFilter,
  fromMs: number,
): unknown[] {
  const names = [keyId, group, modelId, channelId, outcome].map((name) => name ?? null);
  return [String(fromMs), String(toMs), ...names];
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
