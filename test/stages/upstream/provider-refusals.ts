/**
 * Refusals of real providers: of what a caller named, of what an account may not use, and of an
 * account itself, with their statuses and documents.
 */
import type { DialectName } from '../../../src/ports/models/capabilities.ts';

/**
 * Who is to blame. `request`: the caller must fix it. `unknown`: the model is paused for a minute.
 */
export type Blamed = 'request' | 'model' | 'account' | 'credential' | 'unknown';

/** A provider's refusal. */
export interface Refused {
  readonly dialect: DialectName;
  readonly status: number;
  readonly blamed: Blamed;
  readonly message: string;
  /** Members of the error object in addition to its message and its numeric code. */
  readonly error?: Readonly<Record<string, unknown>>;
  /** The `code` that chat callers get, if it is not null. */
  readonly clientCode?: string;
  /** The `param` that the caller of a relayed call gets. */
  readonly param?: string;
}

const google = (
  status: number,
  blamed: Blamed,
  message: string,
  more: Partial<Refused> & { readonly reason?: string } = {},
): Refused => {
  const names: Readonly<Record<number, string>> = {
    400: 'INVALID_ARGUMENT',
    403: 'PERMISSION_DENIED',
    404: 'NOT_FOUND',
  };
  const { reason, ...rest } = more;
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason };
  const details = reason === undefined ? {} : { details: [info] };
  const error = { status: names[status], ...details, ...rest.error };
  return { dialect: 'gemini', status, blamed, message, ...rest, error };
};

const openai = (
  status: number,
  blamed: Blamed,
  message: string,
  error: Refused['error'] = {},
  more: Partial<Refused> = {},
): Refused => ({
  dialect: 'openai',
  status,
  blamed,
  message,
  error: { type: 'invalid_request_error', param: null, code: null, ...error },
  ...more,
});

const anthropic = (
  status: number,
  blamed: Blamed,
  type: string,
  message: string,
  more: Partial<Refused> = {},
): Refused => ({ dialect: 'anthropic', status, blamed, message, error: { type }, ...more });

const tooLong = { clientCode: 'context_length_exceeded' } as const;
const filtered = { clientCode: 'content_filter' } as const;

/** OpenRouter has its status in `code`, and the refusing provider in `metadata`. */
const openrouter = (
  status: number,
  blamed: Blamed,
  message: string,
  metadata: object,
  more: Partial<Refused> = {},
): Refused => ({
  dialect: 'openai',
  status,
  blamed,
  message,
  error: { code: status, metadata },
  ...more,
});

