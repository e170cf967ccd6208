/** The metrics of a gateway on the host's Registry of prom-client. */
import { ConfigurationError } from '../errors.ts';
import type { EventListener } from '../events/events.ts';
import { checkSource } from '../events/filter.ts';
import type { Gateway } from '../gateway.ts';
import { healthStates, worstState } from '../ports/health-status.ts';
import {
  type ChannelMetric,
  callBounds,
  channelMetrics,
  type EventMetric,
  eventMetrics,
  type MetricDefinition,
  metricDefinitions,
  type StatusMetric,
  statusMetrics,
} from './definitions.ts';
import {
  type BoundValue,
  countEvents,
  countedTypes,
  type EventCounts,
  printable,
  type SeriesEntry,
  type Tally,
} from './record-events.ts';
import {
  addMetrics,
  type Labels,
  type PrometheusRegistry,
  type Sample,
  type SourcedMetric,
} from './registry.ts';

/** Where the metrics go, and what they are called. */
export interface PrometheusOptions {
  /** The host's Registry: `register` of prom-client, or one of its own. */
  readonly register: PrometheusRegistry;
  /** The beginning of all names. Default: `tollgate_`. */
  readonly prefix?: string;
  /**
   * Labels of all lines of this gateway. Gateways that share a Registry need different ones:
   * `{ gateway: 'eu' }`.
   */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * How many models and channels have a label of their own; later ones count as `other`. Default:
   * 200.
   */
  readonly maxLabelValues?: number;
}

/** The metrics of a gateway. */
export interface PrometheusMetrics {
  /**
   * Counts an event. The gateway's own events are counted already; pass it to what emits others,
   * such as `jsonFileCatalog({ onEvent })`.
   */
  readonly onEvent: EventListener;
  /** Stops counting, and removes the metrics from the Registry. */
  stop(): void;
}

/** The maximum of `maxLabelValues`: with more values a scrape would be too large. */
const maxValues = 10_000;

/**
 * Counts what a gateway does, for the host's endpoint of metrics: docs/metrics.md lists them.
 *
 * @throws ConfigurationError if an option is invalid, or if the Registry already has metrics with
 *   these names, or a gateway with the same `labels`
 */
export function prometheusMetrics(
  gateway: Pick<Gateway, 'subscribe' | 'channels' | 'status'>,
  options: PrometheusOptions,
): PrometheusMetrics {
  checkRegister(options);
  checkSource('prometheusMetrics', gateway);
  const { register, prefix = 'tollgate_', labels = {}, maxLabelValues = 200 } = options;
  checkOptions(prefix, labels, maxLabelValues);
  const counts = countEvents(maxLabelValues);
  const metrics = [
    ...countedMetrics(counts),
    ...metricsOfChannels(gateway, counts.channelValue),
    ...metricsOfStatus(gateway),
  ];
  const named = metrics.map((metric) => ({ ...metric, name: prefix + metric.name }));
  const values = Object.entries(labels).map(([name, value]) => [name, printable(value)]);
  const remove = addMetrics(register, named, Object.fromEntries(values));
  const unsubscribe = gateway.subscribe(counts.onEvent, { types: countedTypes });
  return {
    onEvent: counts.onEvent,
    stop: () => {
      unsubscribe();
      remove();
    },
  };
}

/** A host that is written in JavaScript may leave the options out. */
function checkRegister(options: PrometheusOptions | undefined): void {
  if (typeof options?.register?.registerMetric === 'function') return;
  throw new ConfigurationError(
    'prometheusMetrics: options.register must be a Registry of prom-client. Pass its own: ' +
      'prometheusMetrics(gateway, { register }), with `import { register } from "prom-client"`.',
  );
}

function checkOptions(prefix: string, labels: Labels, maxLabelValues: number): void {
  if (!/^[a-zA-Z_:][\w:]*$/.test(prefix)) {
    throw new ConfigurationError(
      'prometheusMetrics: options.prefix must begin with a letter and have only letters, digits ' +
        'and underscores, such as tollgate_.',
    );
  }
  const ours = Object.values(metricDefinitions).flatMap((metric) => metric.labels);
  for (const [name, value] of Object.entries(labels)) {
    const isName = /^[a-zA-Z_]\w*$/.test(name) && !name.startsWith('__') && name !== 'le';
    if (!isName || ours.includes(name) || typeof value !== 'string' || value === '') {
      throw new ConfigurationError(
        `prometheusMetrics: options.labels.${name} must be text that is not empty, and its ` +
          'name must not be a label of the metrics themselves. Use a name such as gateway.',
      );
    }
  }
  if (!Number.isInteger(maxLabelValues) || maxLabelValues < 1 || maxLabelValues > maxValues) {
    throw new ConfigurationError(
      `prometheusMetrics: options.maxLabelValues must be an integer from 1 to ${maxValues}.`,
    );
  }
}

function countedMetrics({ counted }: EventCounts): readonly SourcedMetric[] {
  const names: readonly EventMetric[] = Object.keys(eventMetrics).filter(isEventMetric);
  return names.map((name) => {
    const definition: MetricDefinition = eventMetrics[name];
    const samples = definition.type === 'histogram' ? histogramSamples : counterSamples;
    return {
      name,
      definition,
      read: (fullName) =>
        [...counted[name].entries()].flatMap((entry) => samples(fullName, definition, entry)),
    };
  });
}

