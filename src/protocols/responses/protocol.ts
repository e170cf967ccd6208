/** `POST /v1/responses` and its siblings: OpenAI's Responses API. */
import { operations } from '../../call.ts';
import { GatewayError } from '../../errors.ts';
import { openaiCaller } from '../callers/openai.ts';
import type { Protocol } from '../protocol.ts';
import { sessionHeader } from '../session-header.ts';
import { isOwnId } from './find-references.ts';
import { readResponses } from './read.ts';
import { responsesRelay } from './relay.ts';

/** The row of `table.ts`. */
export const responses: Protocol = {
  name: 'responses',
  caller: openaiCaller,
  dialect: 'openai',
  relayCapability: 'responses',
  operation: operations.content,
  paths: {
    '/v1/responses': operations.content,
    '/v1/responses/input_tokens': operations.count_tokens,
    '/v1/responses/compact': operations.compact,
  },
  methods: {},
  storedReplies: {
    folder: '/v1/responses',
    upstreamFolder: '/responses',
    parts: ['input_items'],
    parameters: ['include', 'limit', 'order', 'after'],
    checkQuery: refuseStream,
    isOwn: isOwnId,
    deleted: (id) => ({ id, object: 'response', deleted: true }),
  },
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  repeatableAs: 'responses',
  // The API has one answer.
  outputLimits: ['max_output_tokens'],
  candidates: { member: 'n', maximum: 1 },
  // Codex declares a search in every request.
  optionalTools: ['web_search'],
  // Codex names its session in both places, other clients in one of them.
  sessionOf: ({ promptCacheKey }, headers) =>
    promptCacheKey ?? sessionHeader(headers, 'session-id'),
  read: readResponses,
  relay: responsesRelay,
  codecs: async () => ({
    content: (await import('../../dialects/openai/responses/server/codec.ts'))
      .openaiResponsesServer,
    countTokens: {
      member: 'input_tokens',
      write: (count) => `{"object":"response.input_tokens","input_tokens":${count}}`,
    },
  }),
  imageCounter: undefined,
  // All clients of the API ignore SSE comments.
  keepAlive: (framing) => (framing === 'sse' ? ': keep-alive\n\n' : undefined),
};

/** OpenAI streams only the responses that it made in the background, and those are not served. */
function refuseStream(query: URLSearchParams, part: string | undefined): void {
  const isWhole = query.getAll('stream').every((value) => value === '' || value === 'false');
  if (part !== undefined || isWhole) return;
  throw new GatewayError(
    'invalid_request',
    'A stored response is read as one document. Leave `stream` out.',
    { param: 'stream' },
  );
}
