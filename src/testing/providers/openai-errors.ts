/** OpenAI's refusals: its error object and error texts. */
import { isJsonObject, type JsonValue, member } from '../../json.ts';
import { json, type Script, type ScriptHeaders } from './scripts.ts';

/** A refusal in OpenAI's format; `type` is `invalid_request_error` by default. */
export function openaiError(
  status: number,
  message: string,
  details: { readonly type?: string; readonly param?: string; readonly code?: string } = {},
  headers: ScriptHeaders = {},
): Script {
  const { type = 'invalid_request_error', param = null, code = null } = details;
  return json(status, { error: { message, type, param, code } }, headers);
}

export function openaiFailure(status: 429 | 500 | 503): Script {
  if (status === 429) {
    return openaiError(
      429,
      'Rate limit reached in organization org-fake on requests per min (RPM): Limit 3, Used 3, ' +
        'Requested 1. Please try again in 2s.',
      { type: 'requests', code: 'rate_limit_exceeded' },
      { 'retry-after': '2', 'retry-after-ms': '2000' },
    );
  }
  const message =
    status === 500
      ? 'The server had an error while processing your request. Sorry about that!'
      : 'The server is currently overloaded with other requests. Sorry about that!';
  return openaiError(status, message, { type: 'server_error' });
}

export const openaiStreamError: string = `data: ${JSON.stringify({
  error: {
    message: 'The server had an error while processing your request. Sorry about that!',
    type: 'server_error',
    param: null,
    code: null,
  },
})}\n\n`;

export function refuseBody(body: JsonValue | undefined, required?: string): Script | undefined {
  if (!isJsonObject(body)) {
    return openaiError(
      400,
      "We could not parse the JSON body of your request. (HINT: This likely means you aren't " +
        'using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was ' +
        'sent was not valid JSON.)',
    );
  }
  const model = member(body, 'model');
  if (typeof model !== 'string' || model === '') {
    return openaiError(400, 'you must provide a model parameter');
  }
  if (required === undefined || member(body, required) !== undefined) return undefined;
  const message = `Missing required parameter: '${required}'.`;
  return openaiError(400, message, { param: required, code: 'missing_required_parameter' });
}
