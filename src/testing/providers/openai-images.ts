/** `POST /v1/images/generations` as OpenAI replies to it, with valid images. */
import { type JsonObject, type JsonValue, member } from '../../json.ts';
import { type FaultReplies, withFault } from './faults.ts';
import { openaiError, openaiFailure, openaiStreamError, refuseBody } from './openai-errors.ts';
import { gradientPng } from './png.ts';
import { counted, type ReplyContext } from './provider.ts';
import { imageTokens } from './recordings.ts';
import { json, type Script } from './scripts.ts';

const maxSide = 1024;

export const imagePath = '/files/images/';

/** Images have the requested `size`, at most 1024 per side, or 64 × 64 by default. */
export function imagesScript(
  body: JsonValue | undefined,
  context: ReplyContext,
  origin: string,
): Script {
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

export function imageFileScript(): Script {
  return { headers: { 'content-type': 'image/png' }, body: gradientPng(64, 64) };
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
