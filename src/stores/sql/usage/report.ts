/** Queries on a usage log in a database: sums for billing, single records, deletion of old ones. */
import type { CallOptions, MaybePromise } from '../../../ports/call-options.ts';
import type { CallOutcome, RecordedLine, UsageRecord } from '../../../ports/usage-sink.ts';
import { bigintAt, integerAt, namesFrom, numberAt } from '../columns.ts';
import { countColumns, noCounts, type UsageCount } from './counts.ts';
import type { UsageLatencyRow } from './first-bytes.ts';

/** Selects records; all of them by default. Times are those of the call's start. */
export interface UsageFilter {
  /** Unix milliseconds, inclusive. */
  readonly fromMs?: number;
  /** Unix milliseconds, exclusive. */
  readonly toMs?: number;
  /** Only calls of this key. */
  readonly keyId?: string;
  /** Only calls of keys of this group. */
  readonly group?: string;
  /** Only calls of this model, by its id in the catalog. */
  readonly modelId?: string;
  /** The channel that served the call, or that was tried last. */
  readonly channelId?: string;
  /** Only calls that ended so. */
  readonly outcome?: CallOutcome;
  /** Only calls whose metadata have this value under this name. */
  readonly metadata?: {
    /** The name of a label. */
    readonly name: string;
    /** Its value, which must be the same. */
    readonly value: string;
  };
}

/** Selects single records. */
export interface UsageRecordFilter extends UsageFilter {
  /** The `x-request-id` of a reply. Callers may choose it, so several calls may have the same. */
  readonly requestId?: string;
}

/** Groupings whose name is a column, or computed from one. */
export const columnGroupings = [
  ...(['key', 'group', 'model', 'channel'] as const),
  ...(['hour', 'day', 'month', 'outcome'] as const),
] as const;

/** A grouping whose name is a column, or computed from one. */
export type ColumnGrouping = (typeof columnGroupings)[number];

/**
 * What a report can be grouped by. Hours, days and months are those of UTC; `metadata.team` is the
 * value of one name in the metadata of the records.
 */
export type UsageGrouping = ColumnGrouping | `metadata.${string}`;

/** A report over a period of time, as a bill has a beginning and an end. */
export interface UsageReportQuery extends UsageFilter {
  /** One grouping, or two different ones: `['model', 'day']`. */
  readonly by: UsageGrouping | readonly [UsageGrouping, UsageGrouping];
  readonly fromMs: number;
  readonly toMs: number;
}

/** The sum of the records that share their names. */
export interface UsageReportRow extends Readonly<Record<UsageCount, number>> {
  /**
   * A name for each grouping of the query, in its order: an id, a group, an outcome, a value of the
   * metadata, an hour as `2026-11-21T14:00Z`, a day as `2026-11-21` or a month as `2026-11`. It is
   * `''` for calls without a channel or such metadata.
   */
  readonly names: readonly string[];
  /** The number of calls with any outcome. */
  readonly calls: number;
  /** How long the calls with output tokens took, in ms: for the tokens per second of a call. */
  readonly outputMs: number;
  /** Exact; may exceed the range of one amount. */
  readonly chargeNanos: bigint;
  /** The part of it that the quota store has not accepted, or not yet: `booked` is false. */
  readonly unbookedNanos: bigint;
  /** The operator's cost, for the calls whose channel states its cost. */
  readonly costNanos: bigint;
  /** The charges of those calls minus their cost; below zero where they cost more. */
  readonly marginNanos: bigint;
}

/** Selects charges; all of them by default, which reads the whole log. */
export interface UsageChargesFilter
  extends Partial<Pick<UsageCharges, 'partition' | 'subject' | 'period'>> {}

/** The charges to one subject and period, according to the log. */
export interface UsageCharges
  extends Pick<UsageRecord, 'partition'>,
    Pick<RecordedLine, 'subject' | 'period'> {
  /** The sum of records that are `booked`: the quota store has accepted these charges. */
  readonly bookedNanos: bigint;
  /** The sum of records that are not booked, or not yet. */
  readonly unbookedNanos: bigint;
}

/** Selects a page of a list. */
export interface UsagePage {
  /** How many records, 1 to 1,000. Default: 100. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
  /** The newest records first. Default: the oldest. */
  readonly newestFirst?: boolean;
}

/** A page of records. */
export interface UsageRecordPage {
  /** Ordered by start time, then by the order in which they were written, or the reverse. */
  readonly records: readonly UsageRecord[];
  /** Pass this as `after`; undefined on the last page. */
  readonly next: string | undefined;
}

