/** The codec for Anthropic's Messages API as an upstream: requests, replies, and token counts. */
import { withoutCustomTools } from '../../../canonical/custom-tools.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentRequest } from '../../../canonical/request.ts';
import type { ContentClientCodec, TokenCounter, UpstreamTarget } from '../../codec.ts';
import { countIn } from '../../usage/usage-counts.ts';
import { readReply } from './read-reply.ts';
import { readStream } from './read-stream.ts';
import { unreadMembers } from './unread-reply.ts';
import { type WrittenRequest, writeRequest } from './write-request.ts';

export const anthropicClient: ContentClientCodec = {
  begin: (request, target) => {
    const { members, dropped, names, replyTool } = written(request, target);
    const context = { names, replyTool, ids: target.ids };
    return {
      body: jsonText(members),
      dropped,
      unread: unreadMembers,
      readReply: (reply) => readReply(reply, context),
      readStream: () => readStream(context),
    };
  },
};

/** `POST /v1/messages/count_tokens` accepts only the members that affect the count. */
export const anthropicTokenCounter: TokenCounter = {
  body: (request, target) => {
    const { members, dropped } = written(request, target);
    const { model, messages, system, tools, tool_choice, thinking } = members;
    const counted = { model, messages, system, tools, tool_choice, thinking };
    return { text: jsonText(counted), dropped };
  },
  read: (reply) => countIn(reply, 'input_tokens'),
};

function written(request: ContentRequest, target: UpstreamTarget): WrittenRequest {
  return writeRequest(withoutCustomTools(request), target);
}
