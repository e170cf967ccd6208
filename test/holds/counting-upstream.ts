/**
 * An upstream that reports its input as usage: a number of tokens for every byte of the body except
 * the payload of media, and as much output as the request allows. It does not share code with the
 * gateway's own counting.
 */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../src/json.ts';
import type { UpstreamClient, UpstreamRequest } from '../../src/ports/upstream-client.ts';
import { scriptedBody } from '../support/scripted-upstream.ts';

/** How an upstream counts. */
export interface Counting {
  readonly tokensPerByte: number;
  /** Tokens of one part of each kind of media. */
  readonly media: Readonly<Record<MediaKind, number>>;
  /** The most output tokens of one answer. */
  readonly maxOutputTokens: number;
  /** The members that it reads as the bound of the output; the largest counts. */
  readonly boundNames: readonly string[];
  /**
   * Reports text as written to its cache, media as audio, and the output as audio or images: the
   * most expensive kinds of tokens.
   */
  readonly isMostExpensive?: true;
}

/** Kinds of media that an upstream distinguishes. */
export type MediaKind = 'image' | 'audio' | 'video' | 'document' | 'reference';

/** The usage of one call. */
interface Usage {
  readonly input: number;
  /** The part of `input` that is not text. */
  readonly media: number;
  readonly isMostExpensive: boolean;
  readonly output: number;
  readonly images: number;
}

/** Replies to every call with its usage. */
export function countingUpstream(counting: Counting): UpstreamClient {
  return {
    send: async (request) => {
      const body = Buffer.concat(request.body);
      const parsed: unknown = JSON.parse(body.toString());
      const usage = usageOf(request, isJsonObject(parsed) ? parsed : {}, body.length, counting);
      const { type, text } = replyTo(request, parsed, usage);
      const played = scriptedBody({ chunks: [text] });
      return { status: 200, headers: { 'content-type': type }, body: played };
    },
    close: async () => {},
  };
}

function usageOf(
  { path }: UpstreamRequest,
  body: JsonObject,
  bytes: number,
  counting: Counting,
): Usage {
  const { tokensPerByte, media, boundNames } = counting;
  const found = [...(path.includes('/messages') ? mediaOfMessages(body) : mediaIn(body))];
  const payload = found.reduce((sum, one) => sum + one.bytes, 0);
  const sealed = [...sealedOf(body)].reduce((sum, one) => sum + one.length, 0);
  const ofMedia = found.reduce((sum, { kind, bytes: size }) => {
    const isTimed = kind === 'audio' || kind === 'video';
    return sum + Math.max(media[kind], isTimed ? size * 0.05 : 0);
  }, 0);
  const prediction = member(body, 'prediction');
  const rejected = prediction === undefined ? 0 : JSON.stringify(prediction).length;
  const holders = [
    body,
    ...['generationConfig', 'generation_config', 'extra_body', 'extraBody'].map((name) =>
      member(body, name),
    ),
  ];
  const largest = (names: readonly string[]): number =>
    Math.max(
      0,
      ...holders.flatMap((holder) => names.map((name) => Number(member(holder, name) ?? 0))),
    );
  const bound = largest(boundNames) || counting.maxOutputTokens;
  const candidates = largest(candidateNames) || 1;
  return {
    media: Math.floor(ofMedia),
    isMostExpensive: counting.isMostExpensive === true,
    input: Math.floor((bytes - payload - sealed) * tokensPerByte + sealed / 5 + ofMedia),
    output:
      candidates * Math.min(bound, counting.maxOutputTokens) + Math.floor(rejected * tokensPerByte),
    images: largest(imageNames) || 1,
  };
}

const candidateNames = ['n', 'best_of', 'candidate_count', 'candidateCount'];
const imageNames = ['n', 'num_images', 'batch_size'];

interface Media {
  readonly kind: MediaKind;
  readonly bytes: number;
}

/** Finds media where Anthropic reads it: in the user's messages. The rest it takes for text. */
function* mediaOfMessages(body: JsonObject): Generator<Media> {
  for (const message of items(member(body, 'messages'))) {
    if (member(message, 'role') === 'user') yield* blocksIn(member(message, 'content'), inMessage);
  }
}

const inMessage = ['image', 'document', 'tool_result'];
/** The blocks with media that a block may contain. */
const inBlock: Readonly<Record<string, readonly string[]>> = {
  tool_result: ['image', 'document'],
  document: ['image'],
};

