/**
 * `POST /v1/embeddings` as OpenAI replies to it, and `:embedContent` and `:batchEmbedContents` as
 * Google does. The same text always has the same vector, and different texts differ.
 */
import { items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { geminiError, geminiFailure, geminiStreamError } from './gemini-content.ts';
import {
  openaiError,
  openaiFailure,
  openaiStreamError,
  type ReplyContext,
  refuseBody,
  withFault,
} from './provider.ts';
import { json, type Script } from './scripts.ts';

export function embeddingsScript(body: JsonValue | undefined, context: ReplyContext): Script {
  const refusal = refuseBody(body, 'input');
  if (refusal !== undefined) return refusal;
  const model = String(member(body, 'model'));
  const inputs = inputsOf(member(body, 'input'));
  const dimensions = Number(member(body, 'dimensions') ?? mostDimensions(model));
  const isPacked = member(body, 'encoding_format') === 'base64';
  const data = inputs.map((input, index) => {
    const vector = unitVector(JSON.stringify(input), dimensions);
    return { object: 'embedding', index, embedding: isPacked ? packed(vector) : vector };
  });
  const tokens = inputs.reduce<number>((sum, input) => sum + tokensOf(input), 0);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return withFault(model, json(200, { object: 'list', data, model, usage }), {
    error: openaiFailure,
    streamError: openaiStreamError,
    blocked: () =>
      openaiError(400, 'Your input was rejected.', { code: 'content_policy_violation' }),
    empty: () => json(200, { object: 'list', data: [], model, usage }),
    slowMs: context.slowMs,
  });
}

/** The length of a whole vector of this model of OpenAI. */
export function mostDimensions(model: string): number {
  return model.endsWith('-large') ? 3_072 : 1_536;
}

/** The inputs, each a text or a list of token ids. */
export function inputsOf(input: JsonValue | undefined): readonly JsonValue[] {
  const list = items(input);
  return typeof input === 'string' || list.every((one) => typeof one === 'number')
    ? [input ?? null]
    : list;
}

/** About four characters a token, as English has. */
function tokensOf(input: JsonValue): number {
  return typeof input === 'string' ? Math.ceil(input.length / 4) : items(input).length;
}

/** Of whole vectors of Google. */
export const fullDimensions = 3_072;
/** The length of shortened vectors of gemini-embedding-001, whose full ones have length 1. */
const shortenedLength = 0.58;
const imageTokens = 258;

export function embedScript(
  model: string,
  body: JsonValue | undefined,
  kind: 'one' | 'batch',
  context: ReplyContext,
): Script {
  const requests = kind === 'one' ? [body ?? null] : items(member(body, 'requests'));
  const vectors = requests.map((request) => ({ values: vectorOf(model, request) }));
  const reply: JsonObject =
    kind === 'one' ? { embedding: vectors[0] ?? null } : { embeddings: vectors };
  return withFault(model, json(200, { ...reply, ...embedUsage(model, requests) }), {
    error: geminiFailure,
    streamError: geminiStreamError,
    blocked: () => geminiError(400, 'INVALID_ARGUMENT', 'The content was blocked.'),
    empty: () => json(200, {}),
    slowMs: context.slowMs,
  });
}

/** All parts of one content are one vector. */
function vectorOf(model: string, request: JsonValue): readonly number[] {
  const width = dimensionsOf(request);
  const vector = unitVector(JSON.stringify(partsOf(request)), width);
  const isShortened = model.includes('embedding-001') && width < fullDimensions;
  return isShortened ? vector.map((number) => Math.fround(number * shortenedLength)) : vector;
}

/** The first model never reported its usage. */
function embedUsage(model: string, requests: readonly JsonValue[]): JsonObject {
  if (model.includes('embedding-001')) return {};
  const parts = requests.flatMap(partsOf);
  const texts = parts
    .map((part) => String(member(part, 'text') ?? ''))
    .filter((text) => text !== '');
  const textTokens = texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
  const mediaTokens = (parts.length - texts.length) * imageTokens;
  const details = [
    { modality: 'TEXT', tokenCount: textTokens },
    { modality: 'IMAGE', tokenCount: mediaTokens },
  ].filter(({ tokenCount }) => tokenCount > 0);
  return {
    usageMetadata: { promptTokenCount: textTokens + mediaTokens, promptTokenDetails: details },
  };
}

export function partsOf(request: JsonValue): readonly JsonValue[] {
  return items(member(member(request, 'content'), 'parts'));
}

export function dimensionsOf(request: JsonValue): number {
  return Number(
    member(request, 'outputDimensionality') ??
      member(request, 'output_dimensionality') ??
      fullDimensions,
  );
}

/** A vector of length 1 with numbers that a 32-bit float holds exactly. */
export function unitVector(text: string, dimensions: number): readonly number[] {
  const next = numbersFrom(seedOf(text));
  const numbers = Array.from({ length: dimensions }, next);
  const length = Math.hypot(...numbers);
  return numbers.map((number) => Math.fround(number / length));
}

/** The numbers as 32-bit floats, little endian, one after the other. */
function packed(numbers: readonly number[]): string {
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [index, number] of numbers.entries()) bytes.writeFloatLE(number, index * 4);
  return bytes.toString('base64');
}

/** FNV-1a over the UTF-16 units of the text. */
function seedOf(text: string): number {
  let seed = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    seed = Math.imul(seed ^ text.charCodeAt(at), 0x01000193);
  }
  return seed;
}

/** Numbers from -0.5 to 0.5 (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 - 0.5;
  };
}
