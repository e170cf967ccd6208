/** The entry point `tollgate/prometheus`: metrics on the host's Registry of prom-client. */
export {
  type PrometheusMetrics,
  type PrometheusOptions,
  prometheusMetrics,
} from './prometheus-metrics.ts';
export type { PrometheusRegistry, RegistryMetric } from './registry.ts';
