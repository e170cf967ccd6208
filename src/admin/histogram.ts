/** Fixed buckets of times, from which percentiles are read: small, and cheap to add to. */

/** The upper bounds of the buckets, in ms; the last bucket has none. */
export const bucketBoundsMs: readonly number[] = [
  5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500,
  10_000, 15_000, 30_000, 60_000, 120_000,
];

/** Counts of times, by bucket. */
export type Histogram = Uint32Array;

/** A histogram without times. */
export function emptyHistogram(): Histogram {
  return new Uint32Array(bucketBoundsMs.length + 1);
}

/** Counts a time. */
export function addTime(histogram: Histogram, ms: number): void {
  const found = bucketBoundsMs.findIndex((bound) => ms <= bound);
  const index = found === -1 ? bucketBoundsMs.length : found;
  histogram[index] = (histogram[index] ?? 0) + 1;
}

/** The sum of histograms. */
export function sumOf(histograms: Iterable<Histogram>): Histogram {
  const sum = emptyHistogram();
  for (const histogram of histograms) {
    for (const [index, count] of histogram.entries()) sum[index] = (sum[index] ?? 0) + count;
  }
  return sum;
}

/**
 * The time below which a share of the times lies, interpolated within its bucket; undefined without
 * times. Times above the last bound count as that bound.
 */
export function percentile(histogram: Histogram, share: number): number | undefined {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const wanted = share * total;
  let below = 0;
  for (const [index, count] of histogram.entries()) {
    if (count > 0 && below + count >= wanted) {
      const from = bucketBoundsMs[index - 1] ?? 0;
      const to = bucketBoundsMs[index] ?? from;
      return Math.round(from + ((to - from) * Math.max(0, wanted - below)) / count);
    }
    below += count;
  }
  return bucketBoundsMs.at(-1);
}
