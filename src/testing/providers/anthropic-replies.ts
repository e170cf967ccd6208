/**
 * Anthropic's replies as data, and its refusals. Adapted (shortened, ids replaced) from traffic
 * recorded by pydantic-ai (MIT, Pydantic Services Inc.) and vercel/ai (Apache-2.0).
 */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { json, type Script, type ScriptHeaders } from './scripts.ts';

export const claudePieces: readonly string[] = [
  'Hello',
  '! I',
  "'m doing well, thank you for asking",
  '. How are you doing today?',
];

export const claudeAfterToolPieces: readonly string[] = ['It is', ' 57°F and', ' foggy right now.'];

export const thinkingPieces: readonly string[] = ['This is a straightforward', ' greeting', '.'];

/** The signature of the thinking: a caller has to send it back byte for byte. */
export const claudeSignature: string =
  'EqoBCkYICxgCKkDdadQOXMzNBqjrNVAKWsgUfg49NpPg026zBGxIIGwEHVCq0JTW/P9fKHjZdjgO8Dyx03YDw6hN0w1H' +
  'ucifXFggEgzoVS5Gogi9nvJSOA8aDDYuCAX4nGGkeHQLayIw+MWbf/TYU4AqT1X89p4S7fe7LOO+B8o24yCHQ8cFK9QK';

/** Input and output tokens of each kind of reply. */
export const claudeTokens = {
  text: [12, 30],
  thinking: [43, 58],
  afterTool: [647, 33],
  toolUse: [572, 53],
  structured: [210, 32],
  refused: [18, 5],
} as const;

export const refusalDetails: JsonObject = {
  type: 'refusal',
  category: 'cyber',
  explanation:
    'This request triggered restrictions on violative cyber content and was blocked under ' +
    "Anthropic's Usage Policy.",
};

/** The request id, in a header and in every error. */
const requestId = 'req_011Ca7jT9AHpgXgdv8igm4z9';

export const anthropicHeaders: Readonly<Record<string, string>> = {
  'request-id': requestId,
  'anthropic-organization-id': '00000000-0000-4000-8000-000000000000',
  'anthropic-ratelimit-requests-limit': '50',
  'anthropic-ratelimit-requests-remaining': '49',
  'cf-cache-status': 'DYNAMIC',
  server: 'cloudflare',
};

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
