/** Watches a gateway, and reports its calls to OpenTelemetry as spans and metrics. */
import {
  type Attributes,
  type Counter,
  type Meter,
  type MeterProvider,
  metrics,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
  ValueType,
} from '@opentelemetry/api';
import type { EventOf, GatewayEvent } from '../events/events.ts';
import { checkSource } from '../events/filter.ts';
import type { Gateway } from '../gateway.ts';
import type { Usage } from '../money.ts';
import { packageVersion } from '../package-version.ts';
import type { DialectName } from '../ports/models/capabilities.ts';
import type { UsageRecord } from '../ports/usage-sink.ts';
import {
  cacheWritesOf,
  errorTypeOf,
  type OpenCall,
  OpenCalls,
  reportedUsage,
  startCallSpans,
  timeAt,
} from './call-spans.ts';
import {
  fetchResponse,
  genAi,
  metricNames,
  operationNameOf,
  otherValue,
  own,
  providers,
  scopeName,
  secondBuckets,
} from './names.ts';

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /** Default: the registered one. */
  readonly tracerProvider?: TracerProvider;
  /** Default: the registered one. */
  readonly meterProvider?: MeterProvider;
  /** Names of metadata to put on spans, as `tollgate.metadata.<name>`. Default: none. */
  readonly metadata?: readonly string[];
  /**
   * `gen_ai.provider.name` of channels by their id: `{ 'azure-1': 'azure.ai.openai' }`. Default: by
   * the channel's dialect, `openai`, `gcp.gen_ai` or `anthropic`.
   */
  readonly providers?: Readonly<Record<string, string>>;
}

/** A running watch. */
export interface OpenTelemetryWatch {
  /** Stops watching. The spans of calls that still run are not exported. */
  stop(): void;
}

/**
 * Makes a span for each call, as a child of the active span, and records metrics, until it is
 * stopped. Without a registered SDK it does nothing. Register the SDK first: a meter that was
 * obtained before that records nothing.
 *
 * @throws ConfigurationError if it is not given a gateway
 */
export function openTelemetry(
  gateway: Pick<Gateway, 'subscribe'>,
  options: OpenTelemetryOptions = {},
): OpenTelemetryWatch {
  checkSource('openTelemetry', gateway);
  const { tracerProvider = trace, meterProvider = metrics } = options;
  const calls = new OpenCalls();
  const watch: Watch = {
    tracer: tracerProvider.getTracer(scopeName, packageVersion),
    metrics: callMetrics(meterProvider.getMeter(scopeName, packageVersion), fetchResponse),
    calls,
    metadata: options.metadata ?? [],
    providerOf: (channelId, dialect) =>
      options.providers?.[channelId] ?? (dialect === undefined ? undefined : providers[dialect]),
  };
  const unsubscribe = gateway.subscribe((event) => observe(event, watch), { types });
  return {
    stop: () => {
      unsubscribe();
      calls.clear();
    },
  };
}

interface Watch {
  readonly tracer: Tracer;
  readonly metrics: CallMetrics;
  readonly calls: OpenCalls;
  readonly metadata: readonly string[];
  providerOf(channelId: string, dialect: DialectName | undefined): string | undefined;
}

const types = [
  ...(['call_started', 'attempt_started', 'first_byte', 'part_failed', 'attempt_ended'] as const),
  ...(['call_ended', 'call_refused', 'call_repeated', 'stored_reply_read'] as const),
] as const;

function observe(event: GatewayEvent, watch: Watch): void {
  switch (event.type) {
    case 'call_started':
      return started(event, watch);
    case 'attempt_started':
      return attemptStarted(event, watch);
    case 'first_byte':
      return firstByte(event, watch);
    case 'part_failed':
      return watch.calls.of(event.reservationId)?.spans?.partFailed(event);
    case 'attempt_ended':
      return watch.calls.of(event.reservationId)?.spans?.attemptEnded(event);
    case 'call_ended':
      return ended(event, watch);
    case 'call_refused':
      return refused(event, watch);
    case 'call_repeated':
      return repeated(event);
    case 'stored_reply_read':
      return storedReplyRead(event, watch);
    default:
  }
}

function started(event: EventOf<'call_started'>, { tracer, calls, metadata }: Watch): void {
  const operation = operationNameOf(event.operation, event.protocol);
  calls.add(event.reservationId, {
    operation,
    modelId: event.modelId,
    provider: undefined,
    firstByteMs: undefined,
    spans: startCallSpans(tracer, event, operation, metadata),
  });
}

