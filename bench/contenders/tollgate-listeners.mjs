/** Metrics and traces as a host has them; what OpenTelemetry exports is discarded. */

const ways = {
  log: () => {},
  prometheus: async (gateway) => {
    const { Registry } = await import('prom-client');
    const { prometheusMetrics } = await import('../../dist/prometheus.js');
    prometheusMetrics(gateway, { register: new Registry() });
  },
  opentelemetry: async (gateway) => {
    const { metrics, trace } = await import('@opentelemetry/api');
    const sdkMetrics = await import('@opentelemetry/sdk-metrics');
    const sdkTrace = await import('@opentelemetry/sdk-trace-base');
    const { openTelemetry } = await import('../../dist/opentelemetry.js');
    const spanProcessors = [new sdkTrace.BatchSpanProcessor(discarding)];
    const readers = [new sdkMetrics.PeriodicExportingMetricReader({ exporter: discarding })];
    trace.setGlobalTracerProvider(new sdkTrace.BasicTracerProvider({ spanProcessors }));
    metrics.setGlobalMeterProvider(new sdkMetrics.MeterProvider({ readers }));
    openTelemetry(gateway);
  },
};

const discarding = {
  export: (_records, done) => done({ code: 0 }),
  forceFlush: async () => {},
  shutdown: async () => {},
};

export async function listenTo(gateway, listeners) {
  for (const listener of listeners) await ways[listener](gateway);
}
