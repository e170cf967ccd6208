/**
 * Metrics on the host's Registry of prom-client, by its methods alone: prom-client is not imported,
 * so it does not matter which copy of it made the Registry. Gateways of one Registry share metrics.
 */
import { ConfigurationError } from '../errors.ts';
import type { MetricDefinition } from './definitions.ts';

/** The part of prom-client's `Registry` that is used. */
export interface PrometheusRegistry {
  registerMetric(metric: RegistryMetric): void;
  getSingleMetric(name: string): object | undefined;
  removeSingleMetric(name: string): void;
}

/** The part of a metric that the types of prom-client name. */
export interface RegistryMetric {
  get(): Promise<object>;
  reset(): void;
}

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** The name with the suffix of a histogram's line, such as `_bucket`. */
  readonly metricName?: string;
}

/** The lines of one gateway in one metric; `name` is the metric's full name. */
export type ReadSamples = (name: string) => readonly Sample[];

export interface SourcedMetric {
  readonly name: string;
  readonly definition: MetricDefinition;
  readonly read: ReadSamples;
}

/** The same symbol in the ESM and the CommonJS build, because a host may load both. */
const sourcesSymbol = Symbol.for('tollgate.prometheus.sources');

interface SharedMetric extends RegistryMetric {
  /**
   * prom-client removes `_total` from it for OpenMetrics, which has the suffix on each line only.
   */
  name: string;
  readonly help: string;
  readonly type: MetricDefinition['type'];
  readonly aggregator: 'sum' | 'max' | 'min';
  readonly [sourcesSymbol]: Map<string, ReadSamples>;
}

/**
 * Adds the metrics of one gateway, and returns the function that removes them.
 *
 * @throws ConfigurationError if the Registry has a metric of another library with such a name, or
 *   a gateway with the same labels; then nothing was added
 */
export function addMetrics(
  register: PrometheusRegistry,
  metrics: readonly SourcedMetric[],
  labels: Labels,
): () => void {
  const gateway = JSON.stringify(Object.entries(labels).toSorted());
  for (const { name } of metrics) checkName(register, name, gateway);
  for (const metric of metrics) {
    sharedMetric(register, metric)[sourcesSymbol].set(gateway, withLabels(metric.read, labels));
  }
  return () => {
    for (const { name } of metrics) {
      const shared = register.getSingleMetric(name);
      if (shared === undefined || !isShared(shared)) continue;
      shared[sourcesSymbol].delete(gateway);
      if (shared[sourcesSymbol].size === 0) register.removeSingleMetric(name);
    }
  };
}

function checkName(register: PrometheusRegistry, name: string, gateway: string): void {
  const present = register.getSingleMetric(name);
  if (present === undefined) return;
  if (!isShared(present)) {
    throw new ConfigurationError(
      `prometheusMetrics: options.register already has a metric ${name}. Choose another ` +
        'options.prefix.',
    );
  }
  if (present[sourcesSymbol].has(gateway)) {
    throw new ConfigurationError(
      'prometheusMetrics: options.register already has a gateway with the same options.labels. ' +
        "Give each gateway its own, such as { gateway: 'eu' }, or stop the earlier metrics first.",
    );
  }
}

function sharedMetric(
  register: PrometheusRegistry,
  { name, definition: { help, type, aggregator = 'sum' } }: SourcedMetric,
): SharedMetric {
  const present = register.getSingleMetric(name);
  if (present !== undefined && isShared(present)) return present;
  const sources = new Map<string, ReadSamples>();
  const metric: SharedMetric = {
    name,
    help,
    type,
    aggregator,
    get: async () => ({
      ...{ name: metric.name, help, type, aggregator },
      values: [...sources.values()].flatMap((read) => read(name)),
    }),
    // Does nothing: the counters of a gateway never go down.
    reset: () => {},
    [sourcesSymbol]: sources,
  };
  register.registerMetric(metric);
  return metric;
}

function isShared(metric: object): metric is SharedMetric {
  return sourcesSymbol in metric;
}

function withLabels(read: ReadSamples, labels: Labels): ReadSamples {
  return (name) =>
    read(name).map((sample) => ({ ...sample, labels: { ...labels, ...sample.labels } }));
}
