/** How long callers waited for the first byte: counts in fixed buckets, summed up by a database. */
import { integerAt } from './columns.ts';

/** The upper bounds of the buckets, in ms; the last bucket has none. */
export const firstByteBoundsMs: readonly number[] = [
  5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500,
  10_000, 15_000, 30_000, 60_000, 120_000,
];

/** Which bucket a record belongs to, as an expression of SQL. */
export const firstByteBucket: string = [
  'CASE',
  ...firstByteBoundsMs.map((bound, index) => `WHEN first_byte_ms <= ${bound} THEN ${index}`),
  `ELSE ${firstByteBoundsMs.length} END`,
].join(' ');

/** The bucket of a time. */
export function bucketOf(ms: number): number {
  const found = firstByteBoundsMs.findIndex((bound) => ms <= bound);
  return found === -1 ? firstByteBoundsMs.length : found;
}

/** The counts of all buckets, from rows with the columns `bucket` and `calls`. */
export function firstBytesFrom(rows: readonly unknown[]): readonly number[] {
  const counts = Array.from(firstByteBoundsMs, () => 0);
  counts.push(0);
  for (const row of rows) counts[integerAt(row, 'bucket')] = integerAt(row, 'calls');
  return counts;
}
