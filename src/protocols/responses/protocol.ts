/** `POST /v1/responses` and its siblings: OpenAI's Responses API. */

import { apiCalls, operations } from '../../apis.ts';
import { replyParser } from '../../bounded-json.ts';
import { watchIds } from '../../bytes/json/stream/watch.ts';
import { none, root } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { refusesSealedContent, responseFailure } from '../../dialects/openai/responses/errors.ts';
import { responsesStreamTap } from '../../dialects/openai/responses/stream-tap.ts';
import { toolCallsIn, withToolCalls } from '../../dialects/openai/responses/tool-calls.ts';
import { openaiUsage, openaiUsageOfObject } from '../../dialects/openai/usage.ts';
import { documentTap } from '../../dialects/taps/document-tap.ts';
import type { ReferableItem, ReferableReply, StreamTap } from '../../dialects/taps/tap.ts';
import { invalidRequest } from '../../errors.ts';
import { items, type JsonValue, member } from '../../json.ts';
import { openaiCaller } from '../callers/openai.ts';
import type { Protocol, RelayRules } from '../protocol.ts';
import { modelEdit, sessionHeader } from '../rules.ts';
import { isOwnId, readResponses } from './read.ts';

const responsesRelay: RelayRules = {
  paths: {
    content: () => '/responses',
    count_tokens: () => '/responses/input_tokens',
    compact: () => '/responses/compact',
  },
  edits: (call, upstreamModel) => modelEdit(call, upstreamModel),
  tap: (call, channel) =>
    call.framing === 'sse'
      ? responsesStreamTap(replyParser(channel))
      : referableDocument(
          documentTap({
            usageMember: 'usage',
            readUsage: (usage) => openaiUsageOfObject(usage, 0, false),
            inBandFailure: responseFailure,
            isImageReply: false,
          }),
        ),
  inBandFailure: responseFailure,
  invalidReplyReason: (reply, call) =>
    isReply(reply, call) ? undefined : 'upstream_protocol_error',
  stillRuns: (reply) => member(reply, 'object') === 'response' && isRunning(reply),
  readUsage: (reply, _channel, counted) =>
    withToolCalls(openaiUsage(reply, false, counted), toolCallsIn(reply)),
  refusesSealed: refusesSealedContent,
  referable: referableReply,
  mayBeStored: ({ tape }) => {
    const store = tape.get(root, 'store');
    return store === none || tape.raw(store).toString('latin1') !== 'false';
  },
};

/** A token count has neither an id nor items. */
function referableReply(reply: JsonValue): ReferableReply | undefined {
  const replyId = member(reply, 'id');
  if (typeof replyId !== 'string') return undefined;
  const referable: ReferableItem[] = [];
  for (const item of items(member(reply, 'output'))) {
    const id = member(item, 'id');
    if (typeof id === 'string') referable.push({ id });
  }
  return { replyId, items: referable };
}

/** A running reply is not one: only background calls, which are not served, have these. */
function isReply(reply: JsonValue, { operation }: Pick<Call, 'operation'>): boolean {
  if (operation === operations.count_tokens) {
    return typeof member(reply, 'input_tokens') === 'number';
  }
  const kind = operation === operations.compact ? 'response.compaction' : 'response';
  return (
    member(reply, 'object') === kind && Array.isArray(member(reply, 'output')) && !isRunning(reply)
  );
}

function isRunning(reply: JsonValue): boolean {
  const status = member(reply, 'status');
  return status === 'queued' || status === 'in_progress';
}

export const responses: Protocol = {
  name: 'responses',
  caller: openaiCaller,
  dialect: 'openai',
  relayCapability: 'responses',
  ...apiCalls.responses,
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
  takesIdempotencyKey: true,
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
  // All clients of the API ignore SSE comments.
  keepAlive: (framing) => (framing === 'sse' ? ': keep-alive\n\n' : undefined),
};

/** OpenAI streams only the responses that it made in the background, and those are not served. */
function refuseStream(query: URLSearchParams, part: string | undefined): void {
  const isWhole = query.getAll('stream').every((value) => value === '' || value === 'false');
  if (part !== undefined || isWhole) return;
  throw invalidRequest('A stored response is read as one document. Leave `stream` out.', 'stream');
}

/** The tap of one document, which collects the ids in it as well. */
function referableDocument(tap: StreamTap): StreamTap {
  const ids = watchIds('output');
  return {
    ...tap,
    write: (chunk) => {
      ids.write(chunk);
      return tap.write(chunk);
    },
    referable: () => ({ replyId: ids.own(), items: ids.ofElements().map((id) => ({ id })) }),
  };
}