function isEventMetric(name: string): name is EventMetric {
  return name in eventMetrics;
}

/** Nanos become a number here, with a relative error below 2^-52. */
function counterSamples(
  _name: string,
  { labels }: MetricDefinition,
  { values, value: { count, nanos } }: SeriesEntry<Tally>,
): readonly Sample[] {
  return [{ labels: labelsOf(labels, values), value: count + Number(nanos) / 1e9 }];
}

function histogramSamples(
  name: string,
  definition: MetricDefinition,
  { values, value: { buckets, count, sumSeconds } }: SeriesEntry<Tally>,
): readonly Sample[] {
  let upTo = 0;
  const bounds = callBounds.map((seconds, index) => {
    upTo += buckets[index] ?? 0;
    return { seconds, upTo };
  });
  return histogramLines(name, labelsOf(definition.labels, values), bounds, count, sumSeconds);
}

function histogramLines(
  name: string,
  labels: Labels,
  bounds: readonly { readonly seconds: number; readonly upTo: number }[],
  count: number,
  sumSeconds: number,
): readonly Sample[] {
  const bucket = (le: string, value: number): Sample => ({
    labels: { ...labels, le },
    value,
    metricName: `${name}_bucket`,
  });
  return [
    ...bounds.map(({ seconds, upTo }) => bucket(String(seconds), upTo)),
    bucket('+Inf', count),
    { labels, value: sumSeconds, metricName: `${name}_sum` },
    { labels, value: count, metricName: `${name}_count` },
  ];
}

function labelsOf(names: readonly string[], values: readonly string[]): Labels {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
}

type ChannelStatuses = ReturnType<Gateway['channels']>;

function metricsOfChannels(
  gateway: Pick<Gateway, 'channels'>,
  channelValue: BoundValue,
): readonly SourcedMetric[] {
  const metric = (
    name: ChannelMetric,
    sum: (channel: ChannelStatuses[number]) => number,
  ): SourcedMetric => ({
    name,
    definition: channelMetrics[name],
    // Channels beyond the maximum number share a series.
    read: () => {
      const sums = new Map<string, number>();
      for (const channel of gateway.channels()) {
        const value = channelValue(channel.channelId);
        sums.set(value, (sums.get(value) ?? 0) + sum(channel));
      }
      return [...sums].map(([channel, value]) => ({ labels: { channel }, value }));
    },
  });
  return [
    stateMetric(gateway, channelValue),
    metric('channel_running_calls', ({ inFlight }) => inFlight),
    metric('channel_models_out', ({ models }) => models.length),
    metric('channel_accounts_out', ({ accounts }) => accounts.length),
  ];
}

function stateMetric(gateway: Pick<Gateway, 'channels'>, channelValue: BoundValue): SourcedMetric {
  const read = (): readonly Sample[] => {
    const byChannel = new Map<string, Map<string, number>>();
    for (const status of gateway.channels()) {
      const channel = channelValue(status.channelId);
      const counts =
        byChannel.get(channel) ?? new Map<string, number>(healthStates.map((key) => [key, 0]));
      // Most failures take a single model out, and leave the account itself ready.
      const state = worstState([status.state, ...status.models.map((model) => model.state)]);
      counts.set(state, (counts.get(state) ?? 0) + 1);
      byChannel.set(channel, counts);
    }
    return [...byChannel].flatMap(([channel, counts]) =>
      [...counts].map(([state, value]) => ({ labels: { channel, state }, value })),
    );
  };
  return { name: 'channel_state', definition: channelMetrics.channel_state, read };
}

type Status = ReturnType<Gateway['status']>;

function metricsOfStatus(gateway: Pick<Gateway, 'status'>): readonly SourcedMetric[] {
  const gauge = (name: StatusMetric, value: (status: Status) => number): SourcedMetric => ({
    name,
    definition: statusMetrics[name],
    read: () => [{ labels: {}, value: value(gateway.status()) }],
  });
  return [
    gauge('start_time_seconds', ({ startedAtMs }) => startedAtMs / 1_000),
    gauge('closing', ({ isClosing }) => (isClosing ? 1 : 0)),
    gauge('running_calls', ({ runningCalls }) => runningCalls),
    gauge('buffered_bytes', ({ bufferedBytes }) => bufferedBytes),
    gauge('open_holds', ({ openHolds }) => openHolds),
    gauge('outbox_waiting', ({ outbox }) => outbox.waiting),
    gauge('outbox_oldest_seconds', ({ outbox }) => (outbox.oldestMs ?? 0) / 1_000),
    {
      name: 'port_call_duration_seconds',
      definition: statusMetrics.port_call_duration_seconds,
      read: (name) => gateway.status().ports.flatMap((times) => portSamples(name, times)),
    },
  ];
}

function portSamples(
  name: string,
  { port, operation, buckets, calls, sumMs }: Status['ports'][number],
): readonly Sample[] {
  const bounds = buckets.map(({ leMs, count }) => ({ seconds: leMs / 1_000, upTo: count }));
  return histogramLines(name, { port, operation }, bounds, calls, sumMs / 1_000);
}