function* blocksIn(content: JsonValue | undefined, allowed: readonly string[]): Generator<Media> {
  for (const block of items(content)) {
    const type = String(member(block, 'type'));
    if (!allowed.includes(type)) continue;
    const inside = inBlock[type] ?? [];
    const source = member(block, 'source');
    if (type === 'tool_result') yield* blocksIn(member(block, 'content'), inside);
    else if (member(source, 'type') === 'content') {
      yield* blocksIn(member(source, 'content'), inside);
    } else if (member(source, 'type') === 'url') {
      yield { kind: type === 'image' ? 'image' : 'reference', bytes: 0 };
    } else yield* payload(member(source, 'data'), member(source, 'media_type'));
  }
}

/** Finds media where a provider reads it, in each of the three dialects and in Responses. */
function* mediaIn(body: JsonObject): Generator<Media> {
  for (const message of items(member(body, 'messages'))) yield* partsIn(member(message, 'content'));
  for (const item of items(member(body, 'input'))) {
    yield* partsIn(member(item, 'content'));
    const output = member(item, 'output');
    yield* partsIn(Array.isArray(output) ? output : [output ?? null]);
    if (member(item, 'type') === 'image_generation_call') {
      yield* payload(member(item, 'result'), 'image/png');
    }
  }
  for (const content of items(member(body, 'contents'))) {
    yield* nativePartsIn(member(content, 'parts'));
  }
}

function* nativePartsIn(parts: JsonValue | undefined): Generator<Media> {
  for (const part of Array.isArray(parts) ? items(parts) : [parts ?? null]) {
    for (const name of ['inlineData', 'inline_data']) {
      const blob = member(part, name);
      yield* payload(member(blob, 'data'), member(blob, 'mimeType') ?? member(blob, 'mime_type'));
    }
    const file = member(part, 'fileData') ?? member(part, 'file_data');
    if (isJsonObject(file)) yield { kind: addressed(member(file, 'mimeType')), bytes: 0 };
    const result = member(part, 'functionResponse');
    if (result !== undefined) yield* nativePartsIn(member(result, 'parts'));
  }
}

function* partsIn(content: JsonValue | undefined): Generator<Media> {
  for (const part of items(content)) {
    switch (member(part, 'type')) {
      case 'image_url': {
        const url = member(member(part, 'image_url'), 'url');
        if (typeof url === 'string' && url.startsWith('http')) yield { kind: 'image', bytes: 0 };
        else yield* dataUrl(url);
        break;
      }
      case 'input_image':
      case 'computer_screenshot': {
        const url = member(part, 'image_url');
        if (typeof url === 'string' && url.startsWith('http')) yield { kind: 'image', bytes: 0 };
        else yield* dataUrl(url);
        break;
      }
      case 'input_file':
        yield* dataUrl(member(part, 'file_data'));
        if (typeof member(part, 'file_url') === 'string') yield { kind: 'reference', bytes: 0 };
        break;
      case 'input_audio':
        yield* payload(member(member(part, 'input_audio'), 'data'), 'audio/wav');
        break;
      case 'file':
        yield* dataUrl(member(member(part, 'file'), 'file_data'));
        break;
      case 'image':
      case 'document': {
        const source = member(part, 'source');
        if (member(source, 'type') === 'content') yield* partsIn(member(source, 'content'));
        if (member(source, 'type') === 'url') {
          yield { kind: member(part, 'type') === 'image' ? 'image' : 'reference', bytes: 0 };
        } else yield* payload(member(source, 'data'), member(source, 'media_type'));
        break;
      }
      case 'tool_result':
        yield* partsIn(member(part, 'content'));
        break;
      default:
    }
  }
}

function* dataUrl(url: JsonValue | undefined): Generator<Media> {
  const [, type, data] =
    /^data:([^;,]*);base64,(.*)$/s.exec(typeof url === 'string' ? url : '') ?? [];
  yield* payload(data, type);
}

function* payload(data: JsonValue | undefined, type: JsonValue | undefined): Generator<Media> {
  if (typeof data !== 'string' || typeof type !== 'string') return;
  const [kind] = type.split('/');
  const bytes = data.length;
  if (kind === 'image' || kind === 'audio' || kind === 'video') yield { kind, bytes };
  if (type === 'application/pdf') yield { kind: 'document', bytes };
}

function addressed(type: JsonValue | undefined): MediaKind {
  return typeof type === 'string' && type.startsWith('image/') ? 'image' : 'reference';
}

/** Finds signatures where they may be: not in the turns of other roles than the model's. */
function* sealedOf(body: JsonObject): Generator<string> {
  for (const [name, value] of Object.entries(body)) {
    const isTurns = name === 'messages' || name === 'contents';
    for (const one of isTurns ? items(value) : [value]) {
      if (!isTurns || isOfModel(member(one, 'role'))) yield* sealedIn(one);
    }
  }
}