/** The queries of a usage log. */
export interface UsageQueries {
  /**
   * Queries block this process, or what else its database does, while they search, so that long
   * ones are asked in small parts.
   */
  readonly isInProcess?: boolean;
  /**
   * Sums by names, sorted by names.
   *
   * @throws RangeError where the query is not valid; StoreUnavailable, StoreCorrupt
   */
  usageReport(
    query: UsageReportQuery,
    options?: CallOptions,
  ): MaybePromise<readonly UsageReportRow[]>;
  /**
   * How long calls took, by names, sorted by names.
   *
   * @throws RangeError where the query is not valid; StoreUnavailable, StoreCorrupt
   */
  usageLatencies(
    query: UsageReportQuery,
    options?: CallOptions,
  ): MaybePromise<readonly UsageLatencyRow[]>;
  /**
   * Charges by partition, subject and period, as the quota store keeps them; `reconcile` compares
   * the two.
   *
   * @throws RangeError where the filter is not valid; StoreUnavailable, StoreCorrupt
   */
  usageCharges(
    filter?: UsageChargesFilter,
    options?: CallOptions,
  ): MaybePromise<readonly UsageCharges[]>;
  /**
   * The records themselves, page by page; records added during paging may be missed.
   *
   * @throws RangeError where the filter or the page is not valid; StoreUnavailable, StoreCorrupt
   */
  usageRecords(
    filter: UsageRecordFilter,
    page?: UsagePage,
    options?: CallOptions,
  ): MaybePromise<UsageRecordPage>;
  /**
   * How long callers waited for their first byte. For each of `firstByteBoundsMs`, how many calls
   * took at most that long and longer than the bound before it, then how many took longer than
   * all. Calls without a first byte are not counted.
   *
   * @throws RangeError where the filter is not valid; StoreUnavailable, StoreCorrupt
   */
  usageFirstBytes(filter: UsageFilter, options?: CallOptions): MaybePromise<readonly number[]>;
  /**
   * When the latest call of each of these keys began, at most 1,000, in their order: Unix ms, or
   * undefined for a key without calls.
   *
   * @throws RangeError where there are more keys, or their ids are no text; StoreUnavailable,
   *   StoreCorrupt
   */
  usageLastCalls(
    keyIds: readonly string[],
    options?: CallOptions,
  ): MaybePromise<readonly (number | undefined)[]>;
}

/** Deletes what is no longer needed from a usage log. */
export interface UsageRetention {
  /**
   * Deletes records of calls that started before a time, and then counts of refusals, the oldest
   * first, and at most `limit` in all, so that no statement runs for long: call it until it returns
   * 0. The records of calls in doubt stay, because their holds can't be ended without them.
   * `usageCharges` and `reconcile` no longer know the charges of deleted records.
   *
   * @returns how many records and counts were deleted
   * @throws RangeError where the time or the limit is not valid; StoreUnavailable
   */
  deleteBefore(
    beforeMs: number,
    batch?: UsageDeletionBatch,
    options?: CallOptions,
  ): MaybePromise<number>;
}

/** The size of a batch that is deleted. */
export interface UsageDeletionBatch {
  /** How many records, 1 to 10,000. Default: 1,000. */
  readonly limit?: number;
}

/** The start of a page: after the record with this start time and row number. */
export interface UsageCursor {
  readonly startedAtMs: number;
  readonly seq: bigint;
}

export interface NumberedRecord {
  readonly seq: bigint;
  readonly record: UsageRecord;
}

export interface CheckedPage {
  readonly limit: number;
  readonly after: UsageCursor | undefined;
  readonly newestFirst: boolean;
}

/** Where a page begins, and between which times it may have records. */
export interface PageStart {
  readonly cursor: UsageCursor;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A checked grouping: a column, or a name in the metadata. */
export type CheckedGrouping =
  | { readonly column: ColumnGrouping }
  | { readonly metadataName: string };

const metadataPrefix = 'metadata.';
/** The largest row number of a database. */
const maxSeq = 2n ** 63n - 1n;
const cursorShape = /^(\d{1,16}):(\d{1,19})$/;

/**
 * Returns the groupings of a report.
 *
 * @throws RangeError where the query is not valid
 */
export function checkReport(query: UsageReportQuery): readonly CheckedGrouping[] {
  const { by } = query;
  const values: readonly unknown[] = Array.isArray(by) ? by : [by];
  if (values.length < 1 || values.length > 2) refuse('by must be one grouping or two');
  if (new Set(values).size < values.length) refuse('the groupings of by must differ');
  const groupings = values.map(groupingOf);
  checkFilter(query);
  if (query.fromMs === undefined || query.toMs === undefined) refuse('fromMs or toMs is missing');
  return groupings;
}

function groupingOf(value: unknown): CheckedGrouping {
  const column = columnGroupings.find((known) => known === value);
  if (column !== undefined) return { column };
  if (typeof value === 'string' && value.startsWith(metadataPrefix) && isStorableText(value)) {
    return { metadataName: value.slice(metadataPrefix.length) };
  }
  return refuse(`by must be ${columnGroupings.join(', ')} or metadata.<name>`);
}

/**
 * The `SELECT` clauses of the names of a report, as `name_1` and `name_2`, and the metadata names
 * among them, which are parameters.
 */
export function selectedNames(
  groupings: readonly CheckedGrouping[],
  columns: Readonly<Record<ColumnGrouping, string>>,
  metadataValue: (index: number) => string,
): { readonly clause: string; readonly metadataNames: readonly string[] } {
  const metadataNames: string[] = [];
  const clauses = groupings.map((grouping, index) => {
    if ('column' in grouping) return `${columns[grouping.column]} AS name_${index + 1}`;
    metadataNames.push(grouping.metadataName);
    return `${metadataValue(metadataNames.length)} AS name_${index + 1}`;
  });
  return { clause: clauses.join(', '), metadataNames };
}

/** @throws RangeError where the filter is not valid */
export function checkFilter(filter: UsageRecordFilter): void {
  const { fromMs, toMs, keyId, group, modelId, channelId, outcome, requestId } = filter;
  const { name: metadataName, value: metadataValue } = filter.metadata ?? {};
  for (const time of [fromMs, toMs]) {
    if (time !== undefined && !Number.isSafeInteger(time)) {
      refuse('fromMs and toMs must be Unix milliseconds');
    }
  }
  // Refused, because an empty report would look as if there had been no calls.
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs) {
    refuse('fromMs must not be after toMs');
  }
  const ofMetadata = [metadataName, metadataValue];
  for (const name of [keyId, group, modelId, channelId, outcome, requestId, ...ofMetadata]) {
    if (name !== undefined && !isStorableText(name)) {
      refuse('a name must be text without NUL and lone surrogates');
    }
  }
}

