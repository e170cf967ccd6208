/**
 * Measures contenders side by side: a warm-up for each, then rounds in which all take their turn,
 * A B A B, so that whatever else the machine does hits them alike.
 */
import { ratiosOf, summary } from './statistics.mjs';
import { warmUp } from './warm-up.mjs';

/** While the others had their turn, a contender's code has left the caches: first it comes back. */
const backMs = 400;

/**
 * @param context what a scenario is handed
 * @param entries `name`, a started `contender`, and what its `shape` has of its own;
 * @param options `shape`: the load of every entry (`load.mjs`); `warming`: what is different of it
 *   in the warm-up; `firstCalls`: how many calls come before that; `streams`: how the upstream answers below `/stream`, `warmUp` and `measured`;
 *   `measure`: `(context, entry, shape)` to an object of figures, CPU and latencies where left out
 * @returns by name, by figure: the value of each round
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
      if (load.durationMs !== undefined) await context.load({ ...load, durationMs: backMs });
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
    firstByteP50: result.firstByteMicros.p50,
    firstByteP99: result.firstByteMicros.p99,
    eventDelayP50: result.eventDelayMicros.p50,
    eventDelayP99: result.eventDelayMicros.p99,
  };
}

/** Says under the table whose streams came slower than the upstream was told to send them. */
export function notePace(context, values, perSecond) {
  for (const [name, figures] of values) {
    const kept = summary(figures.perSecond).median / perSecond;
    if (kept < 0.9) {
      context.note(`${name}: ${Math.round(kept * 100)} % of ${perSecond} events a second came.`);
    }
  }
}

/**
 * A line of the report.
 *
 * @param line `contender`; `figure` and `unit`; `values` of its rounds; `baseline`: the values of
 *   what it is compared with, round by round; `target`: `{ of: 'ratio' | 'median', max | min,
 *   missedAt }`, the last for a ratio that is known to be above its `max`;
 *   `note`
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
