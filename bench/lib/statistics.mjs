/** The statistics of the benchmarks. */

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A figure over its rounds: the median, and the spread from lowest to highest. */
export function summary(values) {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values), values };
}

/**
 * `ratio`: the median of the ratios within each round. Both were measured within the same seconds,
 * so a longer slowdown of the machine cancels out. `bestRatio`: from the best rounds of both.
 */
export function ratiosOf(values, baseline) {
  return {
    ratio: median(values.map((value, round) => value / baseline[round])),
    bestRatio: Math.min(...values) / Math.min(...baseline),
  };
}
