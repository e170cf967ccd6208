/** Anthropic: its paths, its authentication, and its refusals. */
import { isJsonObject, type JsonValue } from '../../json.ts';
import { anthropicError, refuseBody } from './anthropic-errors.ts';
import { messageScript } from './anthropic-messages.ts';
import { anthropicHeaders } from './anthropic-recordings.ts';
import type { Provider, ProviderRequest, ReplyContext } from './provider.ts';
import { json, type Script, withHeaders } from './scripts.ts';

const messagesPath = '/v1/messages';

/** Owns `/v1/messages` and everything below it; the other paths of `/v1` are OpenAI's. */
export const anthropic: Provider = {
  owns: (path) => path === messagesPath || path.startsWith(`${messagesPath}/`),
  refuseKey: ({ headers }, apiKey) => {
    const key = headers['x-api-key'];
    if (key === apiKey) return undefined;
    const message = key === undefined ? 'x-api-key header is required' : 'invalid x-api-key';
    return anthropicError(401, 'authentication_error', message);
  },
  reply: (request, context) => withHeaders(route(request, context), anthropicHeaders),
};

function route(request: ProviderRequest, context: ReplyContext): Script {
  const { method, path, body } = request;
  const counts = path === `${messagesPath}/count_tokens`;
  if (path !== messagesPath && !counts) return anthropicError(404, 'not_found_error', 'Not Found');
  if (method !== 'POST') {
    return anthropicError(405, 'invalid_request_error', 'Method Not Allowed', { allow: 'POST' });
  }
  if (!counts) return messageScript(body, context);
  return refuseBody(body, 'model', 'messages') ?? json(200, { input_tokens: countOf(body) });
}

/** A quarter of the bytes, so that a longer prompt counts more. */
function countOf(body: JsonValue | undefined): number {
  const { messages, system, tools }: Readonly<Record<string, JsonValue>> = isJsonObject(body)
    ? body
    : {};
  return Math.ceil(Buffer.byteLength(JSON.stringify([system, tools, messages])) / 4);
}
