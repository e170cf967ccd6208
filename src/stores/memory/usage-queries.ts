/** The queries of a usage log over the records that a process keeps in memory. */
import type { UsageRecord } from '../../ports/usage-sink.ts';
import { noCounts, usageCounts } from '../sql/usage/counts.ts';
import {
  bucketOf,
  latencyOf,
  noTimes,
  sumOfLatencies,
  type UsageLatencyRow,
} from '../sql/usage/first-bytes.ts';
import {
  type CheckedGrouping,
  checkChargesFilter,
  checkFilter,
  checkKeyIds,
  checkPage,
  checkReport,
  type NumberedRecord,
  pageOf,
  pageStart,
  type UsageCharges,
  type UsageChargesFilter,
  type UsageCursor,
  type UsageFilter,
  type UsagePage,
  type UsageQueries,
  type UsageRecordFilter,
  type UsageRecordPage,
  type UsageReportQuery,
  type UsageReportRow,
} from '../sql/usage/report.ts';

/** The queries of a usage log; they return directly, never a promise. */
export interface MemoryUsageQueries extends UsageQueries {
  readonly isInProcess: true;
  usageReport(query: UsageReportQuery): readonly UsageReportRow[];
  usageLatencies(query: UsageReportQuery): readonly UsageLatencyRow[];
  usageCharges(filter?: UsageChargesFilter): readonly UsageCharges[];
  usageRecords(filter: UsageRecordFilter, page?: UsagePage): UsageRecordPage;
  usageFirstBytes(filter: UsageFilter): readonly number[];
  usageLastCalls(keyIds: readonly string[]): readonly (number | undefined)[];
}

/** The kept records, oldest first, and the number of the first of them. */
export interface KeptRecords {
  readonly records: readonly UsageRecord[];
  readonly firstSeq: number;
}

export function memoryUsageQueries(kept: () => KeptRecords): MemoryUsageQueries {
  const matching = (filter: UsageRecordFilter): readonly NumberedRecord[] =>
    latestRevisions(kept()).filter(({ record }) => matches(record, filter));
  return {
    isInProcess: true,
    usageReport: (query) => {
      const groupings = checkReport(query);
      return reportOf(matching(query), groupings);
    },
    usageLatencies: (query) => {
      const groupings = checkReport(query);
      const named = matching(query).map(({ record }) =>
        latencyOf(namesOf(record, groupings), record),
      );
      return sumOfLatencies(named).toSorted(byNames);
    },
    usageCharges: (filter = {}) => {
      checkChargesFilter(filter);
      return chargesOf(matching({}), filter);
    },
    usageRecords: (filter, page) => {
      checkFilter(filter);
      return recordsPage(matching, filter, page);
    },
    usageFirstBytes: (filter) => {
      checkFilter(filter);
      const counts = noTimes();
      for (const { record } of matching(filter)) {
        const { firstByteMs } = record;
        if (firstByteMs === undefined) continue;
        const bucket = bucketOf(firstByteMs);
        counts[bucket] = (counts[bucket] ?? 0) + 1;
      }
      return counts;
    },
    usageLastCalls: (keyIds) => {
      checkKeyIds(keyIds);
      const latest = new Map<string, number>();
      for (const { record } of matching({})) {
        const { keyId, startedAtMs } = record;
        latest.set(keyId, Math.max(latest.get(keyId) ?? 0, startedAtMs));
      }
      return keyIds.map((id) => latest.get(id));
    },
  };
}

/** Each call once: a later revision takes the place of the first. */
function latestRevisions({ records, firstSeq }: KeptRecords): readonly NumberedRecord[] {
  const calls = new Map<string, NumberedRecord>();
  for (const [index, record] of records.entries()) {
    const name = JSON.stringify([record.requestId, record.reservationId]);
    const known = calls.get(name);
    const seq = known?.seq ?? BigInt(firstSeq + index);
    if (record.revision > (known?.record.revision ?? 0)) calls.set(name, { seq, record });
  }
  return [...calls.values()];
}

