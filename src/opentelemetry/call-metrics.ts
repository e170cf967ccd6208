/** The metrics of calls. Every attribute has a bounded number of values. */
import { type Attributes, type Counter, type Meter, ValueType } from '@opentelemetry/api';
import type { Usage } from '../money.ts';
import type { UsageRecord } from '../ports/usage-sink.ts';
import { boundedValues } from './bounded-values.ts';
import { cacheWritesOf, errorTypeOf, reportedUsage } from './call-spans.ts';
import type { EventOf } from './event-of.ts';
import { genAi, metricNames, own, secondBuckets } from './names.ts';
import type { OpenCall } from './open-calls.ts';

/** Records the metrics of one gateway. */
export interface CallMetrics {
  ended(record: UsageRecord, call: OpenCall): void;
  refused(event: EventOf<'call_refused'>): void;
  /** A stored reply was requested; `errorType` is undefined if it was read. */
  fetched(durationMs: number, provider: string | undefined, errorType: string | undefined): void;
}

/** The maximum number of models, and of providers: a host may compute its catalog. */
const maxValues = 200;

/** Creates the instruments. */
export function callMetrics(meter: Meter, fetchOperation: string): CallMetrics {
  const instruments = instrumentsOf(meter);
  const { duration, timeToFirstChunk, charge, refusals } = instruments;
  const model = boundedValues(maxValues);
  const providerName = boundedValues(maxValues);
  const withProvider = (attributes: Attributes, provider: string | undefined): Attributes =>
    provider === undefined
      ? attributes
      : { ...attributes, [genAi.provider]: providerName(provider) };
  const withError = (attributes: Attributes, errorType: string | undefined): Attributes =>
    errorType === undefined ? attributes : { ...attributes, [genAi.errorType]: errorType };

  return {
    ended: (record, call) => {
      const attributes = withProvider(
        { [genAi.operation]: call.operation, [genAi.requestModel]: model(call.modelId) },
        call.provider,
      );
      duration.record(record.durationMs / 1_000, withError(attributes, errorTypeOf(record)));
      const { firstByteMs } = call;
      if (record.streamed && firstByteMs !== undefined) {
        timeToFirstChunk.record(firstByteMs / 1_000, attributes);
      }
      if (call.operation !== 'count_tokens')
        addUsage(instruments, reportedUsage(record), attributes);
      if (record.chargeNanos > 0n) charge.add(Number(record.chargeNanos), attributes);
    },
    refused: ({ code, reason, protocol }) => {
      const attributes: Attributes = { [own.refusalCode]: code };
      if (reason !== undefined) attributes[own.refusalReason] = reason;
      if (protocol !== undefined) attributes[own.protocol] = protocol;
      refusals.add(1, attributes);
    },
    fetched: (durationMs, provider, errorType) => {
      const attributes = withProvider({ [genAi.operation]: fetchOperation }, provider);
      duration.record(durationMs / 1_000, withError(attributes, errorType));
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
function addUsage(to: Instruments, usage: Usage | undefined, attributes: Attributes): void {
  addByModality(to.input, usage?.inputTokens, attributes, {
    audio: usage?.audioInputTokens,
    image: usage?.imageInputTokens,
    video: usage?.videoInputTokens,
  });
  addByModality(to.output, usage?.outputTokens, attributes, {
    audio: usage?.audioOutputTokens,
    image: usage?.imageOutputTokens,
  });
  addByModality(to.cacheRead, usage?.cachedInputTokens, attributes, {});
  addByModality(to.cacheWrite, usage && cacheWritesOf(usage), attributes, {});
  addByModality(to.reasoning, usage?.reasoningTokens, attributes, {});
}

/** Adds the tokens whose modality is stated, and the rest as `unknown`. */
function addByModality(
  counter: Counter,
  total: number | undefined,
  attributes: Attributes,
  parts: Readonly<Record<string, number | undefined>>,
): void {
  let rest = total ?? 0;
  for (const [modality, part = 0] of Object.entries(parts)) {
    const count = Math.min(part, rest);
    if (count <= 0) continue;
    rest -= count;
    counter.add(count, { ...attributes, [genAi.tokenModality]: modality });
  }
  if (rest > 0 || (total ?? 0) === 0) {
    counter.add(rest, { ...attributes, [genAi.tokenModality]: 'unknown' });
  }
}
