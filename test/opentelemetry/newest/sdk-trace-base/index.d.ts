/** What the tests use of the SDK for traces, in the form that it had before version 3. */
import { SimpleSpanProcessor as Processor, type SpanExporter } from '@opentelemetry/sdk-trace';

export {
  InMemorySpanExporter,
  type ReadableSpan,
  TracerProvider as BasicTracerProvider,
} from '@opentelemetry/sdk-trace';

/** It takes its exporter alone, and not as an option. */
export declare class SimpleSpanProcessor extends Processor {
  constructor(exporter: SpanExporter);
}
