/**
 * All metrics, in one table: what they count, their labels, and their buckets. Names follow the
 * conventions of Prometheus: base units, and `_total` for counters.
 */
import type { EventOf } from '../events/events.ts';

/** One metric. Its name has no prefix here. */
export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** How the values of several processes become one, in `AggregatorRegistry`. Default: `sum`. */
  readonly aggregator?: 'sum' | 'max' | 'min';
}

/**
 * The upper bounds of the histogram buckets of calls, in seconds: from a cached embedding to a long
 * reasoning reply.
 */
export const callBounds: readonly number[] = [
  0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600,
];

export const eventMetrics = {
  calls_total: {
    type: 'counter',
    help: 'Calls that had reserved quota and have ended.',
    labels: ['protocol', 'model', 'outcome', 'reason'],
  },
  refusals_total: {
    type: 'counter',
    help: 'Requests that were refused before they reserved quota.',
    labels: ['protocol', 'code', 'reason'],
  },
  call_duration_seconds: {
    type: 'histogram',
    help: 'Time from the start of a call to its end.',
    labels: ['model', 'streamed'],
  },
  first_byte_seconds: {
    type: 'histogram',
    help: 'Time from the start of a call to the first byte that its caller was sent.',
    labels: ['model', 'streamed'],
  },
  tokens_total: {
    type: 'counter',
    help: 'Tokens of ended calls: all of the prompt (input), all of the reply (output).',
    labels: ['model', 'kind'],
  },
  token_parts_total: {
    type: 'counter',
    help: 'Parts of the tokens in tokens_total, by their kind. The parts overlap: do not add them.',
    labels: ['model', 'kind'],
  },
  images_total: { type: 'counter', help: 'Generated images of ended calls.', labels: ['model'] },
  charge_currency_units_total: {
    type: 'counter',
    help: "Charges of ended calls, in units of the host's currency.",
    labels: ['model'],
  },
  cost_currency_units_total: {
    type: 'counter',
    help: "What ended calls cost the operator, in units of the host's currency.",
    labels: ['model'],
  },
  attempts_total: {
    type: 'counter',
    help: 'Attempts on a channel that have ended; the reason is none for one that gave the reply.',
    labels: ['channel', 'reason'],
  },
  attempt_duration_seconds: {
    type: 'histogram',
    help: 'Time from the start of an attempt on a channel to its end.',
    labels: ['channel'],
  },
  no_channel_total: {
    type: 'counter',
    help: 'Calls of a model that found no channel.',
    labels: ['model', 'reason'],
  },
  model_fallbacks_total: {
    type: 'counter',
    help: 'Calls that went to a fallback, because all accounts of their model were out.',
    labels: ['model', 'fallback'],
  },
  calls_in_doubt_total: {
    type: 'counter',
    help: 'Calls that ended with an unknown outcome, whose hold stays until it is resolved.',
    labels: [],
  },
  settlements_lost_total: {
    type: 'counter',
    help: 'Charges and releases that the quota store never accepted. Correct them by hand.',
    labels: [],
  },
  holds_lapsed_total: {
    type: 'counter',
    help: 'Holds of running calls that the quota store no longer had.',
    labels: ['reason'],
  },
  usage_anomalies_total: {
    type: 'counter',
    help: 'Replies whose usage was missing, inconsistent, impossible or more than was held.',
    labels: ['reason'],
  },
  quota_warnings_total: {
    type: 'counter',
    help: 'Subjects that reached this percentage of their limit in their period.',
    labels: ['percent'],
  },
  port_failures_total: {
    type: 'counter',
    help: "Calls to the host's ports that failed, by the code of what was thrown, else its class.",
    labels: ['port', 'operation', 'reason'],
  },
  internal_errors_total: { type: 'counter', help: 'Bugs in the gateway or in a port.', labels: [] },
  events_total: {
    type: 'counter',
    help: 'Events by their type, without those that a call or an attempt begins with.',
    labels: ['type'],
  },
  catalog_stale: {
    type: 'gauge',
    help: '1 while the newest catalog is invalid, so that an older one is served.',
    labels: [],
    aggregator: 'max',
  },
  config_stale: {
    type: 'gauge',
    help: '1 while the configuration file of serve is invalid, so that an older one applies.',
    labels: [],
    aggregator: 'max',
  },
} as const;

/** Metrics that are read from `gateway.channels()` when Prometheus scrapes. */
export const channelMetrics = {
  channel_state: {
    type: 'gauge',
    help: 'Health of a channel: 1 for the worst state of its account and models, 0 for the others.',
    labels: ['channel', 'state'],
  },
  channel_running_calls: {
    type: 'gauge',
    help: 'Calls that are running on a channel.',
    labels: ['channel'],
  },
  channel_models_out: {
    type: 'gauge',
    help: 'Models of a channel that are not ready, although its account may be.',
    labels: ['channel'],
  },
  channel_accounts_out: {
    type: 'gauge',
    help: 'Accounts named by the credential of a channel that are not ready.',
    labels: ['channel'],
  },
} as const;

export const statusMetrics = {
  start_time_seconds: {
    type: 'gauge',
    help: 'When the gateway was created, in Unix seconds.',
    labels: [],
    aggregator: 'min',
  },
  closing: { type: 'gauge', help: '1 once the gateway is closing and refuses calls.', labels: [] },
  running_calls: { type: 'gauge', help: 'Calls that are running.', labels: [] },
  buffered_bytes: { type: 'gauge', help: 'Bytes of bodies in memory.', labels: [] },
  open_holds: { type: 'gauge', help: 'Holds of running calls of this process.', labels: [] },
  outbox_waiting: {
    type: 'gauge',
    help: 'Charges and releases that wait for the quota store.',
    labels: [],
  },
  outbox_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest waiting charge or release; 0 without one. It is lost after 900.',
    labels: [],
    aggregator: 'max',
  },
  port_call_duration_seconds: {
    type: 'histogram',
    help: "Time until a port of the host answered; answers that were not awaited don't count.",
    labels: ['port', 'operation'],
  },
} as const;

export type EventMetric = keyof typeof eventMetrics;
export type ChannelMetric = keyof typeof channelMetrics;

export type StatusMetric = keyof typeof statusMetrics;

export const metricDefinitions: Readonly<
  Record<EventMetric | ChannelMetric | StatusMetric, MetricDefinition>
> = { ...eventMetrics, ...channelMetrics, ...statusMetrics };

/**
 * Series that start at 0. To Prometheus, a series that begins with 1 has not increased, so an event
 * that happens once would be on no panel and fire no alert.
 */
export const anomalyReasons: Readonly<Record<EventOf<'usage_anomaly'>['reason'], true>> = {
  missing: true,
  above_maximum: true,
  above_hold: true,
  inconsistent: true,
};

/** Reasons of lapsed holds, which start at 0 too. */
export const lapseReasons: Readonly<Record<EventOf<'hold_lapsed'>['reason'], true>> = {
  settled: true,
  released: true,
  expired: true,
  unknown: true,
};

/** Percentages of a limit, which start at 0 too. */
export const quotaPercents: Readonly<Record<EventOf<'quota_low'>['percent'], true>> = {
  80: true,
  95: true,
  100: true,
};
