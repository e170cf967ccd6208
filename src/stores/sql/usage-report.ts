/** What can be asked of a usage log in a database: sums to bill from, and the records behind. */
import type { Usage } from '../../money.ts';
import type { CallOptions, MaybePromise } from '../../ports/call-options.ts';
import type { UsageRecord } from '../../ports/usage-sink.ts';
import { bigintAt, integerAt, textAt } from './columns.ts';

/** Which records; all of them where nothing is said. Times are of the call's start. */
export interface UsageFilter {
  /** Unix milliseconds, inclusive. */
  readonly fromMs?: number;
  /** Unix milliseconds, exclusive. */
  readonly toMs?: number;
  readonly keyId?: string;
  readonly group?: string;
  readonly modelId?: string;
}

/** What records are summed up by: one sum for each key, group, model or UTC day. */
export type UsageGrouping = 'key' | 'group' | 'model' | 'day';

/** A report over a span of time: a bill has a beginning and an end. */
export interface UsageReportQuery extends UsageFilter {
  readonly by: UsageGrouping;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The counts of a usage; those that an upstream does not report count as 0 in a sum. */
export type UsageCount = Exclude<keyof Usage, 'largestPassInputTokens' | 'toolCalls'>;

/** The sum of the records that share a name. */
export interface UsageReportRow extends Readonly<Record<UsageCount, number>> {
  /** The key's id, the group, the model's id, or the day as `2026-11-21`. */
  readonly name: string;
  /** How many calls, whatever became of them. */
  readonly calls: number;
  /** Exact; may pass what one amount can be. */
  readonly chargeNanos: bigint;
  /** The part of it that the quota store has not taken, or not yet: `booked` is false there. */
  readonly unbookedNanos: bigint;
  /** What the calls cost the operator, of those whose channel states its cost. */
  readonly costNanos: bigint;
  /** What those calls were charged less what they cost; below zero where they cost more. */
  readonly marginNanos: bigint;
}

/** Which charges; all of them where nothing is said, which walks the whole log. */
export interface UsageChargesFilter {
  readonly partition?: string;
  readonly subject?: string;
  /** As the quota store names it: `''`, `2026-11` or `2026-11-20`. */
  readonly period?: string;
}

/** What the log says was charged to one subject and period. */
export interface UsageCharges {
  readonly partition: string;
  readonly subject: string;
  readonly period: string;
  /** Of records that are `booked`: the quota store has taken these. */
  readonly bookedNanos: bigint;
  /** Of records that are not, or not yet. */
  readonly unbookedNanos: bigint;
}

/** How much of a list. */
export interface UsagePage {
  /** How many records, 1 to 1,000; 100 where left out. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

/** A part of the list. */
export interface UsageRecordPage {
  /** In the order of their start, those of one moment in the order they were written. */
  readonly records: readonly UsageRecord[];
  /** For `after`; undefined where this is the last page. */
  readonly next: string | undefined;
}

/** A usage log that can be asked. */
export interface UsageQueries {
  /**
   * Sums by name, sorted by name.
   *
   * @throws RangeError where the query is none; StoreUnavailable, StoreCorrupt
   */
  usageReport(
    query: UsageReportQuery,
    options?: CallOptions,
  ): MaybePromise<readonly UsageReportRow[]>;
  /**
   * Charges by partition, subject and period, as the quota store keeps them: what `reconcile` holds
   * against its books.
   *
   * @throws RangeError where the filter is none; StoreUnavailable, StoreCorrupt
   */
  usageCharges(
    filter?: UsageChargesFilter,
    options?: CallOptions,
  ): MaybePromise<readonly UsageCharges[]>;
  /**
   * The records themselves, page by page; what was recorded meanwhile may be missed.
   *
   * @throws RangeError where the filter or the page is none; StoreUnavailable, StoreCorrupt
   */
  usageRecords(
    filter: UsageFilter,
    page?: UsagePage,
    options?: CallOptions,
  ): MaybePromise<UsageRecordPage>;
}

/** Where a page begins: behind the record of this start and this number of its row. */
export interface UsageCursor {
  readonly startedAtMs: number;
  readonly seq: bigint;
}

/** A record as it was read, with the number of its row. */
export interface NumberedRecord {
  readonly seq: bigint;
  readonly record: UsageRecord;
}

/** A page with every member, checked. */
export interface CheckedPage {
  readonly limit: number;
  readonly after: UsageCursor | undefined;
}

const groupings: readonly UsageGrouping[] = ['key', 'group', 'model', 'day'];
const cursorShape = /^(\d{1,16}):(\d{1,19})$/;

/** @throws RangeError where the query can't be answered */
export function checkReport(query: UsageReportQuery): void {
  if (!groupings.includes(query.by)) refuse("by must be 'key', 'group', 'model' or 'day'");
  checkFilter(query);
  if (query.fromMs === undefined || query.toMs === undefined) refuse('fromMs and toMs are needed');
}

/** @throws RangeError where the filter can't be answered */
export function checkFilter({ fromMs, toMs, keyId, group, modelId }: UsageFilter): void {
  for (const time of [fromMs, toMs]) {
    if (time !== undefined && !Number.isSafeInteger(time)) {
      refuse('fromMs and toMs must be Unix milliseconds');
    }
  }
  for (const name of [keyId, group, modelId]) {
    if (name !== undefined && typeof name !== 'string') refuse('a name must be text');
  }
}

/** @throws RangeError where the filter can't be answered */
export function checkChargesFilter({ partition, subject, period }: UsageChargesFilter): void {
  for (const name of [partition, subject, period]) {
    if (name !== undefined && typeof name !== 'string') {
      refuse('partition, subject and period must be text');
    }
  }
}

/** @throws RangeError where there is no such page */
export function checkPage({ limit = 100, after }: UsagePage = {}): CheckedPage {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1_000) {
    refuse('limit must be an integer from 1 to 1,000');
  }
  return { limit, after: after === undefined ? undefined : cursorFrom(after) };
}

/** One row of a report, as both databases answer it. */
export function reportRowFrom(row: unknown): UsageReportRow {
  const countOf = (column: string): number => integerAt(row, column);
  return {
    name: textAt(row, 'name'),
    calls: countOf('calls'),
    inputTokens: countOf('input_tokens'),
    cachedInputTokens: countOf('cached_input_tokens'),
    cacheWrite5mTokens: countOf('cache_write_5m_tokens'),
    cacheWrite1hTokens: countOf('cache_write_1h_tokens'),
    audioInputTokens: countOf('audio_input_tokens'),
    imageInputTokens: countOf('image_input_tokens'),
    videoInputTokens: countOf('video_input_tokens'),
    outputTokens: countOf('output_tokens'),
    reasoningTokens: countOf('reasoning_tokens'),
    audioOutputTokens: countOf('audio_output_tokens'),
    imageOutputTokens: countOf('image_output_tokens'),
    images: countOf('images'),
    chargeNanos: bigintAt(row, 'charge_nanos'),
    unbookedNanos: bigintAt(row, 'unbooked_nanos'),
    costNanos: bigintAt(row, 'cost_nanos'),
    marginNanos: bigintAt(row, 'margin_nanos'),
  };
}

/** The page of rows that were read in order, one more than its limit where there are more. */
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
  if (startedAtMs === undefined || seq === undefined) refuse('after must be the next of a page');
  return { startedAtMs: Number(startedAtMs), seq: BigInt(seq) };
}

function refuse(sentence: string): never {
  throw new RangeError(`Usage query refused: ${sentence}.`);
}
