/** Collects what a watched gateway reports to the SDK: finished spans, and the sums of metrics. */

import type { MeterProvider as Meters, TracerProvider } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

/** A data point of a metric, with a sum for a counter and seconds for a histogram. */
export interface Point {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: unknown;
}

/** The providers of one SDK, and what was exported. */
export interface Exported {
  readonly tracerProvider: TracerProvider;
  readonly meterProvider: Meters;
  /** In the order of their ends. */
  spans(): readonly ReadableSpan[];
  /** The points of the metrics by name; those without points are missing. */
  points(): Promise<Readonly<Record<string, readonly Point[]>>>;
}

/** An SDK that keeps everything in memory, and registers nothing globally. */
export function inMemorySdk(): Exported {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter: metrics,
    exportIntervalMillis: 2 ** 31 - 1,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  return {
    tracerProvider,
    meterProvider,
    spans: () => exporter.getFinishedSpans(),
    points: async () => {
      metrics.reset();
      const { resourceMetrics } = await reader.collect();
      const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
      return Object.fromEntries(
        all
          .filter(({ dataPoints }) => dataPoints.length > 0)
          .map(({ descriptor, dataPoints }) => [
            descriptor.name,
            dataPoints.map(({ attributes, value }) => ({ attributes, value })),
          ]),
      );
    },
  };
}

/** A span as plain data. */
export interface PlainSpan {
  readonly name: string;
  readonly kind: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly status: number;
  readonly attributes: ReadableSpan['attributes'];
  readonly events: readonly (readonly [name: string, atMs: number])[];
  readonly parent: string | undefined;
}

/** A span with its times in ms since `startMs`. */
export function plain(span: ReadableSpan, startMs: number): PlainSpan {
  return {
    name: span.name,
    kind: span.kind,
    fromMs: millis(span.startTime) - startMs,
    toMs: millis(span.endTime) - startMs,
    status: span.status.code,
    attributes: span.attributes,
    events: span.events.map(({ name, time }) => [name, millis(time) - startMs]),
    parent: span.parentSpanContext?.spanId,
  };
}

function millis([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1_000 + nanos / 1e6;
}