export const refusals: readonly Refused[] = [
  google(403, 'request', 'CachedContent not found (or permission denied)', {
    param: 'cachedContent',
  }),
  google(404, 'request', 'Not found: cached content metadata for 8841.', {
    param: 'cachedContent',
  }),
  google(403, 'request', 'cachedContents/abc-123 has expired', { param: 'cachedContent' }),
  google(403, 'request', 'You do not have permission to access the File x1 or it may not exist.', {
    param: 'fileData',
  }),
  google(403, 'request', 'You do not have permission to access the File api-key-expired.', {
    param: 'fileData',
  }),
  google(404, 'request', 'File files/abc123 does not exist.', { param: 'fileData' }),
  google(400, 'request', 'The File abc is not in an ACTIVE state.', {
    error: { status: 'FAILED_PRECONDITION' },
    param: 'fileData',
  }),
  google(403, 'request', 'You do not have access to the file search store fileSearchStores/a.', {
    param: 'tools',
  }),
  google(
    400,
    'request',
    'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
    tooLong,
  ),
  google(
    400,
    'request',
    'The input token count exceeds the maximum number of tokens allowed 1048576.',
    tooLong,
  ),
  google(
    403,
    'model',
    "Permission 'aiplatform.endpoints.predict' denied on resource '//x/models/y'.",
    {
      reason: 'IAM_PERMISSION_DENIED',
    },
  ),
  google(403, 'model', 'The caller does not have permission to use this model.'),
  google(404, 'model', 'models/gemini-9 is not found for API version v1beta, or is not supported.'),
  google(403, 'account', 'Generative Language API has not been used in project 1 before.', {
    reason: 'SERVICE_DISABLED',
  }),
  google(403, 'account', 'Requests to this API method are blocked.', {
    reason: 'API_KEY_SERVICE_BLOCKED',
  }),
  google(403, 'account', 'Your API key was reported as leaked. Please use another API key.'),
  google(400, 'account', 'User location is not supported for the API use.', {
    error: { status: 'FAILED_PRECONDITION' },
  }),
  google(400, 'credential', 'API key not valid. Please pass a valid API key.', {
    reason: 'API_KEY_INVALID',
  }),
  google(403, 'unknown', 'The caller does not have permission'),

  openai(403, 'model', 'Project `p` does not have access to model `gpt-9`', {
    code: 'model_not_found',
  }),
  openai(404, 'model', 'The model `gpt-9` does not exist or you do not have access to it.', {
    code: 'model_not_found',
  }),
  openai(403, 'model', 'Your organization must be verified to use the model `gpt-image-9`.'),
  openai(403, 'model', 'You are not allowed to sample from this model'),
  openai(404, 'model', 'The API deployment for this resource does not exist.', {
    code: 'DeploymentNotFound',
  }),
  openai(404, 'request', 'No such File object: file-abc123def', { param: 'id' }, { param: 'id' }),
  openai(404, 'request', "Container with id 'cntr_123456' not found."),
  openai(
    403,
    'unknown',
    'You have insufficient permissions for this operation. Missing scopes: a.b',
  ),
  openai(403, 'account', 'Country, region, or territory not supported', {
    code: 'unsupported_country_region_territory',
  }),
  openai(
    400,
    'request',
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
    { code: 'context_length_exceeded', param: 'messages' },
    { ...tooLong, param: 'messages' },
  ),
  openai(400, 'request', 'Your input exceeds the context window of this model.', {}, tooLong),
  openai(
    400,
    'request',
    'the request exceeds the available context size',
    {
      code: 400,
      type: 'exceed_context_size_error',
    },
    tooLong,
  ),
  openai(
    400,
    'request',
    "This model's maximum prompt length is 9 but the request contains 10 tokens.",
    {},
    tooLong,
  ),
  openai(400, 'request', 'Please reduce the length of the messages or completion.', {}, tooLong),
  openai(400, 'request', 'Your request exceeded model token limit: 8192', {}, tooLong),
  openai(
    400,
    'request',
    'Prompt contains 9 tokens, too large for model with 8 maximum context length',
    {},
    tooLong,
  ),
  openai(
    400,
    'request',
    'The response was filtered due to the prompt triggering a content management policy.',
    {
      code: 'content_filter',
      param: 'prompt',
      type: null,
      status: 400,
      innererror: { code: 'ResponsibleAIPolicyViolation' },
    },
    { ...filtered, param: 'prompt' },
  ),
  openai(
    400,
    'request',
    'Input data may contain inappropriate content.',
    {
      code: 'data_inspection_failed',
    },
    filtered,
  ),
  openai(
    400,
    'request',
    'Invalid prompt: your prompt was flagged as violating our usage policy.',
    {
      code: 'invalid_prompt',
    },
    { clientCode: 'invalid_prompt' },
  ),
  openai(
    400,
    'request',
    'Unsupported value.',
    { code: 'unsupported_value', param: 'temperature' },
    {
      clientCode: 'unsupported_value',
      param: 'temperature',
    },
  ),

  openrouter(
    403,
    'request',
    'This model requires moderation. Your input was flagged for "violence".',
    { reasons: ['violence'], flagged_input: 'a secret prompt', provider_name: 'X' },
    filtered,
  ),
  openrouter(
    403,
    'request',
    'Request blocked: prompt injection patterns detected',
    {
      patterns: ['x'],
      error_type: 'permission_denied',
    },
    filtered,
  ),
  openrouter(
    403,
    'request',
    'Refused.',
    { error_type: 'content_policy_violation' },
    {
      clientCode: 'content_policy_violation',
    },
  ),
  openrouter(403, 'request', 'Refused.', { error_type: 'refusal' }, filtered),
  openrouter(400, 'request', 'Too long.', { error_type: 'context_length_exceeded' }, tooLong),
  openrouter(404, 'request', 'No endpoints found that support image input', {}),
  openrouter(404, 'model', 'No endpoints found for acme/model.', {}),
  openrouter(403, 'model', 'This model is not available in your region.', {}),
  openrouter(403, 'account', 'Key limit exceeded (total limit). Manage it in the settings.', {}),
  openrouter(403, 'unknown', 'Forbidden', {}),

  anthropic(
    400,
    'request',
    'invalid_request_error',
    'prompt is too long: 209353 tokens > 199999 maximum',
    tooLong,
  ),
  anthropic(
    400,
    'request',
    'invalid_request_error',
    'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease it',
    tooLong,
  ),
  anthropic(
    400,
    'request',
    'invalid_request_error',
    'Output blocked by content filtering policy',
    filtered,
  ),
  anthropic(400, 'request', 'invalid_request_error', 'max_tokens: must be at least 1'),
  anthropic(404, 'request', 'not_found_error', 'File not found: file_011CNha8iCJcU1wXNR6q4V8w'),
  anthropic(404, 'model', 'not_found_error', 'model: claude-9'),
  anthropic(403, 'model', 'permission_error', 'Your account does not have access to this model.'),
  anthropic(
    403,
    'unknown',
    'permission_error',
    'Your API key does not have permission to use the specified resource.',
  ),
  anthropic(
    400,
    'account',
    'invalid_request_error',
    'Your credit balance is too low to access it.',
  ),
  anthropic(401, 'credential', 'authentication_error', 'invalid x-api-key'),
];

/** The error document of a refusal. */
export function documentOf({ dialect, status, message, error }: Refused): string {
  if (dialect === 'anthropic') {
    return JSON.stringify({ type: 'error', error: { ...error, message } });
  }
  const code = dialect === 'gemini' ? { code: status } : {};
  return JSON.stringify({ error: { ...code, message, ...error } });
}
