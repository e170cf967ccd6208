/** The members of image and embedding requests whose values OpenAI and Google refuse. */
import { isJsonObject, items, type JsonValue, member } from '../../src/json.ts';
import {
  dimensionsOf,
  fullDimensions,
  inputsOf,
  mostDimensions,
  partsOf,
} from '../../src/testing/providers/embeddings.ts';
import type { RecordedCall } from '../../src/testing/providers/exchange.ts';
import { geminiError } from '../../src/testing/providers/gemini-content.ts';
import { sizeOf } from '../../src/testing/providers/openai.ts';
import { openaiError } from '../../src/testing/providers/provider.ts';
import { geminiHeaders, openaiHeaders } from '../../src/testing/providers/recordings.ts';
import type { Script } from '../../src/testing/providers/scripts.ts';

const maxInputs = 2_048;
const maxRequests = 100;

/** OpenAI's refusal of a request for images, or undefined. */
export function refusedImages(call: RecordedCall): Script | undefined {
  const body = call.json();
  if (typeof (member(body, 'prompt') ?? '') !== 'string') {
    return refused("Missing required parameter: 'prompt'.", 'prompt', 'missing_required_parameter');
  }
  const isOfGpt = String(member(body, 'model')).startsWith('gpt-image');
  if (isOfGpt && member(body, 'response_format') !== undefined) {
    return refused("Unknown parameter: 'response_format'.", 'response_format', 'unknown_parameter');
  }
  const n = member(body, 'n') ?? 1;
  if (typeof n !== 'number' || !Number.isInteger(n) || n < 1 || n > 10) {
    return refused("Invalid 'n': expected an integer between 1 and 10.", 'n', 'invalid_value');
  }
  if (sizeOf(body) !== undefined) return undefined;
  const message =
    "Invalid value for 'size'. Supported values are: '1024x1024', '1024x1536', '1536x1024', " +
    "and 'auto'.";
  return refused(message, 'size', 'invalid_value');
}

/** OpenAI's refusal of a request for embeddings, or undefined. */
export function refusedEmbeddings(call: RecordedCall): Script | undefined {
  const body = call.json();
  const input = member(body, 'input');
  if (input === undefined) return undefined;
  const inputs = inputsOf(input);
  const isValid = inputs.length > 0 && inputs.length <= maxInputs && inputs.every(isInput);
  if (!isValid) return refused("'$.input' is invalid. Please check the API reference.", 'input');
  const format = member(body, 'encoding_format') ?? 'float';
  if (format !== 'float' && format !== 'base64') {
    const message = "Invalid value for 'encoding_format'. Supported values are: float and base64.";
    return refused(message, 'encoding_format');
  }
  const most = mostDimensions(String(member(body, 'model')));
  const dimensions = member(body, 'dimensions') ?? most;
  const isWidth = Number.isInteger(dimensions) && Number(dimensions) >= 1;
  if (isWidth && Number(dimensions) <= most) return undefined;
  const message = `Invalid value for 'dimensions'. Must be an integer from 1 to ${most}.`;
  return refused(message, 'dimensions');
}

/** Google's refusal of a request for one embedding or for a batch, or undefined. */
export function refusedByGoogleEmbeddings(call: RecordedCall): Script | undefined {
  const [, name = '', method] =
    /^\/v1beta\/models\/(.+):(embedContent|batchEmbedContents)(?:\?|$)/.exec(call.path) ?? [];
  if (method === undefined) return undefined;
  const kind = method === 'embedContent' ? 'one' : 'batch';
  const body = call.json();
  const requests = kind === 'one' ? [body ?? null] : items(member(body, 'requests'));
  const problem = problemOf(decodeURIComponent(name), requests, kind);
  return problem === undefined
    ? undefined
    : geminiError(400, 'INVALID_ARGUMENT', problem, [], geminiHeaders);
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

function isInput(input: JsonValue): boolean {
  if (typeof input === 'string') return input !== '';
  const ids = items(input);
  return ids.length > 0 && ids.every((id) => Number.isInteger(id));
}

function refused(message: string, param: string, code?: string): Script {
  const details = code === undefined ? { param } : { param, code };
  return openaiError(400, message, details, openaiHeaders);
}
