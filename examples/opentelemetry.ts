/**
 * Traces and metrics of a gateway by OpenTelemetry, printed to the console. Register the SDK before
 * the app is imported, as `node --import ./instrumentation.js app.js` does, with your exporter.
 */
import { metrics, trace } from '@opentelemetry/api';
import {
  ConsoleMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ConsoleSpanExporter,
} from '@opentelemetry/sdk-trace-base';
import type { Gateway } from 'tollgate';
import { openTelemetry } from 'tollgate/opentelemetry';

/** Registers an SDK, and watches the gateway; the returned function stops both. */
export function traceGateway(gateway: Gateway): () => Promise<void> {
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new BatchSpanProcessor(new ConsoleSpanExporter())],
  });
  const meterProvider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter: new ConsoleMetricExporter() })],
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
