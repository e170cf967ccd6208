/**
 * How long calls took, and until their first byte: counts in fixed buckets, summed up by a
 * database.
 */
import type { UsageRecord } from '../../../ports/usage-sink.ts';
import { integerAt, namesFrom } from '../columns.ts';

/** How long the calls of a row took, in the buckets of `firstByteBoundsMs` and one above them. */
export interface UsageLatencyRow {
  /** As in `UsageReportRow`. */
  readonly names: readonly string[];
  /** Until the first byte of the reply; calls without one are not counted. */
  readonly firstByteCounts: readonly number[];
  /** Until the end of the call. */
  readonly durationCounts: readonly number[];
}

/** The upper bounds of the buckets, in ms; the last bucket has none. */
export const firstByteBoundsMs: readonly number[] = [
  5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500,
  10_000, 15_000, 30_000, 60_000, 120_000,
];

/** Which bucket the value of a column belongs to, as an expression of SQL; -1 for NULL. */
export function bucketIn(column: string): string {
  return [
    `CASE WHEN ${column} IS NULL THEN -1`,
    ...firstByteBoundsMs.map((bound, index) => `WHEN ${column} <= ${bound} THEN ${index}`),
    `ELSE ${firstByteBoundsMs.length} END`,
  ].join(' ');
}

/** The bucket of a time. */
export function bucketOf(ms: number): number {
  const found = firstByteBoundsMs.findIndex((bound) => ms <= bound);
  return found === -1 ? firstByteBoundsMs.length : found;
}

/** The counts of all buckets, from rows with the columns `bucket` and `calls`. */
export function firstBytesFrom(rows: readonly unknown[]): readonly number[] {
  const counts = noTimes();
  for (const row of rows) counts[integerAt(row, 'bucket')] = integerAt(row, 'calls');
  return counts;
}

/** No call in any bucket. */
export function noTimes(): number[] {
  return [...firstByteBoundsMs.map(() => 0), 0];
}

/** Each row has the calls with one bucket for the first byte and one for the end. */
export function latenciesFrom(
  rows: readonly unknown[],
  groupings: number,
): readonly UsageLatencyRow[] {
  return sumOfLatencies(
    rows.map((row) => {
      const calls = integerAt(row, 'calls');
      return {
        names: namesFrom(row, groupings),
        firstByteCounts: timesIn(integerAt(row, 'first_byte_bucket'), calls),
        durationCounts: timesIn(integerAt(row, 'duration_bucket'), calls),
      };
    }),
  );
}

function timesIn(bucket: number, calls: number): readonly number[] {
  return noTimes().map((_, index) => (index === bucket ? calls : 0));
}

/** The times of a call. */
export function latencyOf(
  names: readonly string[],
  { firstByteMs, durationMs }: Pick<UsageRecord, 'firstByteMs' | 'durationMs'>,
): UsageLatencyRow {
  return {
    names,
    firstByteCounts: timesIn(firstByteMs === undefined ? -1 : bucketOf(firstByteMs), 1),
    durationCounts: timesIn(bucketOf(durationMs), 1),
  };
}

/** Rows with the same names become one, where the first of them was. */
export function sumOfLatencies(rows: Iterable<UsageLatencyRow>): readonly UsageLatencyRow[] {
  const sums = new Map<string, { names: readonly string[]; first: number[]; ended: number[] }>();
  for (const { names, firstByteCounts, durationCounts } of rows) {
    const key = JSON.stringify(names);
    const sum = sums.get(key) ?? { names, first: noTimes(), ended: noTimes() };
    for (const [index, calls] of firstByteCounts.entries())
      sum.first[index] = (sum.first[index] ?? 0) + calls;
    for (const [index, calls] of durationCounts.entries())
      sum.ended[index] = (sum.ended[index] ?? 0) + calls;
    sums.set(key, sum);
  }
  return [...sums.values()].map(({ names, first, ended }) => {
    return { names, firstByteCounts: first, durationCounts: ended };
  });
}
