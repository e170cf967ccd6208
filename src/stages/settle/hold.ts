/**
 * Computes the hold of a call: an upper bound on what it can cost, from the bytes that will be
 * sent.
 */
import type { Call, InputSize, MediaUse, PromptSize } from '../../call.ts';
import { GatewayError } from '../../errors.ts';
import type { ImagePrice, Nanos } from '../../money.ts';
import type { MediaPartTokens, Model } from '../../ports/models/catalog.ts';
import {
  hasHourRate,
  imageNanos,
  maxCostOf,
  type PricedRequest,
  type UsageBound,
} from '../../prices/cost.ts';
import { type MemberBounds, memberBounds, noMembers } from '../models/member-costs.ts';

const defaultOutputTokens = 16_384;
/** Tokens per byte, if the model does not state it. English and code have about 0.25. */
const defaultTokensPerByte = 0.4;
/** None of 24 recorded signatures had more tokens than a fifth of its bytes. */
const bytesPerSealedToken = 5;
const defaultMediaTokens = 4_096;
/** Audio and video are rarely denser: 32 tokens a second at 640 bytes a second. */
const mediaTokensPerByte = 0.05;
/** Bytes that a relay or a translation may add around a request. */
export const framingBytes: number = 128;
const framingBytesPerMessage = 32;
/** Tokens that an embedding model may add to a text: some mark its beginning and its end. */
const markTokens = 2;

/** Text has other rates than media, which may be audio or images. */
export interface PromptTokens {
  readonly text: number;
  readonly media: number;
}

/** The most that a call may cost, and what its cost depends on apart from its usage. */
export interface Hold {
  readonly nanos: Nanos;
  /** The estimated input tokens of the prompt, used if no upstream counts them. */
  readonly inputTokens: number;
  /** Includes the bytes that the gateway may add around the prompt. */
  readonly prompt: PromptTokens;
  readonly bound: UsageBound;
  readonly request: PricedRequest;
  /** The amounts that cost-raising members of the request add to the bound. */
  readonly members: MemberBounds;
  /** False if nothing bounds the output: the stream may outgrow the hold. */
  readonly isBounded: boolean;
}

/**
 * Computes the hold of a call.
 *
 * @throws GatewayError `invalid_request` for a size or quality without a price, because no price is
 *   ever guessed, and for media whose cost nothing bounds
 */
export function holdFor(call: Call, model: Model): Hold {
  const { price } = model;
  if (call.operation.isFree || price.per === 'free') return nothing;
  if (price.per === 'image') checkImagePrice(call, price);
  const estimate = promptBound(call.demand.prompt, model);
  const prompt = promptBound(withFraming(call.demand.prompt), model);
  const members = memberBounds(call, model);
  const { size, quality } = call.demand;
  const request = { size, quality, members: members.members, maxCalls: members.maxCalls };
  const bound = usageBound(call, model, prompt, members);
  return {
    nanos: maxCostOf(bound, price, request),
    inputTokens: estimate.text + estimate.media,
    prompt,
    bound,
    request,
    members,
    isBounded: price.per !== 'token' || statedMaximum(call, model) !== undefined,
  };
}

const nothing: Hold = {
  nanos: 0n,
  inputTokens: 0,
  prompt: { text: 0, media: 0 },
  bound: { textTokens: 0, mediaTokens: 0, outputTokens: 0, images: 0, mayCacheForAnHour: false },
  request: {},
  members: noMembers,
  isBounded: true,
};

export function usageBound(
  call: Call,
  model: Model,
  { text, media }: PromptTokens,
  { inputTokens, outputTokens, generationsPerAnswer, promptPasses }: MemberBounds,
): UsageBound {
  const { candidates } = call.demand;
  const made = candidates * generationsPerAnswer;
  return {
    textTokens: text * promptPasses + inputTokens,
    mediaTokens: media * promptPasses,
    outputTokens: made * (outputBound(call, model) + outputTokens) + predictedTokens(call, model),
    images: made,
    mayCacheForAnHour: mayCacheForAnHour(call, model),
  };
}

/** Looks for `"ttl": "1h"` anywhere in the body, with the `1` or the `h` possibly escaped. */
function mayCacheForAnHour({ body }: Call, { price }: Model): boolean {
  if (price.per !== 'token' || !hasHourRate(price)) return false;
  return body.text.includes('1h') || body.text.includes('\\u00');
}

/**
 * The most input tokens that a prompt may count.
 *
 * @throws GatewayError `invalid_request` for media that nothing bounds, on a model priced by token
 */
export function promptTokens(size: PromptSize, model: Model): number {
  const { text, media } = promptBound(size, model);
  return text + media;
}

