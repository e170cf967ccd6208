/** `POST /v1/chat/completions`: OpenAI's chat completions. */

import { z } from 'zod';
import { apiCalls } from '../../apis.ts';
import { replyParser } from '../../bounded-json.ts';
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { none, root, type Tape } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { openaiImageCounter } from '../../dialects/openai/count-images.ts';
import { openaiInBandFailure } from '../../dialects/openai/errors.ts';
import { measureChat } from '../../dialects/openai/prompt-size.ts';
import { openaiStreamTap } from '../../dialects/openai/stream-tap.ts';
import { openaiUsage, openaiUsageOfObject, reasoningOutside } from '../../dialects/openai/usage.ts';
import { documentTap } from '../../dialects/taps/document-tap.ts';
import { invalidRequest } from '../../errors.ts';
import { member } from '../../json.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import { openaiCaller } from '../callers/openai.ts';
import { checkExtraBody, refuseOtherBounds } from '../extra-body.ts';
import {
  arrayMember,
  blankFields,
  checkedFields,
  fieldOf,
  fieldsIn,
  hintOf,
  readObject,
} from '../fields.ts';
import type { CallTarget, Protocol, RelayRules } from '../protocol.ts';
import { editInside, flagField, modelEdit, modelField, newCall, positiveField } from '../rules.ts';

const chatRelay: RelayRules = {
  edits: (call, upstreamModel, channel) => [
    ...modelEdit(call, upstreamModel),
    ...boundEdits(call, channel),
    ...usageEdit(call, channel),
  ],
  tap: (call, channel) =>
    call.framing === 'sse'
      ? openaiStreamTap({
          stripUsage: !call.wantsUsage,
          candidates: call.demand.candidates,
          reasoningOutside: reasoningOutside(channel),
          parse: replyParser(channel),
        })
      : documentTap({
          usageMember: 'usage',
          readUsage: (usage, images) =>
            openaiUsageOfObject(usage, images, reasoningOutside(channel)),
          inBandFailure: openaiInBandFailure,
          isImageReply: false,
        }),
  invalidReplyReason: (reply) =>
    Array.isArray(member(reply, 'choices')) ? undefined : 'upstream_protocol_error',
  readUsage: (reply, channel, counted) => openaiUsage(reply, reasoningOutside(channel), counted),
};

/**
 * Writes the output bound under the name that the server reads: otherwise it would ignore the bound
 * and exceed the hold (DeepSeek: earendil-works/pi#8018).
 */
function boundEdits(
  { tape, demand: { maxOutputTokens } }: Call,
  { capabilities }: Channel,
): readonly MemberEdit[] {
  const name = capabilities?.maxTokensField;
  if (name === undefined || maxOutputTokens === undefined) return [];
  const other = name === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  if (tape.get(root, other) === none) return [];
  return [
    { name: other, value: undefined },
    { name, value: String(maxOutputTokens) },
  ];
}

/** Usage is always requested: charging must not depend on whether the caller asked for it. */
function usageEdit(call: Call, channel: Channel): readonly MemberEdit[] {
  if (call.framing !== 'sse' || call.wantsUsage) return [];
  if (channel.capabilities?.includeUsage === false) return [];
  const inside = editInside(call, 'stream_options', { name: 'include_usage', value: 'true' });
  return [inside ?? { name: 'stream_options', value: '{"include_usage":true}' }];
}

export const chat: Protocol = {
  name: 'chat',
  caller: openaiCaller,
  dialect: 'openai',
  ...apiCalls.chat,
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  takesIdempotencyKey: true,
  outputLimits: ['max_tokens', 'max_completion_tokens'],
  candidates: { member: 'n', maximum: Number.POSITIVE_INFINITY },
  sessionOf: ({ promptCacheKey }) => promptCacheKey,
  read: readChat,
  relay: chatRelay,
  codecs: async () => ({
    content: (await import('../../dialects/openai/server/codec.ts')).openaiServer,
  }),
  imageCounter: openaiImageCounter,
  // All OpenAI clients ignore SSE comments.
  keepAlive: (framing) => (framing === 'sse' ? ': keep-alive\n\n' : undefined),
};

const chatFields = z.object({
  model: modelField,
  stream: flagField,
  stream_options: z
    .looseObject({ include_usage: z.unknown().optional() }, 'must be an object')
    .nullish(),
  temperature: z.number('must be a number').nullish(),
  max_tokens: positiveField,
  max_completion_tokens: positiveField,
  n: positiveField,
  // A hint, which only the upstream validates.
  prompt_cache_key: z.unknown().optional(),
});

const blank = blankFields(chatFields);

export function readChat(tape: Tape, { modelId, operation }: CallTarget): Call {
  const unparsed = { stream_options: none, tools: none, prediction: none };
  const read = fieldsIn(tape, blank, unparsed);
  read.model = modelId ?? read.model;
  const { stream_options, tools, prediction } = unparsed;
  read.stream_options = readObject(tape, stream_options, (options) => ({
    include_usage: fieldOf(tape, 'include_usage', options),
  }));
  const fields = checkedFields(chatFields, read);
  const { max_tokens: old, max_completion_tokens: current } = fields;
  const bound = current ?? old ?? undefined;
  if (bound !== undefined) refuseOtherBounds(tape);
  checkExtraBody(tape, {
    members: {
      model: fields.model,
      messages: null,
      stream: fields.stream ?? false,
      n: fields.n ?? 1,
    },
    bound,
  });
  if (tools !== none && !tape.isArray(tools) && !tape.isNull(tools)) {
    throw invalidRequest('`tools` must be an array.', 'tools');
  }
  arrayMember(tape, 'messages', 'Send the conversation, oldest message first.');
  const { size: prompt, hasRoles } = measureChat(tape);
  if (!hasRoles) throw invalidRequest(noRole, 'messages');
  return newCall(tape, {
    protocol: 'chat',
    operation,
    modelId: fields.model,
    isModelInPath: modelId !== undefined,
    framing: fields.stream === true ? 'sse' : 'json',
    promptCacheKey: hintOf(fields.prompt_cache_key),
    wantsUsage: fields.stream_options?.include_usage === true,
    prompt,
    predictedBytes: prediction === none ? 0 : tape.length(prediction),
    maxOutputTokens: bound,
    candidates: fields.n ?? 1,
  });
}

const noRole = 'Every element of `messages` must be an object with a string `role`.';
