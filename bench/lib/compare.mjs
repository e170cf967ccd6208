/**
 * Measures contenders side by side: a warm-up for each, then interleaved rounds, A B A B, so that
 * other load on the machine affects all of them alike.
 */
import { ratiosOf, summary } from './statistics.mjs';
import { warmUp } from './warm-up.mjs';

/** A contender's code leaves the CPU caches while others run: this load brings it back. */
const reheatMs = 400;

/**
 * @param context the context of a scenario
 * @param entries `name`, a started `contender`, and its own additions to `shape`
 * @param options `shape`: the load of every entry (`load.mjs`); `warming`: its changes for the
 *   warm-up; `firstCalls`: the number of calls before that; `streams`: the upstream's replies below
 *   `/stream`, `warmUp` and `measured`; `measure`: a function of `(context, entry, shape)` that
 *   returns an object of figures, by default CPU and latencies
 * @returns the values of each round, by name and figure
 */
export async function compare(context, entries, options) {
  const { shape, warming = {}, firstCalls = 0, streams, measure = measureCpu } = options;
  const shapeOf = (entry) => ({ port: entry.contender.port, ...shape, ...entry.shape });
  const values = new Map(entries.map(({ name }) => [name, {}]));

  if (streams !== undefined) await context.answerStreams(streams.warmUp);
  for (const entry of entries) {
    const load = { ...shapeOf(entry), ...warming };
    if (firstCalls > 0) {
      await context.load({ ...load, requests: firstCalls, durationMs: undefined });
    }
    await warmUp(context, entry, load);
  }
  if (streams !== undefined) await context.answerStreams(streams.measured);
  for (let round = 0; round < context.rounds; round += 1) {
    for (const entry of entries) {
      const load = shapeOf(entry);
      if (load.durationMs !== undefined) await context.load({ ...load, durationMs: reheatMs });
      const figures = await measure(context, entry, load);
      const known = values.get(entry.name);
      for (const [figure, value] of Object.entries(figures)) {
        known[figure] = [...(known[figure] ?? []), value];
      }
    }
  }
  return values;
}

/** CPU of the contender per event of a stream, or per request, µs; and the latencies of the run. */
async function measureCpu(context, { contender }, shape) {
  const before = await contender.usage();
  const result = await context.load(shape);
  const after = await contender.usage();
  const micros = after.cpuMicros - before.cpuMicros;
  return {
    cpuMicros: micros / (result.events || result.requests),
    perSecond: (result.events || result.requests) / result.seconds,
    latencyP50: result.latencyMicros.p50,
    latencyP99: result.latencyMicros.p99,
    firstByteP10: result.firstByteMicros.p10,
    firstByteP50: result.firstByteMicros.p50,
    firstByteP99: result.firstByteMicros.p99,
    eventDelayP50: result.eventDelayMicros.p50,
    eventDelayP99: result.eventDelayMicros.p99,
  };
}

/** Adds a note for each contender whose streams were slower than the upstream's pace. */
export function notePace(context, values, perSecond) {
  for (const [name, figures] of values) {
    const kept = summary(figures.perSecond).median / perSecond;
    if (kept < 0.9) {
      context.note(`${name}: ${Math.round(kept * 100)} % of ${perSecond} events a second arrived.`);
    }
  }
}

/**
 * A line of the report.
 *
 * @param line `contender`; `figure` and `unit`; `values` of its rounds; `baseline`: the values with
 *   which it is compared, round by round; `target`: `{ of: 'ratio' | 'median', max | min, missedAt }`,
 *   where `missedAt` is the value of a ratio that is known to be above its `max`; `note`
 */
export function row({ contender, figure, unit, values, baseline, target, note = '' }) {
  const { median, low, high } = summary(values);
  const ratios = baseline === undefined ? {} : ratiosOf(values, baseline);
  return { contender, figure, unit, median, low, high, ...ratios, target, note };
}

/** One row for each contender, with one figure, against the contender called `baseline`. */
export function rowsOf(values, { figure, unit, label, baseline, targets = {}, notes = {} }) {
  return [...values].map(([contender, figures]) =>
    row({
      contender,
      figure: label,
      unit,
      values: figures[figure],
      baseline: baseline === undefined ? undefined : values.get(baseline)[figure],
      target: targets[contender],
      note: notes[contender],
    }),
  );
}

/** How far a row is above its target, as a factor; at most 1 where it is met. */
export function excessOf({ target, ratio, median }) {
  const value = target.of === 'ratio' ? ratio : median;
  return target.max === undefined ? target.min / value : value / target.max;
}
