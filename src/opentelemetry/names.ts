/**
 * The names of OpenTelemetry's conventions for generative AI that this package uses, and its own.
 * The conventions (open-telemetry/semantic-conventions-genai) have no release yet; a change of them
 * needs a change of this file only.
 */
import type { OperationName } from '../apis.ts';
import type { DialectName } from '../ports/models/capabilities.ts';
import type { ProtocolName } from '../ports/models/catalog.ts';

export const scopeName = 'tollgate';

export const genAi = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  requestStream: 'gen_ai.request.stream',
  outputType: 'gen_ai.output.type',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  tokenModality: 'gen_ai.token.modality',
  errorType: 'error.type',
  httpStatus: 'http.response.status_code',
} as const;

export const usageAttributes = [
  ['inputTokens', 'gen_ai.usage.input_tokens'],
  ['outputTokens', 'gen_ai.usage.output_tokens'],
  ['cachedInputTokens', 'gen_ai.usage.cache_read.input_tokens'],
  ['reasoningTokens', 'gen_ai.usage.reasoning.output_tokens'],
  ['audioInputTokens', 'gen_ai.usage.audio.input_tokens'],
  ['imageInputTokens', 'gen_ai.usage.image.input_tokens'],
  ['audioOutputTokens', 'gen_ai.usage.audio.output_tokens'],
  ['imageOutputTokens', 'gen_ai.usage.image.output_tokens'],
] as const;

/** The sum of the cache writes of all lifetimes. */
export const cacheWriteAttribute = 'gen_ai.usage.cache_write.input_tokens';

export const own = {
  attemptSpan: 'tollgate.attempt',
  requestId: 'tollgate.request_id',
  keyId: 'tollgate.key.id',
  group: 'tollgate.group',
  protocol: 'tollgate.protocol',
  metadata: 'tollgate.metadata.',
  channelId: 'tollgate.channel.id',
  upstreamModel: 'tollgate.upstream_model',
  servedModel: 'tollgate.served_model',
  account: 'tollgate.account',
  outcome: 'tollgate.outcome',
  status: 'tollgate.status',
  attempts: 'tollgate.attempts',
  attempt: 'tollgate.attempt.number',
  mayHaveRun: 'tollgate.attempt.may_have_run',
  heldNanos: 'tollgate.held_nanos',
  chargeNanos: 'tollgate.charge_nanos',
  booked: 'tollgate.booked',
  firstByteEvent: 'tollgate.first_byte',
  partFailedEvent: 'tollgate.part_failed',
  refusedEvent: 'tollgate.refused',
  repeatedEvent: 'tollgate.repeated',
  refusalCode: 'tollgate.refusal.code',
  refusalReason: 'tollgate.refusal.reason',
  modelId: 'tollgate.model',
  originalRequestId: 'tollgate.original_request_id',
} as const;

/** Metrics; the durations are in seconds. */
export const metricNames = {
  duration: 'gen_ai.client.operation.duration',
  timeToFirstChunk: 'gen_ai.client.operation.time_to_first_chunk',
  inputTokens: 'gen_ai.client.inference.usage.input_tokens',
  outputTokens: 'gen_ai.client.inference.usage.output_tokens',
  cacheReadTokens: 'gen_ai.client.inference.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.client.inference.usage.cache_write.input_tokens',
  reasoningTokens: 'gen_ai.client.inference.usage.reasoning.output_tokens',
  charge: 'tollgate.charge',
  refusals: 'tollgate.refusals',
} as const;

/** The bounds of the two histograms, in seconds: 0.01, doubled up to 81.92. */
export const secondBuckets: readonly number[] = Array.from(
  { length: 14 },
  (_, doublings) => 2 ** doublings / 100,
);

/** The value for unknown names, and for all names after the maximum number of different ones. */
export const otherValue = '_OTHER';

/** The provider of each dialect, for channels whose provider the host does not name. */
export const providers: Readonly<Record<DialectName, string>> = {
  openai: 'openai',
  // The value for any of Google's endpoints: AI Studio and Vertex share this format.
  gemini: 'gcp.gen_ai',
  anthropic: 'anthropic',
};

/** The conventions have no name for `count_tokens` and `compact`. */
export function operationNameOf(operation: OperationName, protocol: ProtocolName): string {
  switch (operation) {
    case 'content':
      return protocol === 'native' ? 'generate_content' : 'chat';
    case 'images':
      return 'generate_content';
    case 'embed':
      return 'embeddings';
    default:
      return operation;
  }
}

export const fetchResponse = 'fetch_response';
