/** The client codec for OpenAI and compatible servers. */

import { type ContentRequest, chatNames } from '../../../canonical/request.ts';
import { type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { ContentClientCodec } from '../../codec.ts';
import type { DialectCodecs } from '../../dialect.ts';
import { read, reads, type Shape, unreadOfReply } from '../../unread.ts';
import { openaiEmbeddings } from '../embedding-client.ts';
import { measureOpenai } from '../prompt-size.ts';
import { reasoningDetail } from '../reasoning-details.ts';
import { readReply, readStream } from './read-reply.ts';
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

/** Lists the lost members, as `reply.` and their path. */
function unreadMembers(reply: JsonValue): readonly string[] {
  return unreadOfReply(reply, completion);
}

const partMembers = ['text', 'thinking', 'image_url'];
const urlShape: Shape = { url: read };

/** A part without any of these members is kept as a whole. */
function partShape(part: JsonObject): Shape | typeof read {
  const isKnown = partMembers.some((name) => member(part, name) !== undefined);
  if (!isKnown) return read;
  return { type: read, text: read, thinking: { type: read, text: read }, image_url: urlShape };
}

/** A citation without a URL is not read. */
function annotationShape(annotation: JsonObject): Shape {
  const location: Shape = { url: read, title: read, start_index: read, end_index: read };
  const hasUrl = member(member(annotation, 'url_citation') ?? annotation, 'url') !== undefined;
  return hasUrl ? { ...location, type: read, url_citation: location } : {};
}

const signed: Shape = {
  thought_signature: read,
  extra_content: { google: { thought_signature: read } },
};
const called: Shape = { ...signed, name: read, arguments: read };

const message: Shape = {
  ...signed,
  role: read,
  content: partShape,
  ...reads('refusal', 'reasoning_content', 'reasoning'),
  reasoning_details: reasoningDetail,
  tool_calls: {
    ...signed,
    ...reads('id', 'type', 'index'),
    function: called,
    custom: { name: read, input: read },
  },
  function_call: { name: read, arguments: read },
  images: { type: read, index: read, image_url: urlShape },
  audio: { data: read, transcript: read },
  annotations: annotationShape,
};

/** `bytes` repeats the token's text. */
const token: Shape = { token: read, logprob: read, bytes: read };

const choice: Shape = {
  index: read,
  message,
  delta: message,
  ...reads('finish_reason', 'stop_reason', 'matched_stop'),
  logprobs: { content: { ...token, top_logprobs: token } },
};

/** Details of the usage count as read, because callers receive the totals. */
const usage: Shape = {
  ...reads('prompt_tokens', 'completion_tokens', 'total_tokens', 'input_tokens', 'output_tokens'),
  prompt_tokens_details: {
    ...reads('cached_tokens', 'cache_write_tokens', 'audio_tokens', 'text_tokens', 'image_tokens'),
  },
  completion_tokens_details: {
    ...reads('reasoning_tokens', 'audio_tokens', 'text_tokens', 'image_tokens'),
    ...reads('accepted_prediction_tokens', 'rejected_prediction_tokens'),
  },
};

const frame: Shape = { object: read, created: read, system_fingerprint: read, service_tier: read };

const completion: Shape = { ...frame, id: read, model: read, choices: choice, usage };

export const codecs: DialectCodecs = {
  content: openaiClient,
  // Image calls are always relayed, because the image protocol is OpenAI's.
  images: undefined,
  embeddings: openaiEmbeddings,
  measure: measureOpenai,
  tokenCounter: undefined,
};
