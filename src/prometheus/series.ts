/**
 * The values of metrics, by their labels. The number of series is bounded whatever names callers
 * and hosts choose: a scrape stays small, and the process does not grow.
 */
import { callBounds } from './definitions.ts';

/** The labels of one series, in the order of the metric's definition. */
export type LabelValues = readonly string[];

export type BoundValue = (name: string | undefined) => string;

/** The label value for all names after the maximum number of different ones. */
const otherValue = 'other';
/** The value of a label that does not apply: an empty value would remove the label. */
export const noValue = 'none';

const maxNameLength = 128;

/**
 * Keeps the first `max` names; each later one becomes `other`. Names are cut at 128 characters and
 * have no control characters or lone surrogates: different ones may be printed as the same bytes,
 * and a scrape that has a series twice is invalid as a whole.
 */
export function boundedValues(max: number): BoundValue {
  const known = new Map<string, string>();
  return (name) => {
    if (name === undefined || name === '') return noValue;
    const cut = name.length > maxNameLength ? name.slice(0, maxNameLength) : name;
    const seen = known.get(cut);
    if (seen !== undefined) return seen;
    if (known.size >= max) return otherValue;
    const value = printable(cut);
    known.set(cut, value);
    return value;
  };
}

export function printable(name: string): string {
  return name.toWellFormed().replaceAll(/\p{Cc}/gu, '\ufffd');
}

export interface Series<Value> {
  /** The value of these labels, which is created if there is none. */
  at(...values: LabelValues): Value;
  entries(): Iterable<SeriesEntry<Value>>;
}

export interface SeriesEntry<Value> {
  readonly values: LabelValues;
  readonly value: Value;
}

export interface Tally {
  /** Calls, tokens, or the observations of a histogram. */
  count: number;
  /** Money in nanos, which is added up exactly and becomes a number only in the output. */
  nanos: bigint;
  sumSeconds: number;
  /** The observations up to each bound, not cumulative; empty in a counter. */
  readonly buckets: number[];
}

const separator = '\u0000';

/** Series that are created when they are first used; at most `max`, then all labels are `other`. */
export function seriesOf<Value>(create: () => Value, max: number): Series<Value> {
  const entries = new Map<string, SeriesEntry<Value>>();
  const entryAt = (values: LabelValues): Value => {
    const key = values.join(separator);
    const found = entries.get(key);
    if (found !== undefined) return found.value;
    if (entries.size >= max && values.some((value) => value !== otherValue)) {
      return entryAt(values.map(() => otherValue));
    }
    const value = create();
    entries.set(key, { values, value });
    return value;
  };
  return { at: (...values) => entryAt(values), entries: () => entries.values() };
}

export function emptyCounter(): Tally {
  return { count: 0, nanos: 0n, sumSeconds: 0, buckets: [] };
}

export function emptyHistogram(): Tally {
  return { ...emptyCounter(), buckets: callBounds.map(() => 0) };
}

/** Adds a time in milliseconds. A negative one, from a wrong clock, counts as 0. */
export function observe(tally: Tally, milliseconds: number): void {
  const seconds = milliseconds > 0 ? milliseconds / 1_000 : 0;
  const bucket = callBounds.findIndex((bound) => seconds <= bound);
  if (bucket >= 0) tally.buckets[bucket] = (tally.buckets[bucket] ?? 0) + 1;
  tally.count += 1;
  tally.sumSeconds += seconds;
}
