/** Counts events into the counters and histograms of one gateway, whose series are bounded. */
import { isErrorClass } from '../errors.ts';
import type { EventListener, EventType, GatewayEvent } from '../events/events.ts';
import { defaultLevels } from '../events/filter.ts';
import type { Usage } from '../money.ts';
import { isInDoubt, type UsageRecord } from '../ports/usage-sink.ts';
import {
  anomalyReasons,
  callBounds,
  type EventMetric,
  type eventMetrics,
  lapseReasons,
  quotaPercents,
} from './definitions.ts';

/** The maximum number of series of a metric: more would make a scrape slow. */
const maxSeries = 5_000;

type OfType<Type extends 'counter' | 'gauge' | 'histogram'> = {
  [Name in EventMetric]: (typeof eventMetrics)[Name]['type'] extends Type ? Name : never;
}[EventMetric];
type ValuesOf<Names extends readonly string[]> = { readonly [Index in keyof Names]: string };
type LabelsOf<Name extends EventMetric> = ValuesOf<(typeof eventMetrics)[Name]['labels']>;

/** What `calls_total` and `attempts_total` count at the end anyway. */
const begun: ReadonlySet<string> = new Set(['call_started', 'attempt_started', 'first_byte']);
const isCounted = (type: string): type is EventType =>
  Object.hasOwn(defaultLevels, type) && !begun.has(type);

/** The types of events that are counted. */
export const countedTypes: readonly EventType[] = Object.keys(defaultLevels).filter(isCounted);

type Counted = Readonly<Record<EventMetric, Series<Tally>>>;

/** Bounds the number of label values that hosts choose. */
interface Bounds {
  readonly model: BoundValue;
  readonly channel: BoundValue;
  readonly portOperation: BoundValue;
  readonly portReason: BoundValue;
}

interface Recorder {
  readonly bounds: Bounds;
  add<Name extends OfType<'counter'>>(name: Name, count: number, ...values: LabelsOf<Name>): void;
  addNanos<Name extends OfType<'counter'>>(
    name: Name,
    nanos: bigint,
    ...values: LabelsOf<Name>
  ): void;
  observe<Name extends OfType<'histogram'>>(
    name: Name,
    milliseconds: number,
    ...values: LabelsOf<Name>
  ): void;
  set(name: OfType<'gauge'>, value: number): void;
}

export interface EventCounts {
  readonly onEvent: EventListener;
  readonly counted: Counted;
  /** Bounds the names of channels, the same in all metrics. */
  readonly channelValue: BoundValue;
}

/** Counts the events of one gateway. `maxLabelValues`: how many models and channels have names. */
export function countEvents(maxLabelValues: number): EventCounts {
  const counted = emptySeries();
  const bounds: Bounds = {
    model: boundedValues(maxLabelValues),
    channel: boundedValues(maxLabelValues),
    portOperation: boundedValues(maxLabelValues),
    portReason: boundedValues(maxLabelValues),
  };
  const recorder: Recorder = {
    bounds,
    add: (name, count, ...values) => {
      counted[name].at(...values).count += count;
    },
    addNanos: (name, nanos, ...values) => {
      counted[name].at(...values).nanos += nanos;
    },
    observe: (name, milliseconds, ...values) => observe(counted[name].at(...values), milliseconds),
    set: (name, value) => {
      counted[name].at().count = value;
    },
  };
  startRareAtZero(recorder);
  return {
    onEvent: (event) => recordEvent(recorder, event),
    counted,
    channelValue: bounds.channel,
  };
}

function emptySeries(): Counted {
  const counter = () => new Series(emptyCounter);
  const histogram = () =>
    new Series<Tally>(() => ({ ...emptyCounter(), buckets: callBounds.map(() => 0) }));
  return {
    calls_total: counter(),
    refusals_total: counter(),
    call_duration_seconds: histogram(),
    first_byte_seconds: histogram(),
    tokens_total: counter(),
    token_parts_total: counter(),
    images_total: counter(),
    charge_currency_units_total: counter(),
    cost_currency_units_total: counter(),
    attempts_total: counter(),
    attempt_duration_seconds: histogram(),
    no_channel_total: counter(),
    model_fallbacks_total: counter(),
    calls_in_doubt_total: counter(),
    settlements_lost_total: counter(),
    holds_lapsed_total: counter(),
    usage_anomalies_total: counter(),
    quota_warnings_total: counter(),
    port_failures_total: counter(),
    internal_errors_total: counter(),
    events_total: counter(),
    catalog_stale: counter(),
    config_stale: counter(),
  };
}

/** Creates the series of rare events at 0, so that the first event is an increase. */
function startRareAtZero({ add, set }: Recorder): void {
  set('catalog_stale', 0);
  set('config_stale', 0);
  add('calls_in_doubt_total', 0);
  add('settlements_lost_total', 0);
  add('internal_errors_total', 0);
  for (const reason of Object.keys(anomalyReasons)) add('usage_anomalies_total', 0, reason);
  for (const reason of Object.keys(lapseReasons)) add('holds_lapsed_total', 0, reason);
  for (const percent of Object.keys(quotaPercents)) add('quota_warnings_total', 0, percent);
  for (const type of countedTypes) add('events_total', 0, type);
}