/** A prompt larger than the context keeps its media tokens, which cost more. */
export function promptBound(size: PromptSize, model: Model): PromptTokens {
  if (size.inputs !== undefined) return inputsBound(size, size.inputs, model);
  const { contextTokens = Number.MAX_SAFE_INTEGER, tokensPerByte = defaultTokensPerByte } = model;
  const tokens = Math.ceil(size.textBytes * tokensPerByte + size.sealedBytes / bytesPerSealedToken);
  let media = 0;
  for (const use of size.media) media += mediaTokens(use, model);
  media = Math.min(media, contextTokens);
  return { text: Math.min(tokens, contextTokens - media), media };
}

/** Each input has a context of its own, so that their sum is not clamped to one context. */
function inputsBound(
  { textBytes }: PromptSize,
  inputs: readonly InputSize[],
  model: Model,
): PromptTokens {
  const { contextTokens = Number.MAX_SAFE_INTEGER, tokensPerByte = defaultTokensPerByte } = model;
  let text = Math.ceil(textBytes * tokensPerByte);
  let media = 0;
  for (const input of inputs) {
    let mediaOfInput = 0;
    for (const use of input.media) mediaOfInput += mediaTokens(use, model);
    mediaOfInput = Math.min(mediaOfInput, contextTokens);
    const tokens = Math.ceil(input.textBytes * tokensPerByte) + input.tokens;
    text += Math.min(tokens, contextTokens - mediaOfInput);
    media += mediaOfInput;
  }
  return { text, media };
}

export function outputBound(call: Call, model: Model): number {
  return statedMaximum(call, model) ?? defaultOutputTokens;
}

/** Tokens of a predicted output; those that the model rejects are billed as output. */
export function predictedTokens({ demand }: Call, { tokensPerByte }: Model): number {
  return Math.ceil(demand.predictedBytes * (tokensPerByte ?? defaultTokensPerByte));
}

function withFraming(size: PromptSize): PromptSize {
  const { inputs } = size;
  if (inputs !== undefined) return { ...size, inputs: inputs.map(withMarks) };
  const framing = framingBytes + size.messages * framingBytesPerMessage;
  return { ...size, textBytes: size.textBytes + framing };
}

/** Nothing is added to an input of token ids. */
function withMarks(input: InputSize): InputSize {
  return input.textBytes === 0 ? input : { ...input, tokens: input.tokens + markTokens };
}

function mediaTokens(use: MediaUse, model: Model): number {
  const tokens = usualTokens(use, model);
  const { raisedBy = 1 } = use;
  // Nothing in the request bounds it, so the bound of a reference applies.
  if (raisedBy === Number.POSITIVE_INFINITY) {
    return Math.max(tokens, usualTokens({ ...use, kind: 'reference' }, model));
  }
  return Math.ceil(tokens * raisedBy);
}

/** The tokens of media without settings that raise them. */
function usualTokens({ kind, bytes, at, raisedBy, tokens }: MediaUse, model: Model): number {
  if (tokens !== undefined) return tokens;
  const stated: MediaPartTokens = model.mediaPartTokens ?? {};
  switch (kind) {
    case 'image':
      return stated.image ?? defaultMediaTokens;
    case 'audio':
    case 'video':
      return Math.max(stated[kind] ?? defaultMediaTokens, Math.ceil(bytes * mediaTokensPerByte));
    case 'document':
    case 'reference': {
      const most = stated[kind] ?? model.contextTokens;
      if (most !== undefined) return most;
      if (model.price.per !== 'token') return 0;
      throw unboundedMedia(at, raisedBy === undefined ? nouns[kind] : 'media with a raised size');
    }
  }
}

const nouns = {
  document: 'a document',
  reference: 'a reference to content outside the request',
} as const;

function unboundedMedia(at: string, what: string): GatewayError {
  return new GatewayError(
    'invalid_request',
    `\`${at}\` is ${what}, whose cost can't be bounded on this model. Send its text instead.`,
    { param: at, reason: 'cost_not_bounded' },
  );
}

/** A caller's limit above the model's is sent unchanged, but the hold assumes the model's. */
function statedMaximum({ demand }: Call, { maxOutputTokens }: Model): number | undefined {
  if (demand.maxOutputTokens === undefined) return maxOutputTokens;
  return Math.min(demand.maxOutputTokens, maxOutputTokens ?? Number.MAX_SAFE_INTEGER);
}

function checkImagePrice({ demand }: Call, price: ImagePrice): void {
  if (imageNanos(price, demand.size, demand.quality) !== undefined) return;
  // If the size alone has a price, the quality is the member that no price fits.
  const param = imageNanos(price, demand.size, undefined) === undefined ? 'size' : 'quality';
  throw new GatewayError(
    'invalid_request',
    `This model has no price for this size and quality. Change \`${param}\`, or leave both out.`,
    { param },
  );
}
