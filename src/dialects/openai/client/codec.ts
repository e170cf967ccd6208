/** The client codec for OpenAI and compatible servers. */

import { type ContentRequest, chatNames } from '../../../canonical/request.ts';
import type { ContentClientCodec } from '../../codec.ts';
import { readReply, readStream } from './read-reply.ts';
import { unreadMembers } from './unread-reply.ts';
import { writeRequest } from './write-request.ts';

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

/** Positions in the messages are those of the translated body, which the caller doesn't know. */
function callerParam(param: string, { names }: ContentRequest): string | undefined {
  const [sent = ''] = /^\w*/.exec(param) ?? [];
  const name = otherNames.get(sent) ?? sent;
  if (name === chatNames.system) return undefined;
  return Object.entries(names).find(([field]) => Reflect.get(chatNames, field) === name)?.[1];
}

const otherNames: ReadonlyMap<string, string> = new Map([
  ['max_tokens', chatNames.maxOutputTokens],
  ['top_logprobs', chatNames.logprobs],
]);
