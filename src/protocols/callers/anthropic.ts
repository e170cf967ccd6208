/**
 * Anthropic's clients: their key headers, error format and model list. They reach the gateway at
 * the paths that they share with OpenAI's clients, and at paths that are not served.
 */
import { anthropicErrorText } from '../../dialects/anthropic/errors.ts';
import { invalidRequest } from '../../errors.ts';
import type { GatewayRequest } from '../../http.ts';
import type { JsonObject } from '../../json.ts';
import type { Model } from '../../ports/models/catalog.ts';
import type { Caller } from '../protocol.ts';
import { bearerHeader, bearerSecret, headerOnce } from './key-header.ts';
import { anthropicRateHeaders } from './rate-headers.ts';

/** The page sizes of Anthropic's API. */
const defaultLimit = 20;
const maxLimit = 1_000;
/** The last date that JavaScript can write. */
const lastDateMs = 8_640_000_000_000_000;

/**
 * `GET /v1/models`, in pages. A cursor is the id of a model. The last page has `has_more: false`:
 * Anthropic's SDK asks for the page after `last_id` as long as it is true.
 */
function anthropicModelList(models: readonly Model[], search: string): JsonObject {
  const query = new URLSearchParams(search);
  const limit = limitOf(query.get('limit'));
  const before = cursorIndex(models, query, 'before_id');
  const start =
    before === undefined
      ? (cursorIndex(models, query, 'after_id') ?? -1) + 1
      : Math.max(0, before - limit);
  const end = Math.min(before ?? models.length, start + limit);
  const page = models.slice(start, end);
  return {
    data: page.map(anthropicModel),
    has_more: before === undefined ? end < models.length : start > 0,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

/** `GET /v1/models/{model}` */
function anthropicModel(model: Model): JsonObject {
  const createdAtMs = (model.createdAtSeconds ?? 0) * 1_000;
  return {
    type: 'model',
    id: model.id,
    display_name: model.displayName ?? model.id,
    created_at: new Date(Math.min(createdAtMs, lastDateMs)).toISOString().replace('.000Z', 'Z'),
    max_input_tokens: model.contextTokens ?? null,
    max_tokens: model.maxOutputTokens ?? null,
    capabilities: null,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
  };
}

function limitOf(text: string | null): number {
  if (text === null || text === '') return defaultLimit;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= maxLimit) return limit;
  throw invalidRequest('`limit` must be a number from 1 to 1000.', 'limit');
}

function cursorIndex(
  models: readonly Model[],
  query: URLSearchParams,
  name: 'after_id' | 'before_id',
): number | undefined {
  const id = query.get(name);
  if (id === null || id === '') return undefined;
  const index = models.findIndex((model) => model.id === id);
  if (index !== -1) return index;
  throw invalidRequest(
    `\`${name}\` is not the id of a model in this list. Start again without it.`,
    name,
  );
}

/** Anthropic's own header for keys. Only its clients' keys are read from it. */
export const anthropicKeyHeader = 'x-api-key';
/** The header that all clients of Anthropic's API send, and no others. */
export const anthropicVersionHeader = 'anthropic-version';

const overloadedStatus = 529;

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
