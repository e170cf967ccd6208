/** OpenAI: its paths, its authentication, and its images. */
import { type JsonObject, type JsonValue, member } from '../../json.ts';
import { embeddingsScript } from './embeddings.ts';
import { chatScript } from './openai-chat.ts';
import {
  counted,
  type FaultReplies,
  faultNames,
  openaiError,
  openaiFailure,
  openaiStreamError,
  type Provider,
  type ProviderRequest,
  type ReplyContext,
  refuseBody,
  storedScript,
  withFault,
} from './provider.ts';
import { imageTokens, openaiHeaders, openaiModels } from './recordings.ts';
import { compactScript, inputTokensScript, responsesScript } from './responses.ts';
import { gradientPng } from './samples.ts';
import { json, type Script, withHeaders } from './scripts.ts';

const modelsPath = '/v1/models';
const responsesPath = '/v1/responses';

/** Owns every path: OpenAI refuses those that no other provider owns. */
export const openai: Provider = {
  owns: () => true,
  refuseKey: ({ headers: { authorization }, path }, apiKey) => {
    if (authorization === `Bearer ${apiKey}` || path.startsWith(imagePath)) return undefined;
    if (authorization === undefined) {
      return openaiError(
        401,
        "You didn't provide an API key. You need to provide your API key in an Authorization " +
          'header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).',
      );
    }
    return openaiError(401, 'Incorrect API key provided: sk-****.', { code: 'invalid_api_key' });
  },
  reply: (request, context) => {
    const script = route(request, context);
    return withHeaders(script, { ...openaiHeaders, 'x-request-id': counted('req_', context) });
  },
};

function route({ method, path, body, origin }: ProviderRequest, context: ReplyContext): Script {
  if (method === 'POST' && path === '/v1/chat/completions') return chatScript(body, context);
  if (method === 'POST' && path === '/v1/images/generations')
    return imagesScript(body, context, origin);
  if (method === 'POST' && path === '/v1/embeddings') return embeddingsScript(body, context);
  if (path === responsesPath || path.startsWith(`${responsesPath}/`)) {
    const served = responsesRoute(method, path.slice(responsesPath.length + 1), body, context);
    if (served !== undefined) return served;
  }
  if (method === 'GET' && path === modelsPath) {
    const data = modelNames().map((id) => modelEntry(id, context));
    return json(200, { object: 'list', data });
  }
  if (method === 'GET' && path.startsWith(`${modelsPath}/`)) {
    return oneModel(path.slice(modelsPath.length + 1), context);
  }
  if (method === 'GET' && path.startsWith(imagePath)) {
    return { headers: { 'content-type': 'image/png' }, body: gradientPng(64, 64) };
  }
  return openaiError(404, `Invalid URL (${method} ${path})`);
}

function responsesRoute(
  method: string,
  below: string,
  body: JsonValue | undefined,
  context: ReplyContext,
): Script | undefined {
  if (method === 'POST' && below === '') return responsesScript(body, context);
  if (method === 'POST' && below === 'input_tokens') return inputTokensScript(body);
  if (method === 'POST' && below === 'compact') return compactScript(body, context);
  return below === '' ? undefined : storedScript(method, below, context.stored);
}

function oneModel(encodedId: string, context: ReplyContext): Script {
  const id = modelNames().find((name) => name === encodedId);
  if (id !== undefined) return json(200, modelEntry(id, context));
  return openaiError(404, `The model '${encodedId}' does not exist`, {
    param: 'model',
    code: 'model_not_found',
  });
}

function modelNames(): readonly string[] {
  return [...openaiModels, ...faultNames];
}

function modelEntry(id: string, context: ReplyContext): JsonObject {
  return { id, object: 'model', created: context.createdAtSeconds, owned_by: 'system' };
}

const maxSide = 1024;

const imagePath = '/files/images/';

/** Images have the requested `size`, at most 1024 per side, or 64 × 64 by default. */
function imagesScript(body: JsonValue | undefined, context: ReplyContext, origin: string): Script {
  const refusal = refuseBody(body, 'prompt');
  if (refusal !== undefined) return refusal;

  const model = String(member(body, 'model'));

  const faultReplies: FaultReplies = {
    error: openaiFailure,
    streamError: openaiStreamError,
    blocked: () =>
      openaiError(400, 'Your request was rejected by the safety system.', {
        type: 'image_generation_user_error',
        code: 'moderation_blocked',
      }),
    empty: () => json(200, { created: context.createdAtSeconds, data: [] }),
    slowMs: context.slowMs,
  };
  const script = returnsUrls(model, body)
    ? urls(body, context, origin)
    : base64(model, body, context);
  return withFault(model, script, faultReplies);
}

/** DALL·E returns URLs unless Base64 is requested, GPT-image never, others on request. */
function returnsUrls(model: string, body: JsonValue | undefined): boolean {
  const format =
    member(body, 'response_format') ?? (model.startsWith('dall-e') ? 'url' : 'b64_json');
  return format === 'url';
}

function urls(body: JsonValue | undefined, context: ReplyContext, origin: string): Script {
  return json(200, {
    created: context.createdAtSeconds,
    data: perImage(body, () => ({ url: `${origin}${imagePath}${counted('img-', context)}.png` })),
  });
}

function base64(model: string, body: JsonValue | undefined, context: ReplyContext): Script {
  const [width, height] = sizeOf(body) ?? [64, 64];
  const image = gradientPng(Math.min(width, maxSide), Math.min(height, maxSide));
  const data = perImage(body, () => ({ b64_json: image.toString('base64') }));
  if (model.startsWith('dall-e')) return json(200, { created: context.createdAtSeconds, data });
  return json(200, {
    created: context.createdAtSeconds,
    ...described(body),
    data,
    usage: usage(body),
  });
}

function perImage(body: JsonValue | undefined, image: () => JsonObject): readonly JsonObject[] {
  return Array.from({ length: imageCount(body) }, image);
}

export function imageCount(body: JsonValue | undefined): number {
  return Number(member(body, 'n') ?? 1);
}

/** The requested width and height; undefined where `size` is neither `auto` nor two numbers. */
export function sizeOf(body: JsonValue | undefined): readonly [number, number] | undefined {
  const size = member(body, 'size') ?? 'auto';
  if (size === 'auto') return [64, 64];
  const [, width, height] = /^([1-9]\d{0,3})x([1-9]\d{0,3})$/.exec(String(size)) ?? [];
  return width === undefined || height === undefined ? undefined : [Number(width), Number(height)];
}

function described(body: JsonValue | undefined): JsonObject {
  return {
    background: 'opaque',
    output_format: 'png',
    quality: qualityOf(body),
    size: member(body, 'size') ?? 'auto',
  };
}

/** The requested quality, by default the lowest. */
function qualityOf(body: JsonValue | undefined): string {
  const quality = member(body, 'quality');
  return typeof quality === 'string' && Object.hasOwn(imageTokens, quality) ? quality : 'low';
}

export function usage(body: JsonValue | undefined): JsonObject {
  const textTokens = 13;
  const outputTokens = (imageTokens[qualityOf(body)] ?? 0) * imageCount(body);
  return {
    input_tokens: textTokens,
    input_tokens_details: { text_tokens: textTokens, image_tokens: 0 },
    output_tokens: outputTokens,
    total_tokens: textTokens + outputTokens,
  };
}
