/** The edits and checks of relayed Messages calls. */
import { type Call, operations } from '../../call.ts';
import { anthropicInBandFailure } from '../../dialects/anthropic/errors.ts';
import { messagesStreamTap } from '../../dialects/anthropic/stream-tap.ts';
import { messageUsage, usageOfObject } from '../../dialects/anthropic/usage.ts';
import { documentTap } from '../../dialects/taps/document-tap.ts';
import { type JsonValue, member } from '../../json.ts';
import { modelEdit } from '../model-edit.ts';
import type { RelayRules } from '../protocol.ts';
import { foreignThinking } from './envelopes.ts';
import { forwardedParts } from './headers.ts';

/** The rules for Messages calls to Anthropic upstreams. */
export const messagesRelay: RelayRules = {
  edits: (call, upstreamModel) => modelEdit(call, upstreamModel),
  cuts: foreignThinking,
  forward: forwardedParts,
  tap: (call, _channel, requestId) =>
    call.framing === 'sse'
      ? messagesStreamTap(requestId)
      : documentTap({
          usageMember: 'usage',
          readUsage: usageOfObject,
          inBandFailure: anthropicInBandFailure,
          isImageReply: false,
        }),
  invalidReplyReason: (reply, call) =>
    isReply(reply, call) ? undefined : 'upstream_protocol_error',
  readUsage: (reply, _channel, counted) => messageUsage(reply, counted),
};

function isReply(reply: JsonValue, { operation }: Pick<Call, 'operation'>): boolean {
  if (operation === operations.count_tokens) {
    const count = member(reply, 'input_tokens');
    // Every request has tokens, and a client that trusts a 0 lets its context overflow.
    return typeof count === 'number' && count > 0;
  }
  return Array.isArray(member(reply, 'content'));
}
