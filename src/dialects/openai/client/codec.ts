/** The client codec for OpenAI and compatible servers. */
import type { ContentClientCodec } from '../../codec.ts';
import { callerParam } from './caller-param.ts';
import { readReply, readStream } from './read-reply.ts';
import { unreadMembers } from './unread-reply.ts';
import { writeRequest } from './write-request.ts';

/** Writes chat completion requests and reads their replies. */
export const openaiClient: ContentClientCodec = {
  begin: (request, target) => {
    const { body, dropped, names } = writeRequest(request, target);
    const { reasoningOutsideCompletion: reasoningOutside } = target.capabilities;
    const context = { names, ids: target.ids, reasoningOutside, stop: request.stop };
    return {
      body,
      dropped,
      callerParam: (param) => callerParam(param, request),
      unread: unreadMembers,
      readReply: (reply) => readReply(reply, context),
      readStream: ({ holdsCalls } = { holdsCalls: false }) => readStream(context, { holdsCalls }),
    };
  },
};