function attemptStarted(event: EventOf<'attempt_started'>, { calls, providerOf }: Watch): void {
  const call = calls.of(event.reservationId);
  if (call === undefined) return;
  call.provider = providerOf(event.channelId, event.dialect);
  call.spans?.attemptStarted(event, call.provider);
}

function firstByte(event: EventOf<'first_byte'>, { calls }: Watch): void {
  const call = calls.of(event.reservationId);
  if (call === undefined) return;
  call.firstByteMs = event.afterMs;
  call.spans?.firstByte(event);
}

function ended({ record }: EventOf<'call_ended'>, watch: Watch): void {
  const call = watch.calls.take(record.reservationId);
  if (call === undefined) return;
  call.spans?.end(record, call.firstByteMs);
  watch.metrics.ended(record, call);
}

/** A refusal has no span of its own: nothing was sent. It marks the span of the host's request. */
function refused(event: EventOf<'call_refused'>, watch: Watch): void {
  watch.metrics.refused(event);
  const span = trace.getActiveSpan();
  if (span?.isRecording() !== true) return;
  const { code, reason, requestId, keyId, group, protocol, modelId, status } = event;
  const refusal = defined({ [own.refusalCode]: code, [own.refusalReason]: reason });
  span.setAttributes(refusal);
  span.addEvent(own.refusedEvent, {
    ...refusal,
    ...defined({
      [own.requestId]: requestId,
      [own.keyId]: keyId,
      [own.group]: group,
      [own.protocol]: protocol,
      [own.modelId]: modelId,
      [own.status]: status,
    }),
  });
}

function repeated({ requestId, keyId, originalRequestId }: EventOf<'call_repeated'>): void {
  trace.getActiveSpan()?.addEvent(
    own.repeatedEvent,
    defined({
      [own.requestId]: requestId,
      [own.keyId]: keyId,
      [own.originalRequestId]: originalRequestId,
    }),
  );
}

