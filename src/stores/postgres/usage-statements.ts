/** The statements of the usage table: a batch of records, sums by name, and pages of records. */
import { type CallOptions, StoreUnavailable } from '../../ports/call-options.ts';
import type { UsageRecord } from '../../ports/usage-sink.ts';
import { bigintAt, integerAt, jsonText, textAt } from '../sql/columns.ts';
import {
  checkChargesFilter,
  checkFilter,
  checkPage,
  checkReport,
  pageOf,
  type UsageCharges,
  type UsageChargesFilter,
  type UsageFilter,
  type UsageGrouping,
  type UsagePage,
  type UsageRecordPage,
  type UsageReportQuery,
  type UsageReportRow,
} from '../sql/usage-report.ts';
import { usageColumns, usageRecordFrom, usageValuesOf } from '../sql/usage-row.ts';
import { codeOf, type Statements } from './client.ts';

// One parameter for any number of rows. What is JSON comes as text, and is not looked into.
const insertUsage = `
INSERT INTO "tollgate".usage AS u (request_id, reservation_id, quota_partition, key_id, key_group,
  protocol, streamed, model_id, channel_id, upstream_model, started_at_ms, duration_ms,
  first_byte_ms, status, outcome, reason, basis, input_tokens, cached_input_tokens, output_tokens,
  images, held_nanos, charge_nanos, price, metadata, lines, attempts, booked, revision)
SELECT request_id, reservation_id, quota_partition, key_id, key_group, protocol, streamed,
  model_id, channel_id, upstream_model, started_at_ms, duration_ms, first_byte_ms, status, outcome,
  reason, basis, input_tokens, cached_input_tokens, output_tokens, images, held_nanos,
  charge_nanos, price::json, metadata::json, lines::json, attempts::json, booked, revision
FROM ROWS FROM (json_to_recordset($1::text::json) AS (
  request_id text, reservation_id text, quota_partition text, key_id text, key_group text,
  protocol text, streamed boolean, model_id text, channel_id text, upstream_model text,
  started_at_ms bigint, duration_ms double precision, first_byte_ms double precision,
  status integer, outcome text, reason text, basis text, input_tokens bigint,
  cached_input_tokens bigint, output_tokens bigint, images bigint, held_nanos bigint,
  charge_nanos bigint, price text, metadata text, lines text, attempts text, booked boolean,
  revision integer
)) WITH ORDINALITY AS r (request_id, reservation_id, quota_partition, key_id, key_group, protocol,
  streamed, model_id, channel_id, upstream_model, started_at_ms, duration_ms, first_byte_ms,
  status, outcome, reason, basis, input_tokens, cached_input_tokens, output_tokens, images,
  held_nanos, charge_nanos, price, metadata, lines, attempts, booked, revision, n)
ORDER BY n
ON CONFLICT (request_id, reservation_id) DO UPDATE
SET outcome = excluded.outcome, reason = excluded.reason, basis = excluded.basis,
  charge_nanos = excluded.charge_nanos, booked = excluded.booked, revision = excluded.revision
WHERE excluded.revision > u.revision`;

/** A write that hangs must not keep all later ones waiting. */
const timeoutMs = 10_000;

/**
 * Writes records, each call once: the highest revision stays.
 *
 * @throws StoreUnavailable; none of them is written then, unless the outcome is unknown
 */
export async function writeUsage(
  { rows }: Statements,
  taken: readonly Taken[],
  signal: AbortSignal,
): Promise<void> {
  const written = [...oneOfEach(taken).values()].map(({ row }) => row);
  await rows(insertUsage, [jsonText(written)], { timeoutMs, signal });
}

/** One statement can't change a row twice, so that the rule of the table is kept here too. */
function oneOfEach(taken: readonly Taken[]): ReadonlyMap<string, Taken> {
  const byCall = new Map<string, Taken>();
  for (const entry of taken) {
    const known = byCall.get(entry.call)?.record.revision ?? 0;
    if (entry.record.revision > known) byCall.set(entry.call, entry);
  }
  return byCall;
}

/** A record that waits to be written. */
export interface Taken {
  readonly record: UsageRecord;
  /** Which call it is of. */
  readonly call: string;
  readonly row: object;
}

/**
 * A record as it will be written.
 *
 * @throws RangeError where it is none
 */
export function take(record: UsageRecord): Taken {
  const values = usageValuesOf(record);
  const row = Object.fromEntries(usageColumns.map((column, index) => [column, values[index]]));
  return { record, call: jsonText([record.requestId, record.reservationId]), row };
}

