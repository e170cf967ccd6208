/** Counts of durations in buckets, and the percentiles that they give. */
import { bucketOf, firstByteBoundsMs } from '../../stores/sql/usage/first-bytes.ts';

/** How many durations each bucket has. */
export type Histogram = Uint32Array;

export function emptyHistogram(): Histogram {
  return new Uint32Array(firstByteBoundsMs.length + 1);
}

export function addTime(histogram: Histogram, ms: number): void {
  const index = bucketOf(ms);
  histogram[index] = (histogram[index] ?? 0) + 1;
}

export function sumOf(histograms: Iterable<Histogram>): Histogram {
  const sum = emptyHistogram();
  for (const histogram of histograms) {
    for (const [index, count] of histogram.entries()) sum[index] = (sum[index] ?? 0) + count;
  }
  return sum;
}

export function percentilesOf(histogram: Histogram) {
  const [firstByteP50Ms, firstByteP95Ms] = [0.5, 0.95].map((share) => percentile(histogram, share));
  return { firstByteP50Ms, firstByteP95Ms };
}

/** Interpolates within a bucket; durations above the last bound count as that bound. */
export function percentile(histogram: Histogram, share: number): number | undefined {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const wanted = share * total;
  let below = 0;
  for (const [index, count] of histogram.entries()) {
    if (count > 0 && below + count >= wanted) {
      const from = firstByteBoundsMs[index - 1] ?? 0;
      const to = firstByteBoundsMs[index] ?? from;
      return Math.round(from + ((to - from) * Math.max(0, wanted - below)) / count);
    }
    below += count;
  }
  return firstByteBoundsMs.at(-1);
}
