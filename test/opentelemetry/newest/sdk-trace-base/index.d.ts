/** What the tests use of the SDK for traces, in the form that it had before version 3. */
import type * as sdk from '@opentelemetry/sdk-trace';

export type ReadableSpan = sdk.ReadableSpan;
export declare const InMemorySpanExporter: typeof sdk.InMemorySpanExporter;
export declare const BasicTracerProvider: typeof sdk.TracerProvider;
/** It takes its exporter alone, and not as an option. */
export declare const SimpleSpanProcessor: new (exporter: sdk.SpanExporter) => sdk.SpanProcessor;