/** Whether the database refused what is in a record, which no other try can mend. */
export function isRefused(error: unknown): boolean {
  return error instanceof StoreUnavailable && /^2[23]/.test(codeOf(error.cause));
}

// Sums are read as text: a year's may pass what a number holds.
const sums = `
  count(*)::text AS calls, coalesce(sum(input_tokens), 0)::text AS input_tokens,
  coalesce(sum(cached_input_tokens), 0)::text AS cached_input_tokens,
  coalesce(sum(output_tokens), 0)::text AS output_tokens,
  coalesce(sum(images), 0)::text AS images, sum(charge_nanos)::text AS charge_nanos,
  sum(CASE WHEN booked THEN 0 ELSE charge_nanos END)::text AS unbooked_nanos`;

const fitting = `
FROM "tollgate".usage
WHERE started_at_ms >= $1::text::bigint AND started_at_ms < $2::text::bigint
  AND ($3::text IS NULL OR key_id = $3)
  AND ($4::text IS NULL OR key_group = $4)
  AND ($5::text IS NULL OR model_id = $5)`;

const named = ' GROUP BY 1 ORDER BY 1';

const utcDay = `
  to_char(to_timestamp(started_at_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS name,`;

const reports: Readonly<Record<UsageGrouping, string>> = {
  key: ['SELECT key_id AS name,', sums, fitting, named].join(''),
  group: ['SELECT key_group AS name,', sums, fitting, named].join(''),
  model: ['SELECT model_id AS name,', sums, fitting, named].join(''),
  day: ['SELECT', utcDay, sums, fitting, named].join(''),
};

// A line that only counts calls holds no money and is charged none.
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

const selectRecords = [
  `
SELECT seq::text AS seq, request_id, reservation_id, quota_partition, key_id, key_group, protocol,
  streamed, model_id, channel_id, upstream_model, started_at_ms::text AS started_at_ms,
  duration_ms::text AS duration_ms, first_byte_ms::text AS first_byte_ms, status, outcome, reason,
  basis, input_tokens::text AS input_tokens, cached_input_tokens::text AS cached_input_tokens,
  output_tokens::text AS output_tokens, images::text AS images, held_nanos::text AS held_nanos,
  charge_nanos::text AS charge_nanos, price::text AS price, metadata::text AS metadata,
  lines::text AS lines, attempts::text AS attempts, booked, revision`,
  fitting,
  `
  AND (usage.started_at_ms, usage.seq) > ($6::text::bigint, $7::text::bigint)
ORDER BY usage.started_at_ms, usage.seq LIMIT $8::text::integer`,
].join('');

/** See `UsageQueries.usageReport`. */
export async function readUsageReport(
  { rows }: Statements,
  query: UsageReportQuery,
  options?: CallOptions,
): Promise<readonly UsageReportRow[]> {
  checkReport(query);
  return (await rows(reports[query.by], fits(query, query.fromMs), options)).map(reportRow);
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
  filter: UsageFilter,
  page: UsagePage | undefined,
  options?: CallOptions,
): Promise<UsageRecordPage> {
  checkFilter(filter);
  const { limit, after } = checkPage(page);
  const fromMs = filter.fromMs ?? 0;
  const start = Math.max(fromMs, after?.startedAtMs ?? fromMs);
  const behind = [String(after?.startedAtMs ?? fromMs), String(after?.seq ?? -1n)];
  const values = [...fits(filter, start), ...behind, String(limit + 1)];
  const found = (await rows(selectRecords, values, options)).map((row) => ({
    seq: bigintAt(row, 'seq'),
    record: usageRecordFrom(row),
  }));
  return pageOf(found, limit);
}

/** The values of `fitting`. */
function fits(
  { toMs = Number.MAX_SAFE_INTEGER, keyId, group, modelId }: UsageFilter,
  fromMs: number,
): unknown[] {
  return [String(fromMs), String(toMs), keyId ?? null, group ?? null, modelId ?? null];
}

function reportRow(row: unknown): UsageReportRow {
  return {
    name: textAt(row, 'name'),
    calls: integerAt(row, 'calls'),
    inputTokens: integerAt(row, 'input_tokens'),
    cachedInputTokens: integerAt(row, 'cached_input_tokens'),
    outputTokens: integerAt(row, 'output_tokens'),
    images: integerAt(row, 'images'),
    chargeNanos: bigintAt(row, 'charge_nanos'),
    unbookedNanos: bigintAt(row, 'unbooked_nanos'),
  };
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
