/**
 * The running calls and the spans of each: one for the whole call, with a child for each attempt.
 * Their times come from the clock of the call, and no attribute can hold content or a secret.
 */
import {
  type Attributes,
  type Context,
  context,
  type HrTime,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { EventOf } from '../events/events.ts';
import type { Usage } from '../money.ts';
import type { UsageRecord } from '../ports/usage-sink.ts';
import { cacheWriteAttribute, genAi, own, usageAttributes } from './names.ts';

/** Starts the span of a call as a child of the active one; undefined if it is not sampled. */
export function startCallSpans(
  tracer: Tracer,
  event: EventOf<'call_started'>,
  operation: string,
  metadata: readonly string[],
): CallSpans | undefined {
  const { modelId, startedAtMs } = event;
  const options = {
    kind: SpanKind.CLIENT,
    startTime: timeAt(startedAtMs),
    attributes: startAttributes(event, operation, metadata),
  };
  const span = tracer.startSpan(`${operation} ${modelId}`, options);
  return span.isRecording() ? new CallSpans(tracer, span, event) : undefined;
}

interface OpenAttempt {
  readonly number: number;
  readonly span: Span;
  readonly startMs: number;
}

/** The spans of a call. A class, because closures would be created anew for each call. */
class CallSpans {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #parent: Context;
  readonly #modelId: string;
  readonly #startedAtMs: number;
  #attempts: readonly OpenAttempt[] = [];

  constructor(tracer: Tracer, span: Span, { modelId, startedAtMs }: EventOf<'call_started'>) {
    this.#tracer = tracer;
    this.#span = span;
    this.#parent = trace.setSpan(context.active(), span);
    this.#modelId = modelId;
    this.#startedAtMs = startedAtMs;
  }

  attemptStarted(event: EventOf<'attempt_started'>, provider: string | undefined): void {
    if (provider !== undefined) this.#span.setAttribute(genAi.provider, provider);
    const startMs = this.#startedAtMs + event.afterMs;
    const options = { startTime: timeAt(startMs), attributes: attemptAttributes(event) };
    const span = this.#tracer.startSpan(own.attemptSpan, options, this.#parent);
    this.#attempts = [...this.#attempts, { number: event.attempt, span, startMs }];
  }

  firstByte({ attempt, afterMs }: EventOf<'first_byte'>): void {
    const time = timeAt(this.#startedAtMs + afterMs);
    this.#attemptOf(attempt)?.span.addEvent(own.firstByteEvent, undefined, time);
  }

  partFailed({ attempt, afterMs, reason }: EventOf<'part_failed'>): void {
    const time = timeAt(this.#startedAtMs + afterMs);
    const attributes = { [genAi.errorType]: reason };
    this.#attemptOf(attempt)?.span.addEvent(own.partFailedEvent, attributes, time);
  }

  attemptEnded(event: EventOf<'attempt_ended'>): void {
    const open = this.#attemptOf(event.attempt);
    if (open === undefined) return;
    this.#attempts = this.#attempts.filter((attempt) => attempt !== open);
    endAttempt(open.span, event, timeAt(open.startMs + event.durationMs));
  }

  end(record: UsageRecord, firstByteMs: number | undefined): void {
    // An attempt whose end was not reported ends with its call.
    const endTime = timeAt(this.#startedAtMs + record.durationMs);
    for (const open of this.#attempts) open.span.end(endTime);
    this.#span.setAttributes(endAttributes(record, this.#modelId, firstByteMs));
    if (isError(record)) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end(endTime);
  }

  #attemptOf(number: number): OpenAttempt | undefined {
    return this.#attempts.find((attempt) => attempt.number === number);
  }
}

/** A call whose caller disconnected is not an error. */
function isError({ outcome }: UsageRecord): boolean {
  return outcome !== 'complete' && outcome !== 'caller_left';
}

/** The usage that the upstream reported; undefined if the gateway counted or estimated it. */
export function reportedUsage({ usage, basis }: UsageRecord): Usage | undefined {
  return basis === 'counted' || basis === 'estimate' ? undefined : usage;
}

export function errorTypeOf({ outcome, reason }: UsageRecord): string | undefined {
  return outcome === 'complete' ? undefined : (reason ?? outcome);
}

function startAttributes(
  event: EventOf<'call_started'>,
  operation: string,
  names: readonly string[],
): Attributes {
  const attributes: Attributes = {
    [genAi.operation]: operation,
    [genAi.requestModel]: event.modelId,
    [own.requestId]: event.requestId,
    [own.keyId]: event.keyId,
    [own.group]: event.group,
    [own.protocol]: event.protocol,
  };
  if (event.streamed) attributes[genAi.requestStream] = true;
  if (event.operation === 'images') attributes[genAi.outputType] = 'image';
  for (const name of names) {
    const value = event.metadata?.[name];
    if (value !== undefined) attributes[own.metadata + name] = value;
  }
  return attributes;
}

function attemptAttributes(event: EventOf<'attempt_started'>): Attributes {
  const attributes: Attributes = {
    [own.attempt]: event.attempt,
    [own.channelId]: event.channelId,
    [own.upstreamModel]: event.upstreamModel,
  };
  if (event.account !== undefined) attributes[own.account] = event.account;
  return attributes;
}

function endAttempt(span: Span, event: EventOf<'attempt_ended'>, endTime: HrTime): void {
  const { status, reason, mayHaveRun } = event;
  span.setAttribute(own.mayHaveRun, mayHaveRun);
  if (status !== undefined) span.setAttribute(genAi.httpStatus, status);
  if (reason !== undefined) {
    span.setAttribute(genAi.errorType, reason);
    if (reason !== 'caller_left') span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(endTime);
}

/** Amounts are below 2^53, so that a number holds them exactly. */
function endAttributes(
  record: UsageRecord,
  requestedModel: string,
  firstByteMs: number | undefined,
): Attributes {
  const attributes: Attributes = {
    [own.outcome]: record.outcome,
    [own.status]: record.status,
    [own.attempts]: record.attempts.length,
    [own.heldNanos]: Number(record.heldNanos),
    [own.chargeNanos]: Number(record.chargeNanos),
    [own.booked]: record.booked,
  };
  const errorType = errorTypeOf(record);
  if (errorType !== undefined) attributes[genAi.errorType] = errorType;
  if (record.channelId !== undefined) attributes[own.channelId] = record.channelId;
  if (record.upstreamModel !== undefined) attributes[own.upstreamModel] = record.upstreamModel;
  if (record.upstreamModel !== undefined && record.outcome !== 'not_run') {
    attributes[genAi.responseModel] = record.upstreamModel;
  }
  if (record.modelId !== requestedModel) attributes[own.servedModel] = record.modelId;
  if (record.streamed && firstByteMs !== undefined) {
    attributes[genAi.timeToFirstChunk] = firstByteMs / 1_000;
  }
  const usage = reportedUsage(record);
  if (usage === undefined) return attributes;
  for (const [member, name] of usageAttributes) {
    const count = usage[member];
    if (count !== undefined) attributes[name] = count;
  }
  const written = cacheWritesOf(usage);
  if (written !== undefined) attributes[cacheWriteAttribute] = written;
  return attributes;
}

export function cacheWritesOf({
  cacheWrite5mTokens,
  cacheWrite1hTokens,
}: Usage): number | undefined {
  if (cacheWrite5mTokens === undefined) return cacheWrite1hTokens;
  return cacheWrite5mTokens + (cacheWrite1hTokens ?? 0);
}

/**
 * The time as seconds and nanoseconds: the SDK takes a small number of milliseconds for a time
 * since the start of the process.
 */
export function timeAt(unixMs: number): HrTime {
  const seconds = Math.floor(unixMs / 1_000);
  return [seconds, Math.floor((unixMs - seconds * 1_000) * 1e6)];
}

export interface OpenCall {
  readonly operation: string;
  /** The model that the caller requested. */
  readonly modelId: string;
  /** Undefined until the first attempt, and where the channel's dialect is unknown. */
  provider: string | undefined;
  firstByteMs: number | undefined;
  /** Undefined if the call is not sampled. */
  readonly spans: CallSpans | undefined;
}

/**
 * The most calls that a process can run. Above it the oldest is dropped, whose end a bug has lost.
 */
const maxCalls = 65_535;

/**
 * The running calls by the id of their hold: callers may choose the request id, so two calls may
 * have the same.
 */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>();

  add(reservationId: string, call: OpenCall): void {
    this.#calls.set(reservationId, call);
    if (this.#calls.size <= maxCalls) return;
    const [oldest] = this.#calls.keys();
    if (oldest !== undefined) this.#calls.delete(oldest);
  }

  of(reservationId: string): OpenCall | undefined {
    return this.#calls.get(reservationId);
  }

  take(reservationId: string): OpenCall | undefined {
    const call = this.#calls.get(reservationId);
    this.#calls.delete(reservationId);
    return call;
  }

  clear(): void {
    this.#calls.clear();
  }
}
