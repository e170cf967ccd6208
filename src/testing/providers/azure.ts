/**
 * Azure: the same fakes behind its paths, keys and errors. OpenAI's models are below `/openai`, by
 * deployment or with the deployment in the body, and Anthropic's below `/anthropic`.
 */
import { isJsonObject, type JsonObject, member } from '../../json.ts';
import { anthropic } from './anthropic.ts';
import { openai } from './openai.ts';
import { counted, type Provider, type ProviderRequest, type ReplyContext } from './provider.ts';
import { json, type Script, type ScriptHeaders, withHeaders } from './scripts.ts';

/** The paths that Azure has by deployment, and without `v1` with the deployment in the body. */
const byDeployment =
  /^\/openai\/deployments\/([^/]+)(\/(?:chat\/completions|embeddings|images\/generations))$/;
const versioned = /^\/openai(\/responses(?:\/.*)?)$/;
const v1 = /^\/openai\/v1(\/.*)$/;
const claude = /^\/anthropic(\/v1\/messages(?:\/.*)?)$/;

export const azure: Provider = {
  owns: (path) => /^\/(?:openai|anthropic)\//.test(path),
  refuseKey: ({ headers, path }, apiKey) => {
    const name = path.startsWith('/anthropic/') ? 'x-api-key' : 'api-key';
    const sent = headers[name] ?? headers['api-key'];
    if (sent === apiKey || headers.authorization === `Bearer ${apiKey}`) return undefined;
    return azureError(
      401,
      '401',
      'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide ' +
        'a valid key for an active subscription and use a correct regional API endpoint for your ' +
        'resource.',
    );
  },
  reply: (request, context) =>
    withHeaders(route(request, context), {
      'apim-request-id': counted('apim-', context),
      'x-ms-region': 'Fake Central',
    }),
};

function route(request: ProviderRequest, context: ReplyContext): Script {
  const { path, body, query } = request;
  const ofClaude = claude.exec(path)?.[1];
  if (ofClaude !== undefined) {
    return faultOf(body) ?? anthropic.reply({ ...request, path: ofClaude }, context);
  }
  const [, deployment, rest] = byDeployment.exec(path) ?? [];
  const below = rest ?? versioned.exec(path)?.[1];
  // A dated path without its version does not exist.
  const asV1 = below !== undefined && query.has('api-version') ? below : v1.exec(path)?.[1];
  if (asV1 === undefined) return azureError(404, '404', 'Resource not found');
  const named =
    deployment === undefined || !isJsonObject(body)
      ? body
      : { ...body, model: decodeURIComponent(deployment) };
  return faultOf(named) ?? openai.reply({ ...request, path: `/v1${asV1}`, body: named }, context);
}

/** The faults that Azure reports in its own form. */
function faultOf(body: ProviderRequest['body']): Script | undefined {
  switch (member(body, 'model')) {
    case 'demo-429':
      return azureError(
        429,
        '429',
        'Requests to the ChatCompletions_Create Operation under Azure OpenAI API version ' +
          '2024-10-21 have exceeded token rate limit of your current OpenAI S0 pricing tier. ' +
          'Please retry after 2 seconds.',
        { 'retry-after': '2', 'retry-after-ms': '2000' },
      );
    case 'demo-safety':
      return json(400, { error: filtered });
    default:
      return undefined;
  }
}

const filtered: JsonObject = {
  message:
    "The response was filtered due to the prompt triggering Azure OpenAI's content management " +
    'policy. Please modify your prompt and retry.',
  type: null,
  param: 'prompt',
  code: 'content_filter',
  status: 400,
  innererror: {
    code: 'ResponsibleAIPolicyViolation',
    content_filter_result: {
      hate: { filtered: false, severity: 'safe' },
      jailbreak: { filtered: true, detected: true },
      violence: { filtered: true, severity: 'high' },
    },
  },
};

function azureError(
  status: number,
  code: string,
  message: string,
  headers: ScriptHeaders = {},
): Script {
  return json(status, { error: { code, message } }, headers);
}