/** @throws RangeError where the filter is not valid */
export function checkChargesFilter({ partition, subject, period }: UsageChargesFilter): void {
  for (const name of [partition, subject, period]) {
    if (name !== undefined && !isStorableText(name)) {
      refuse('partition, subject and period must be text without NUL');
    }
  }
}

/** @throws RangeError where the page is not valid */
export function checkPage({ limit = 100, after, newestFirst }: UsagePage = {}): CheckedPage {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1_000) {
    refuse('limit must be an integer from 1 to 1,000');
  }
  const cursor = after === undefined ? undefined : cursorFrom(after);
  return { limit, after: cursor, newestFirst: newestFirst === true };
}

/** The times are narrowed to those of the page, so that a database finds its rows by them. */
export function pageStart(
  { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER }: UsageFilter,
  { after, newestFirst }: CheckedPage,
): PageStart {
  if (newestFirst) {
    const cursor = after ?? { startedAtMs: Number.MAX_SAFE_INTEGER, seq: 0n };
    return { cursor, fromMs, toMs: Math.min(toMs, cursor.startedAtMs + 1) };
  }
  const cursor = after ?? { startedAtMs: fromMs, seq: -1n };
  return { cursor, fromMs: Math.max(fromMs, cursor.startedAtMs), toMs };
}

/** @throws RangeError where there are too many ids, or one is no text */
export function checkKeyIds(keyIds: readonly string[]): void {
  if (!Array.isArray(keyIds) || keyIds.length > 1_000) refuse('keyIds may have at most 1,000 ids');
  if (!keyIds.every((id) => typeof id === 'string')) refuse('the id of a key must be text');
}

/**
 * Returns the checked size of a batch to delete.
 *
 * @throws RangeError where the time or the limit is not valid
 */
export function checkDeletion(
  beforeMs: number,
  { limit = 1_000 }: UsageDeletionBatch = {},
): number {
  if (!Number.isSafeInteger(beforeMs)) refuse('beforeMs must be Unix milliseconds');
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 10_000) {
    refuse('limit must be an integer from 1 to 10,000');
  }
  return limit;
}

export function reportRowFrom(row: unknown, groupings: number): UsageReportRow {
  const counts: Record<UsageCount, number> = { ...noCounts };
  for (const [count, column] of countColumns) counts[count] = integerAt(row, column);
  return {
    ...counts,
    names: namesFrom(row, groupings),
    calls: integerAt(row, 'calls'),
    outputMs: Math.round(numberAt(row, 'output_ms')),
    chargeNanos: bigintAt(row, 'charge_nanos'),
    unbookedNanos: bigintAt(row, 'unbooked_nanos'),
    costNanos: bigintAt(row, 'cost_nanos'),
    marginNanos: bigintAt(row, 'margin_nanos'),
  };
}

/** A page from ordered rows, of which one more than the limit was read to see if more follow. */
export function pageOf(rows: readonly NumberedRecord[], limit: number): UsageRecordPage {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next =
    rows.length > limit && last !== undefined
      ? `${last.record.startedAtMs}:${last.seq}`
      : undefined;
  return { records: shown.map(({ record }) => record), next };
}

function cursorFrom(after: string): UsageCursor {
  const [, startedAtMs, seq] = cursorShape.exec(after) ?? [];
  if (startedAtMs === undefined || seq === undefined || BigInt(seq) > maxSeq) {
    refuse('after must be the next of an earlier page');
  }
  return { startedAtMs: Number(startedAtMs), seq: BigInt(seq) };
}

/** PostgreSQL can't store NUL, and no store keeps lone surrogates, so no record has either. */
function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\u0000') && value.isWellFormed();
}

function refuse(sentence: string): never {
  throw new RangeError(`Usage query refused: ${sentence}.`);
}
