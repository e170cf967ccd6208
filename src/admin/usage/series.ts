/** Usage over time, for charts: sums of hours or days, and how long their calls took. */
import type { UsageLatencyRow } from '../../stores/sql/usage/first-bytes.ts';
import type { UsageFilter, UsageGrouping, UsageReportRow } from '../../stores/sql/usage/report.ts';
import { invalid } from '../admin-error.ts';
import { percentile } from '../now/histogram.ts';
import { latenciesOf, reportOf } from './rows.ts';
import type { WalkDeps, WalkOptions } from './walk-log.ts';

/** The steps of time; hours and days are those of UTC. */
export type UsageStep = 'hour' | 'day';

/** A period of at most 1,000 steps. */
export interface UsageTimesQuery extends UsageFilter {
  readonly fromMs: number;
  readonly toMs: number;
  /** How long each step is. */
  readonly step: UsageStep;
}

/** What the names of a series are ordered by; tokens are those of prompts and replies. */
export type UsageMeasure = 'charge' | 'calls' | 'tokens';

/** The steps, what they are divided by, and how many parts are kept apart. */
export interface UsageSeriesQuery extends UsageTimesQuery {
  /** Default: nothing. */
  readonly by?: UsageGrouping;
  /** How many of the largest names have rows of their own, 1 to 20. Default: 6. */
  readonly top?: number;
  /** Default: `charge`. */
  readonly measure?: UsageMeasure;
}

/** The sum of a step for one name, or for all names that are not among the largest. */
export interface UsageSeriesRow {
  /** When the hour or day begins: Unix ms. */
  readonly startMs: number;
  /** As in a report; undefined for all other names together. */
  readonly name: string | undefined;
  /** Calls that ended in this step. */
  readonly calls: number;
  /** Their input and output tokens together. */
  readonly tokens: number;
  /** What keys were charged for them, in nanos. */
  readonly chargeNanos: bigint;
}

/** Sums by steps of time; a step without calls has no row. */
export interface UsageSeries {
  /** The largest names of the whole period, the largest first. */
  readonly names: readonly string[];
  /** A row for each step and name. */
  readonly data: readonly UsageSeriesRow[];
}

/** How long the calls of a step took; undefined where none has such a time. */
export interface UsageLatency {
  /** When the hour or day begins: Unix ms. */
  readonly startMs: number;
  /** The median from the start of a call to its first byte, in ms. */
  readonly firstByteP50Ms: number | undefined;
  /** The 95th percentile of the same, in ms. */
  readonly firstByteP95Ms: number | undefined;
  /** The median from the start of a call to its end, in ms. */
  readonly durationP50Ms: number | undefined;
  /** The 95th percentile of the same, in ms. */
  readonly durationP95Ms: number | undefined;
}

const stepMs = { hour: 3_600_000, day: 86_400_000 };
const maxSteps = 1_000;

export async function seriesOf(
  deps: WalkDeps,
  { by, top = 6, measure = 'charge', step, ...filter }: UsageSeriesQuery,
  options?: WalkOptions,
): Promise<UsageSeries> {
  checkSteps({ ...filter, step });
  if (!Number.isSafeInteger(top) || top < 1 || top > 20) {
    throw invalid('top', 'top must be an integer from 1 to 20.');
  }
  const query = { ...filter, by: by === undefined ? step : ([step, by] as const) };
  const rows = (await reportOf(deps, query, options)).map(seriesRow);
  const names = by === undefined ? [] : largestOf(rows, measure).slice(0, top);
  const known = new Set<string | undefined>(names);
  const data = new Map<string, UsageSeriesRow>();
  for (const row of rows) {
    const name = known.has(row.name) ? row.name : undefined;
    const key = JSON.stringify([row.startMs, name]);
    data.set(key, sumOf({ ...row, name }, data.get(key)));
  }
  return { names, data: [...data.values()] };
}

function seriesRow({ names, calls, chargeNanos, ...counts }: UsageReportRow): UsageSeriesRow {
  const [start = '', name] = names;
  const tokens = counts.inputTokens + counts.outputTokens;
  return { startMs: Date.parse(start), name, calls, tokens, chargeNanos };
}

function sumOf(row: UsageSeriesRow, sum: UsageSeriesRow | undefined): UsageSeriesRow {
  return {
    ...row,
    calls: row.calls + (sum?.calls ?? 0),
    tokens: row.tokens + (sum?.tokens ?? 0),
    chargeNanos: row.chargeNanos + (sum?.chargeNanos ?? 0n),
  };
}

function largestOf(rows: readonly UsageSeriesRow[], measure: UsageMeasure): readonly string[] {
  const sums = new Map<string, UsageSeriesRow>();
  for (const row of rows) sums.set(row.name ?? '', sumOf(row, sums.get(row.name ?? '')));
  const sizeOf = (row: UsageSeriesRow): number =>
    measure === 'charge' ? Number(row.chargeNanos) : row[measure];
  return [...sums]
    .toSorted(([, one], [, other]) => sizeOf(other) - sizeOf(one))
    .map(([name]) => name);
}

export async function latencySeriesOf(
  deps: WalkDeps,
  { step, ...filter }: UsageTimesQuery,
  options?: WalkOptions,
): Promise<readonly UsageLatency[]> {
  checkSteps({ ...filter, step });
  return (await latenciesOf(deps, { ...filter, by: step }, options)).map(latencyOf);
}

function latencyOf({ names, firstByteCounts, durationCounts }: UsageLatencyRow): UsageLatency {
  const first = Uint32Array.from(firstByteCounts);
  const duration = Uint32Array.from(durationCounts);
  return {
    startMs: Date.parse(names[0] ?? ''),
    firstByteP50Ms: percentile(first, 0.5),
    firstByteP95Ms: percentile(first, 0.95),
    durationP50Ms: percentile(duration, 0.5),
    durationP95Ms: percentile(duration, 0.95),
  };
}

function checkSteps({ fromMs, toMs, step }: UsageTimesQuery): void {
  if ((toMs - fromMs) / stepMs[step] <= maxSteps) return;
  throw invalid(
    'step',
    `The period has more than ${maxSteps} steps: choose a longer step, or a shorter period.`,
  );
}
