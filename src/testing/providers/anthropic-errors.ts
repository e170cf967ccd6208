/** Anthropic's refusals: its error object and error texts. */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { requestId } from './anthropic-recordings.ts';
import { json, type Script, type ScriptHeaders } from './scripts.ts';

export function anthropicError(
  status: number,
  type: string,
  message: string,
  headers: ScriptHeaders = {},
): Script {
  return json(status, errorDocument(type, message), headers);
}

/** Anthropic uses 529 where others use 503. */
export function anthropicFailure(status: 429 | 500 | 503): Script {
  if (status === 429) {
    return anthropicError(
      429,
      'rate_limit_error',
      "This request would exceed your organization's rate limit of 50 requests per minute.",
      { 'retry-after': '2', 'anthropic-ratelimit-requests-remaining': '0' },
    );
  }
  if (status === 500) return anthropicError(500, 'api_error', 'Internal server error');
  return anthropicError(529, 'overloaded_error', 'Overloaded');
}

export const anthropicStreamError: string = `event: error\ndata: ${JSON.stringify(
  errorDocument('overloaded_error', 'Overloaded'),
)}\n\n`;

export function refuseBody(
  body: JsonValue | undefined,
  ...required: readonly string[]
): Script | undefined {
  const refuse = (message: string): Script => anthropicError(400, 'invalid_request_error', message);
  if (!isJsonObject(body)) {
    return refuse('The request body is not valid JSON: unexpected character');
  }
  const missing = required.find((name) => member(body, name) === undefined);
  if (missing !== undefined) return refuse(`${missing}: Field required`);
  return items(member(body, 'messages')).length > 0
    ? undefined
    : refuse('messages: at least one message is required');
}

function errorDocument(type: string, message: string): JsonObject {
  return { type: 'error', error: { type, message }, request_id: requestId };
}
