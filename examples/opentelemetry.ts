/**
 * Traces and metrics of a gateway by version 2 of OpenTelemetry's SDK, sent to a collector over
 * OTLP: to `http://localhost:4318`, or where `OTEL_EXPORTER_OTLP_ENDPOINT` says. Register the SDK
 * before the app is imported, as `node --import ./instrumentation.js app.js` does.
 */
import { metrics, trace } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Gateway } from 'tollgate';
import { openTelemetry } from 'tollgate/opentelemetry';

/** Registers an SDK, and watches the gateway; the returned function stops both. */
export function traceGateway(gateway: Gateway): () => Promise<void> {
  const resource = resourceFromAttributes({ 'service.name': 'my-app' });
  const tracerProvider = new BasicTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  const meterProvider = new MeterProvider({
    resource,
    readers: [new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() })],
  });
  trace.setGlobalTracerProvider(tracerProvider);
  metrics.setGlobalMeterProvider(meterProvider);

  const watch = openTelemetry(gateway, {
    metadata: ['team'], // of the key or the guard; no other metadata gets onto spans
    providers: { 'azure-1': 'azure.ai.openai' }, // channels that are not what their dialect says
  });

  // After gateway.close(), so that the last calls are exported too.
  return async () => {
    watch.stop();
    await tracerProvider.shutdown();
    await meterProvider.shutdown();
  };
}
