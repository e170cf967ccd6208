/**
 * Anthropic's clients: their key headers, error format and model list. They reach the gateway at
 * the paths that they share with OpenAI's clients, and at paths that are not served.
 */
import { anthropicErrorText } from '../../dialects/anthropic/errors.ts';
import type { GatewayRequest } from '../../http.ts';
import type { Caller } from '../protocol.ts';
import { anthropicModel, anthropicModelList } from './anthropic-models.ts';
import { bearerHeader, bearerSecret } from './bearer.ts';
import { headerOnce } from './key-header.ts';
import { anthropicRateHeaders } from './rate-headers.ts';

/** Anthropic's own header for keys. Only its clients' keys are read from it. */
export const anthropicKeyHeader = 'x-api-key';
/** The header that all clients of Anthropic's API send, and no others. */
export const anthropicVersionHeader = 'anthropic-version';

const overloadedStatus = 529;

/** The clients that send `anthropic-version`. */
export const anthropicCaller: Caller = {
  name: 'anthropic',
  errors: { body: (error, requestId) => Buffer.from(anthropicErrorText(error, requestId)) },
  keyHeaders: () => [bearerHeader, anthropicKeyHeader],
  secretOf: anthropicSecret,
  keyExample: () => `${anthropicKeyHeader}: <key>`,
  models: {
    request: 'GET /v1/models',
    list: anthropicModelList,
    one: anthropicModel,
    // As Anthropic writes it.
    unknown: (modelId) => `model: ${modelId}`,
  },
  // Clients have an error class of their own for an overloaded Anthropic.
  statusOf: ({ upstreamStatus }) => (upstreamStatus === overloadedStatus ? 529 : undefined),
  requestIdHeader: 'request-id',
  rateHeaders: anthropicRateHeaders,
};

/**
 * A bearer key comes first: clients that are pointed at a gateway put its key there, and an
 * additional `x-api-key` is usually the user's own key for Anthropic.
 */
function anthropicSecret(request: GatewayRequest): string | undefined {
  return bearerSecret(request) ?? headerOnce(request, anthropicKeyHeader);
}
