/** What a whole chat completion of an upstream's holds that no event says. */
import { type JsonObject, type JsonValue, member } from '../../../json.ts';
import { allRead, read, type Shape, unreadOfReply } from '../../unread.ts';
import { reasoningDetail } from '../reasoning-details.ts';

/** The members that are lost, as `reply.` and their path. */
export function unreadMembers(reply: JsonValue): readonly string[] {
  return unreadOfReply(reply, completion);
}

const partMembers = ['text', 'thinking', 'image_url'];
const urlShape: Shape = { url: read };

/** Of a part that holds nothing of these all is kept, or listed as a whole. */
function partShape(part: JsonObject): Shape {
  const isKnown = partMembers.some((name) => member(part, name) !== undefined);
  if (!isKnown) return allRead(part);
  return { type: read, text: read, thinking: { type: read, text: read }, image_url: urlShape };
}

/** A source without an address is none. */
function annotationShape(annotation: JsonObject): Shape {
  const location: Shape = { url: read, title: read, start_index: read, end_index: read };
  const hasAddress = member(member(annotation, 'url_citation') ?? annotation, 'url') !== undefined;
  return hasAddress ? { ...location, type: read, url_citation: location } : {};
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
  refusal: read,
  reasoning_content: read,
  reasoning: read,
  reasoning_details: reasoningDetail,
  tool_calls: {
    ...signed,
    id: read,
    type: read,
    index: read,
    function: called,
    custom: { name: read, input: read },
  },
  function_call: { name: read, arguments: read },
  images: { type: read, index: read, image_url: urlShape },
  audio: { data: read, transcript: read },
  annotations: annotationShape,
};

/** The bytes of a token are those of its text. */
const token: Shape = { token: read, logprob: read, bytes: read };

const choice: Shape = {
  index: read,
  message,
  delta: message,
  finish_reason: read,
  logprobs: { content: { ...token, top_logprobs: token } },
};

/** The bill of the host's account: callers get the sums. */
const usage: Shape = {
  prompt_tokens: read,
  completion_tokens: read,
  total_tokens: read,
  input_tokens: read,
  output_tokens: read,
  prompt_tokens_details: {
    cached_tokens: read,
    cache_write_tokens: read,
    audio_tokens: read,
    text_tokens: read,
    image_tokens: read,
  },
  completion_tokens_details: {
    reasoning_tokens: read,
    audio_tokens: read,
    text_tokens: read,
    image_tokens: read,
    accepted_prediction_tokens: read,
    rejected_prediction_tokens: read,
  },
};

/** What names the kind and the time of the document, and how the account is served. */
const frame: Shape = { object: read, created: read, system_fingerprint: read, service_tier: read };

const completion: Shape = { ...frame, id: read, model: read, choices: choice, usage };
