/** The client codec for OpenAI and compatible servers. */

import type { ContentRequest, RequestField } from '../../../canonical/request.ts';
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

const fields: ReadonlyMap<string, RequestField> = new Map<string, RequestField>([
  ['frequency_penalty', 'frequencyPenalty'],
  ['logprobs', 'logprobs'],
  ['max_completion_tokens', 'maxOutputTokens'],
  ['max_tokens', 'maxOutputTokens'],
  ['modalities', 'modalities'],
  ['n', 'candidates'],
  ['parallel_tool_calls', 'parallelToolCalls'],
  ['presence_penalty', 'presencePenalty'],
  ['reasoning_effort', 'reasoning'],
  ['response_format', 'format'],
  ['seed', 'seed'],
  ['service_tier', 'serviceTier'],
  ['stop', 'stop'],
  ['temperature', 'temperature'],
  ['tool_choice', 'toolChoice'],
  ['tools', 'tools'],
  ['top_k', 'topK'],
  ['top_logprobs', 'logprobs'],
  ['top_p', 'topP'],
  ['user', 'endUserId'],
  ['verbosity', 'verbosity'],
]);

/** Everything else has no counterpart: its positions are those of the translated body. */
function callerParam(param: string, { names }: ContentRequest): string | undefined {
  const field = fields.get(/^\w*/.exec(param)?.[0] ?? '');
  return field === undefined ? undefined : names[field];
}
