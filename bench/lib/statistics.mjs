/** The statistics of the benchmarks. */

/** The value below which this share of the values lies, between two of them by their distance. */
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return low + (high - low) * (place % 1);
}

/** A figure over its rounds: its median and its quartiles. */
export function summary(values) {
  const [low, median, high] = [0.25, 0.5, 0.75].map((share) => quantile(values, share));
  return { low, median, high };
}