function isOfModel(role: JsonValue | undefined): boolean {
  return role === 'assistant' || role === 'model';
}

/** Finds signatures, which no provider reads as text. */
function* sealedIn(value: JsonValue): Generator<string> {
  if (Array.isArray(value)) for (const item of items(value)) yield* sealedIn(item);
  if (!isJsonObject(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    const isOfReasoning = /^(?:reasoning|thinking)/.test(String(member(value, 'type')));
    const isRedacted = member(value, 'type') === 'redacted_thinking';
    const isSealed =
      /^thought_?signature$/i.test(name) ||
      (name === 'signature' && isOfReasoning) ||
      (name === 'data' && isRedacted);
    if (!isSealed) yield* sealedIn(inner);
    else if (typeof inner === 'string' && /^[A-Za-z0-9+/=]+$/.test(inner)) yield inner;
  }
}

function replyTo(
  { path }: UpstreamRequest,
  body: unknown,
  usage: Usage,
): { readonly type: string; readonly text: string } {
  const isStreamed = path.includes(':stream') || member(body, 'stream') === true;
  const documents = path.endsWith('/images/generations')
    ? [images(usage)]
    : path.endsWith('/responses')
      ? responsesReply(usage, isStreamed)
      : path.includes('/messages')
        ? anthropicReply(usage, isStreamed)
        : path.includes('/chat/completions')
          ? openaiReply(usage, isStreamed)
          : [geminiReply(usage)];
  if (!isStreamed) return { type: 'application/json', text: JSON.stringify(documents[0]) };
  const done = path.includes('/chat/completions') ? 'data: [DONE]\n\n' : '';
  return { type: 'text/event-stream', text: documents.map(event).join('') + done };
}

function event(document: object): string {
  return `data: ${JSON.stringify(document)}\n\n`;
}

function images({ input, output, images: made }: Usage): object {
  const data = Array.from({ length: made }, () => ({ b64_json: 'aGk=' }));
  return { created: 1, data, usage: { input_tokens: input, output_tokens: output } };
}

function openaiReply(reported: Usage, isStreamed: boolean): readonly object[] {
  const { input, output, media, isMostExpensive } = reported;
  const message = { role: 'assistant', content: 'Hi!' };
  const choice = { index: 0, finish_reason: 'stop', [isStreamed ? 'delta' : 'message']: message };
  const kinds = {
    prompt_tokens_details: { cache_write_tokens: input - media, audio_tokens: media },
    completion_tokens_details: { image_tokens: output },
  };
  const usage = {
    ...{ prompt_tokens: input, completion_tokens: output },
    ...(isMostExpensive ? kinds : {}),
  };
  return isStreamed
    ? [{ choices: [choice] }, { choices: [], usage }]
    : [{ choices: [choice], usage }];
}

function responsesReply(reported: Usage, isStreamed: boolean): readonly object[] {
  const { input, output, media, isMostExpensive } = reported;
  const kinds = {
    input_tokens_details: { cache_write_tokens: input - media, audio_tokens: media },
    output_tokens_details: { image_tokens: output },
  };
  const usage = {
    ...{ input_tokens: input, output_tokens: output },
    ...(isMostExpensive ? kinds : {}),
  };
  const content = [{ type: 'output_text', text: 'Hi!', annotations: [] }];
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content };
  const response = { id: 'resp_1', object: 'response', model: 'm', status: 'completed' };
  const whole = { ...response, output: [message], usage };
  if (!isStreamed) return [whole];
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.done', output_index: 0, item: message },
    { type: 'response.completed', response: whole },
  ];
}

function geminiReply(reported: Usage): object {
  const { input, output, images: made, media, isMostExpensive } = reported;
  const kinds = {
    promptTokensDetails: [{ modality: 'AUDIO', tokenCount: media }],
    candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: output }],
  };
  const image = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
  const parts = [{ text: 'Hi!' }, ...Array.from({ length: made }, () => image)];
  return {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: {
      ...{ promptTokenCount: input, candidatesTokenCount: output },
      ...(isMostExpensive ? kinds : {}),
    },
  };
}

function anthropicReply(reported: Usage, isStreamed: boolean): readonly object[] {
  const { input, output, isMostExpensive } = reported;
  const usage = isMostExpensive
    ? { input_tokens: 0, cache_creation_input_tokens: input, output_tokens: output }
    : { input_tokens: input, output_tokens: output };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', usage };
  const block = { type: 'text', text: 'Hi!' };
  if (!isStreamed) return [{ ...message, content: [block], stop_reason: 'end_turn' }];
  return [
    { type: 'message_start', message: { ...message, content: [] } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi!' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ];
}