function storedReplyRead(event: EventOf<'stored_reply_read'>, watch: Watch): void {
  const { startedAtMs, durationMs, channelId, dialect } = event;
  const errorType = event.reason ?? event.code;
  const provider = watch.providerOf(channelId, dialect);
  const span = watch.tracer.startSpan(fetchResponse, {
    kind: SpanKind.CLIENT,
    startTime: timeAt(startedAtMs),
    attributes: defined({
      [genAi.operation]: fetchResponse,
      [genAi.provider]: provider,
      [genAi.responseId]: event.responseId,
      [genAi.errorType]: errorType,
      [own.requestId]: event.requestId,
      [own.keyId]: event.keyId,
      [own.group]: event.group,
      [own.protocol]: event.protocol,
      [own.modelId]: event.modelId,
      [own.channelId]: channelId,
    }),
  });
  if (errorType !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(timeAt(startedAtMs + durationMs));
  watch.metrics.fetched(durationMs, provider, errorType);
}

function defined(values: Readonly<Record<string, string | number | undefined>>): Attributes {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

interface CallMetrics {
  ended(record: UsageRecord, call: OpenCall): void;
  refused(event: EventOf<'call_refused'>): void;
  /** A stored reply was requested; `errorType` is undefined if it was read. */
  fetched(durationMs: number, provider: string | undefined, errorType: string | undefined): void;
}

/** The maximum number of models, and of providers: a host may compute its catalog. */
const maxValues = 200;

function callMetrics(meter: Meter, fetchOperation: string): CallMetrics {
  const instruments = instrumentsOf(meter);
  const { duration, timeToFirstChunk, charge, refusals } = instruments;
  const known = knownSeries();
  const withError = (attributes: Attributes, errorType: string | undefined): Attributes =>
    errorType === undefined ? attributes : { ...attributes, [genAi.errorType]: errorType };

  return {
    ended: (record, call) => {
      const series = known(call.operation, call.provider, call.modelId);
      const { attributes } = series;
      duration.record(record.durationMs / 1_000, withError(attributes, errorTypeOf(record)));
      const { firstByteMs } = call;
      if (record.streamed && firstByteMs !== undefined) {
        timeToFirstChunk.record(firstByteMs / 1_000, attributes);
      }
      if (call.operation !== 'count_tokens') addUsage(instruments, reportedUsage(record), series);
      if (record.chargeNanos > 0n) charge.add(Number(record.chargeNanos), attributes);
    },
    refused: ({ code, reason, protocol }) => {
      const attributes: Attributes = { [own.refusalCode]: code };
      if (reason !== undefined) attributes[own.refusalReason] = reason;
      if (protocol !== undefined) attributes[own.protocol] = protocol;
      refusals.add(1, attributes);
    },
    fetched: (durationMs, provider, errorType) => {
      const { attributes } = known(fetchOperation, provider);
      duration.record(durationMs / 1_000, withError(attributes, errorType));
    },
  };
}

const statedModalities = ['audio', 'image', 'video'] as const;
type Modality = (typeof statedModalities)[number] | 'unknown';

/** The attributes of an operation on a model. */
interface Series {
  readonly attributes: Attributes;
  readonly byModality: Readonly<Record<Modality, Attributes>>;
}

/** Finds the series, or makes it: once, because each call is recorded seven times. */
function knownSeries(): (operation: string, provider?: string, modelId?: string) => Series {
  const model = boundedValues(maxValues);
  const providerName = boundedValues(maxValues);
  const known = new Map<string, Series>();
  return (operation, provider, modelId) => {
    const boundedProvider = provider === undefined ? '' : providerName(provider);
    const boundedModel = modelId === undefined ? '' : model(modelId);
    const id = `${operation}\n${boundedProvider}\n${boundedModel}`;
    const found = known.get(id);
    if (found !== undefined) return found;
    const series = seriesOf(operation, boundedProvider, boundedModel);
    known.set(id, series);
    return series;
  };
}

function seriesOf(operation: string, provider: string, modelId: string): Series {
  const attributes: Attributes = { [genAi.operation]: operation };
  if (modelId !== '') attributes[genAi.requestModel] = modelId;
  if (provider !== '') attributes[genAi.provider] = provider;
  const of = (modality: Modality) => ({ ...attributes, [genAi.tokenModality]: modality });
  return {
    attributes,
    byModality: {
      audio: of('audio'),
      image: of('image'),
      video: of('video'),
      unknown: of('unknown'),
    },
  };
}

type Instruments = ReturnType<typeof instrumentsOf>;

function instrumentsOf(meter: Meter) {
  const histogram = (name: string, description: string) =>
    meter.createHistogram(name, {
      description,
      unit: 's',
      advice: { explicitBucketBoundaries: [...secondBuckets] },
    });
  const counter = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { description, unit, valueType: ValueType.INT });
  const tokens = (name: string, description: string): Counter =>
    counter(name, '{token}', description);
  return {
    duration: histogram(metricNames.duration, 'GenAI operation duration.'),
    timeToFirstChunk: histogram(metricNames.timeToFirstChunk, 'Time to the first chunk.'),
    input: tokens(metricNames.inputTokens, 'Input tokens, including cached ones.'),
    output: tokens(metricNames.outputTokens, 'Output tokens, including reasoning.'),
    cacheRead: tokens(metricNames.cacheReadTokens, 'Input tokens read from a cache.'),
    cacheWrite: tokens(metricNames.cacheWriteTokens, 'Input tokens written to a cache.'),
    reasoning: tokens(metricNames.reasoningTokens, 'Output tokens used for reasoning.'),
    charge: counter(metricNames.charge, '{nano}', 'Charges, in 1e-9 of the currency unit.'),
    refusals: counter(metricNames.refusals, '{request}', 'Requests that were refused.'),
  };
}

/** A call without usage counts 0, so that its series exists. */
function addUsage(to: Instruments, usage: Usage | undefined, { byModality }: Series): void {
  addByModality(to.input, usage?.inputTokens, byModality, {
    audio: usage?.audioInputTokens,
    image: usage?.imageInputTokens,
    video: usage?.videoInputTokens,
  });
  addByModality(to.output, usage?.outputTokens, byModality, {
    audio: usage?.audioOutputTokens,
    image: usage?.imageOutputTokens,
  });
  to.cacheRead.add(usage?.cachedInputTokens ?? 0, byModality.unknown);
  to.cacheWrite.add((usage && cacheWritesOf(usage)) ?? 0, byModality.unknown);
  to.reasoning.add(usage?.reasoningTokens ?? 0, byModality.unknown);
}

/** Adds the tokens whose modality is stated, and the rest as `unknown`. */
function addByModality(
  counter: Counter,
  total: number | undefined,
  byModality: Series['byModality'],
  parts: Partial<Readonly<Record<Modality, number | undefined>>>,
): void {
  let rest = total ?? 0;
  for (const modality of statedModalities) {
    const count = Math.min(parts[modality] ?? 0, rest);
    if (count <= 0) continue;
    rest -= count;
    counter.add(count, byModality[modality]);
  }
  if (rest > 0 || (total ?? 0) === 0) counter.add(rest, byModality.unknown);
}

/** The value itself, or `_OTHER` if `max` others were seen before it. */
export function boundedValues(max: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= max) return otherValue;
    known.add(value);
    return value;
  };
}