function matches(record: UsageRecord, filter: UsageRecordFilter): boolean {
  const { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = filter;
  const is = (wanted: string | undefined, value: string | undefined): boolean =>
    wanted === undefined || wanted === value;
  return (
    record.startedAtMs >= fromMs &&
    record.startedAtMs < toMs &&
    is(filter.keyId, record.keyId) &&
    is(filter.group, record.group) &&
    is(filter.modelId, record.modelId) &&
    is(filter.channelId, record.channelId) &&
    is(filter.outcome, record.outcome) &&
    is(filter.requestId, record.requestId) &&
    (filter.metadata === undefined ||
      metadataOf(record, filter.metadata.name) === filter.metadata.value)
  );
}

function recordsPage(
  matching: (filter: UsageRecordFilter) => readonly NumberedRecord[],
  filter: UsageRecordFilter,
  page: UsagePage | undefined,
): UsageRecordPage {
  const checked = checkPage(page);
  const { limit, newestFirst } = checked;
  const { cursor, fromMs, toMs } = pageStart(filter, checked);
  const direction = newestFirst ? -1 : 1;
  const rows = matching({ ...filter, fromMs, toMs })
    .filter((row) => direction * inOrder(positionOf(row), cursor) > 0)
    .sort((one, other) => direction * inOrder(positionOf(one), positionOf(other)));
  return pageOf(rows, limit);
}

function positionOf({ seq, record: { startedAtMs } }: NumberedRecord): UsageCursor {
  return { startedAtMs, seq };
}

function inOrder(one: UsageCursor, other: UsageCursor): number {
  return one.startedAtMs - other.startedAtMs || Number(one.seq - other.seq);
}

type Sums = { -readonly [Name in keyof UsageReportRow]: UsageReportRow[Name] };

function reportOf(
  records: readonly NumberedRecord[],
  groupings: readonly CheckedGrouping[],
): readonly UsageReportRow[] {
  const rows = new Map<string, Sums>();
  for (const { record } of records) {
    const names = namesOf(record, groupings);
    const key = JSON.stringify(names);
    const row = rows.get(key) ?? { names, calls: 0, outputMs: 0, ...noCounts, ...noMoney };
    addRecord(row, record);
    rows.set(key, row);
  }
  return [...rows.values()]
    .map((row) => ({ ...row, outputMs: Math.round(row.outputMs) }))
    .sort(byNames);
}

function byNames(
  { names: one }: { readonly names: readonly string[] },
  { names: other }: { readonly names: readonly string[] },
): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}

const noMoney = { chargeNanos: 0n, unbookedNanos: 0n, costNanos: 0n, marginNanos: 0n };
function addRecord(row: Sums, record: UsageRecord): void {
  const { usage, durationMs, chargeNanos, costNanos, booked } = record;
  row.calls += 1;
  if ((usage?.outputTokens ?? 0) > 0) row.outputMs += durationMs;
  for (const name of usageCounts) row[name] += usage?.[name] ?? 0;
  row.chargeNanos += chargeNanos;
  if (!booked) row.unbookedNanos += chargeNanos;
  if (costNanos === undefined) return;
  row.costNanos += costNanos;
  row.marginNanos += chargeNanos - costNanos;
}

function namesOf(record: UsageRecord, groupings: readonly CheckedGrouping[]): readonly string[] {
  return groupings.map((grouping) => nameOf(record, grouping));
}

function timeOf({ startedAtMs }: UsageRecord): string {
  return new Date(startedAtMs).toISOString();
}

function nameOf(record: UsageRecord, grouping: CheckedGrouping): string {
  if ('metadataName' in grouping) return metadataOf(record, grouping.metadataName) ?? '';
  switch (grouping.column) {
    case 'key':
      return record.keyId;
    case 'group':
      return record.group;
    case 'model':
      return record.modelId;
    case 'channel':
      return record.channelId ?? '';
    case 'hour':
      return `${timeOf(record).slice(0, 13)}:00Z`;
    case 'day':
      return timeOf(record).slice(0, 10);
    case 'month':
      return timeOf(record).slice(0, 7);
    default:
      return record.outcome;
  }
}

function metadataOf({ metadata = {} }: UsageRecord, name: string): string | undefined {
  return Object.hasOwn(metadata, name) ? metadata[name] : undefined;
}

function chargesOf(
  records: readonly NumberedRecord[],
  { partition, subject, period }: UsageChargesFilter,
): readonly UsageCharges[] {
  const sums = new Map<string, { -readonly [Name in keyof UsageCharges]: UsageCharges[Name] }>();
  for (const { record } of records) {
    if (partition !== undefined && partition !== record.partition) continue;
    for (const line of record.lines) {
      // A line that holds nothing only counts calls and is never charged.
      if (line.heldNanos === 0n) continue;
      if (subject !== undefined && subject !== line.subject) continue;
      if (period !== undefined && period !== line.period) continue;
      const names = { partition: record.partition, subject: line.subject, period: line.period };
      const key = JSON.stringify(Object.values(names));
      const sum = sums.get(key) ?? { ...names, bookedNanos: 0n, unbookedNanos: 0n };
      sum[record.booked ? 'bookedNanos' : 'unbookedNanos'] += record.chargeNanos;
      sums.set(key, sum);
    }
  }
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum);
}
