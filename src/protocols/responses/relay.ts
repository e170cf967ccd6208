/** The edits and checks of relayed Responses calls: only the model's name is edited. */
import { replyParser } from '../../bounded-json.ts';
import { none, root } from '../../bytes/json/tape.ts';
import { type Call, operations } from '../../call.ts';
import { refusesSealedContent, responseFailure } from '../../dialects/openai/responses/errors.ts';
import { referableDocument } from '../../dialects/openai/responses/referable.ts';
import { responsesStreamTap } from '../../dialects/openai/responses/stream-tap.ts';
import { toolCallsIn, withToolCalls } from '../../dialects/openai/responses/tool-calls.ts';
import { openaiUsage, openaiUsageOfObject } from '../../dialects/openai/usage.ts';
import { documentTap } from '../../dialects/taps/document-tap.ts';
import type { ReferableReply } from '../../dialects/taps/tap.ts';
import { items, type JsonValue, member } from '../../json.ts';
import { modelEdit } from '../model-edit.ts';
import type { RelayRules } from '../protocol.ts';

/** The rules for Responses calls to upstreams of the OpenAI dialect that serve this API. */
export const responsesRelay: RelayRules = {
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
  const ids = items(member(reply, 'output')).map((item) => member(item, 'id'));
  return { replyId, items: ids.filter((id) => typeof id === 'string').map((id) => ({ id })) };
}

/**
 * A reply that is still running is not one: only background calls have such replies, and the
 * gateway serves none.
 */
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
