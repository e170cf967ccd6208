/** `:embedContent` and `:batchEmbedContents` as Google replies to them. */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { withFault } from './faults.ts';
import { geminiError, geminiFailure, geminiStreamError } from './gemini-errors.ts';
import type { ReplyContext } from './provider.ts';
import { json, type Script } from './scripts.ts';
import { unitVector } from './vectors.ts';

const maxRequests = 100;
const fullDimensions = 3_072;
/** The length of shortened vectors of gemini-embedding-001, whose full ones have length 1. */
const shortenedLength = 0.58;
const imageTokens = 258;

/** The reply, with the fault that its model's name stands for. */
export function embedScript(
  model: string,
  body: JsonValue | undefined,
  kind: 'one' | 'batch',
  context: ReplyContext,
): Script {
  const requests = kind === 'one' ? [body ?? null] : items(member(body, 'requests'));
  const problem = problemOf(model, requests, kind);
  if (problem !== undefined) return geminiError(400, 'INVALID_ARGUMENT', problem);
  const vectors = requests.map((request) => ({ values: vectorOf(model, request) }));
  const reply: JsonObject =
    kind === 'one' ? { embedding: vectors[0] ?? null } : { embeddings: vectors };
  return withFault(model, json(200, { ...reply, ...usageOf(model, requests) }), {
    error: geminiFailure,
    streamError: geminiStreamError,
    blocked: () => geminiError(400, 'INVALID_ARGUMENT', 'The content was blocked.'),
    empty: () => json(200, {}),
    slowMs: context.slowMs,
  });
}

function problemOf(
  model: string,
  requests: readonly JsonValue[],
  kind: 'one' | 'batch',
): string | undefined {
  if (requests.length === 0) return '* BatchEmbedContentsRequest.requests: requests is required';
  if (requests.length > maxRequests) {
    const name = '* BatchEmbedContentsRequest.requests';
    return `${name}: at most ${maxRequests} requests can be in one batch`;
  }
  for (const [index, request] of requests.entries()) {
    const at =
      kind === 'one' ? 'EmbedContentRequest' : `BatchEmbedContentsRequest.requests[${index}]`;
    const named = member(request, 'model');
    const isNamed = named === undefined ? kind === 'one' : named === `models/${model}`;
    if (!isNamed) return `* ${at}.model: unexpected model name format`;
    if (!isJsonObject(member(request, 'content') ?? null) || partsOf(request).length === 0) {
      return `* ${at}.content: contents is not specified`;
    }
    const width = dimensionsOf(request);
    if (!Number.isInteger(width) || width < 1 || width > fullDimensions) {
      return `* ${at}.output_dimensionality: must be from 1 to ${fullDimensions}`;
    }
  }
  return undefined;
}

/** All parts of one content are one vector. */
function vectorOf(model: string, request: JsonValue): readonly number[] {
  const width = dimensionsOf(request);
  const vector = unitVector(JSON.stringify(partsOf(request)), width);
  const isShortened = model.includes('embedding-001') && width < fullDimensions;
  return isShortened ? vector.map((number) => Math.fround(number * shortenedLength)) : vector;
}

/** The first model never reported its usage. */
function usageOf(model: string, requests: readonly JsonValue[]): JsonObject {
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

function partsOf(request: JsonValue): readonly JsonValue[] {
  return items(member(member(request, 'content'), 'parts'));
}

function dimensionsOf(request: JsonValue): number {
  return Number(
    member(request, 'outputDimensionality') ??
      member(request, 'output_dimensionality') ??
      fullDimensions,
  );
}
