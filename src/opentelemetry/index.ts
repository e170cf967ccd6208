/** The entry point `tollgate/opentelemetry`: spans and metrics of a gateway's calls. */
export {
  type OpenTelemetryOptions,
  type OpenTelemetryWatch,
  openTelemetry,
} from './open-telemetry.ts';
