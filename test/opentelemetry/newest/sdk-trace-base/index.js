/** What the tests use of the SDK for traces, in the form that it had before version 3. */
import { SimpleSpanProcessor as Processor } from '@opentelemetry/sdk-trace';

export {
  InMemorySpanExporter,
  TracerProvider as BasicTracerProvider,
} from '@opentelemetry/sdk-trace';

export class SimpleSpanProcessor extends Processor {
  constructor(exporter) {
    super({ exporter });
  }
}
