/** `POST /v1/embeddings` as OpenAI replies to it, with vectors of length 1. */
import { items, type JsonValue, member } from '../../json.ts';
import { withFault } from './faults.ts';
import { openaiError, openaiFailure, openaiStreamError, refuseBody } from './openai-errors.ts';
import type { ReplyContext } from './provider.ts';
import { json, type Script } from './scripts.ts';
import { packed, unitVector } from './vectors.ts';

const maxInputs = 2_048;
/** Of `text-embedding-3-large`; the other models have half as many. */
const largeDimensions = 3_072;

/** The reply, with the fault that its model's name stands for. */
export function embeddingsScript(body: JsonValue | undefined, context: ReplyContext): Script {
  const refusal = refuseBody(body) ?? refuseFields(body);
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

function refuseFields(body: JsonValue | undefined): Script | undefined {
  const input = member(body, 'input');
  if (input === undefined) {
    const message = "Missing required parameter: 'input'.";
    return openaiError(400, message, { param: 'input', code: 'missing_required_parameter' });
  }
  const inputs = inputsOf(input);
  const isValid = inputs.length > 0 && inputs.length <= maxInputs && inputs.every(isInput);
  if (!isValid) {
    const message = "'$.input' is invalid. Please check the API reference.";
    return openaiError(400, message, { param: 'input' });
  }
  const format = member(body, 'encoding_format') ?? 'float';
  if (format !== 'float' && format !== 'base64') {
    const message = "Invalid value for 'encoding_format'. Supported values are: float and base64.";
    return openaiError(400, message, { param: 'encoding_format' });
  }
  const most = mostDimensions(String(member(body, 'model')));
  const dimensions = member(body, 'dimensions') ?? most;
  const isWidth = Number.isInteger(dimensions) && Number(dimensions) >= 1;
  if (!isWidth || Number(dimensions) > most) {
    const message = `Invalid value for 'dimensions'. Must be an integer from 1 to ${most}.`;
    return openaiError(400, message, { param: 'dimensions' });
  }
  return undefined;
}

function mostDimensions(model: string): number {
  return model.endsWith('-large') ? largeDimensions : largeDimensions / 2;
}

/** The inputs, each a text or a list of token ids. */
function inputsOf(input: JsonValue | undefined): readonly JsonValue[] {
  const list = items(input);
  return typeof input === 'string' || list.every((one) => typeof one === 'number')
    ? [input ?? null]
    : list;
}

function isInput(input: JsonValue): boolean {
  if (typeof input === 'string') return input !== '';
  const ids = items(input);
  return ids.length > 0 && ids.every((id) => Number.isInteger(id));
}

/** About four characters a token, as English has. */
function tokensOf(input: JsonValue): number {
  return typeof input === 'string' ? Math.ceil(input.length / 4) : items(input).length;
}