function recordEvent(recorder: Recorder, event: GatewayEvent): void {
  const { add, bounds } = recorder;
  add('events_total', 1, event.type);
  switch (event.type) {
    case 'call_ended':
      return recordCall(recorder, event.record);
    case 'call_refused':
      return add(
        'refusals_total',
        1,
        event.protocol ?? noValue,
        event.code,
        event.reason ?? noValue,
      );
    case 'attempt_ended': {
      const channel = bounds.channel(event.channelId);
      add('attempts_total', 1, channel, event.reason ?? noValue);
      return recorder.observe('attempt_duration_seconds', event.durationMs, channel);
    }
    case 'no_channel':
      return add('no_channel_total', 1, bounds.model(event.modelId), event.reason);
    case 'model_fallback': {
      const fallback = bounds.model(event.fallbackId);
      return add('model_fallbacks_total', 1, bounds.model(event.modelId), fallback);
    }
    default:
      return recordTrouble(recorder, event);
  }
}

function recordTrouble({ add, set, bounds }: Recorder, event: GatewayEvent): void {
  switch (event.type) {
    case 'settlement_lost':
      return add('settlements_lost_total', 1);
    case 'hold_lapsed':
      return add('holds_lapsed_total', 1, event.reason);
    case 'usage_anomaly':
      return add('usage_anomalies_total', 1, event.reason);
    case 'quota_low':
      return add('quota_warnings_total', 1, String(event.percent));
    case 'port_failed': {
      const operation = bounds.portOperation(event.operation);
      const reason = bounds.portReason(event.code ?? portReason(event.reason));
      return add('port_failures_total', 1, event.port, operation, reason);
    }
    case 'internal_error':
      return add('internal_errors_total', 1);
    case 'catalog_loaded':
    case 'catalog_refused':
      return set('catalog_stale', event.type === 'catalog_refused' ? 1 : 0);
    case 'config_loaded':
    case 'config_refused':
      return set('config_stale', event.type === 'config_refused' ? 1 : 0);
    default:
  }
}

/** A self-test that failed has sentences as its reason, which are no values of a label. */
function portReason(reason: string): string {
  return reason === 'circuit_open' || isErrorClass(reason) ? reason : 'not_set_up';
}

function recordCall({ add, addNanos, observe, bounds }: Recorder, record: UsageRecord): void {
  const model = bounds.model(record.modelId);
  const streamed = String(record.streamed);
  add('calls_total', 1, record.protocol, model, record.outcome, record.reason ?? noValue);
  if (isInDoubt(record)) add('calls_in_doubt_total', 1);
  observe('call_duration_seconds', record.durationMs, model, streamed);
  if (record.firstByteMs !== undefined) {
    observe('first_byte_seconds', record.firstByteMs, model, streamed);
  }
  addNanos('charge_currency_units_total', record.chargeNanos, model);
  if (record.costNanos !== undefined) {
    addNanos('cost_currency_units_total', record.costNanos, model);
  }
  if (record.usage !== undefined) recordUsage(add, model, record.usage);
}

function recordUsage(add: Recorder['add'], model: string, usage: Usage): void {
  add('tokens_total', usage.inputTokens, model, 'input');
  add('tokens_total', usage.outputTokens, model, 'output');
  if (usage.images > 0) add('images_total', usage.images, model);
  const parts: Readonly<Record<string, number | undefined>> = {
    cached_input: usage.cachedInputTokens,
    cache_write_5m: usage.cacheWrite5mTokens,
    cache_write_1h: usage.cacheWrite1hTokens,
    reasoning: usage.reasoningTokens,
    audio_input: usage.audioInputTokens,
    image_input: usage.imageInputTokens,
    video_input: usage.videoInputTokens,
    audio_output: usage.audioOutputTokens,
    image_output: usage.imageOutputTokens,
  };
  for (const [kind, tokens] of Object.entries(parts)) {
    if (tokens !== undefined && tokens > 0) add('token_parts_total', tokens, model, kind);
  }
}

/** The labels of one series, in the order of the metric's definition. */
type LabelValues = readonly string[];

export type BoundValue = (name: string | undefined) => string;

/** The label value for all names after the maximum number of different ones. */
const otherValue = 'other';
/** The value of a label that does not apply: an empty value would remove the label. */
const noValue = 'none';

const maxNameLength = 128;

/**
 * Keeps the first `max` names; each later one becomes `other`. Names are cut at 128 characters and
 * have no control characters or lone surrogates: different ones may be printed as the same bytes,
 * and a scrape that has a series twice is invalid as a whole.
 */
function boundedValues(max: number): BoundValue {
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

/** Created when they are first used; beyond `maxSeries` all labels are `other`. */
class Series<Value> {
  readonly #create: () => Value;
  readonly #entries = new Map<string, SeriesEntry<Value>>();

  constructor(create: () => Value) {
    this.#create = create;
  }

  /** The value of these labels, which is created if there is none. */
  at(...values: LabelValues): Value {
    const key = values.join(separator);
    const found = this.#entries.get(key);
    if (found !== undefined) return found.value;
    if (this.#entries.size >= maxSeries && values.some((value) => value !== otherValue)) {
      return this.at(...values.map(() => otherValue));
    }
    const value = this.#create();
    this.#entries.set(key, { values, value });
    return value;
  }

  entries(): Iterable<SeriesEntry<Value>> {
    return this.#entries.values();
  }
}

function emptyCounter(): Tally {
  return { count: 0, nanos: 0n, sumSeconds: 0, buckets: [] };
}

/** Adds a time in milliseconds. A negative one, from a wrong clock, counts as 0. */
function observe(tally: Tally, milliseconds: number): void {
  const seconds = milliseconds > 0 ? milliseconds / 1_000 : 0;
  const bucket = callBounds.findIndex((bound) => seconds <= bound);
  if (bucket >= 0) tally.buckets[bucket] = (tally.buckets[bucket] ?? 0) + 1;
  tally.count += 1;
  tally.sumSeconds += seconds;
}
