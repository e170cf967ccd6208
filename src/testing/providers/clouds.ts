/**
 * The clouds that host models, in front of the fakes of the models' providers: their paths, keys
 * and errors. Amazon Bedrock has `InvokeModel`, its stream and `CountTokens` for Claude, and the
 * paths of Anthropic and OpenAI below `/bedrock-mantle`; Azure has OpenAI's models below `/openai`,
 * by deployment or with the deployment in the body, and Anthropic's below `/anthropic`.
 */
import { crc32 } from 'node:zlib';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from '../../json.ts';
import { hostedBetas } from '../../platforms/anthropic-betas.ts';
import { anthropic } from './anthropic.ts';
import { anthropicError } from './anthropic-replies.ts';
import { embedScript, fullDimensions, unitVector } from './embeddings.ts';
import { gemini } from './gemini.ts';
import { geminiError } from './gemini-content.ts';
import { openai } from './openai.ts';
import { counted, type Provider, type ProviderRequest, type ReplyContext } from './provider.ts';
import { json, type Piece, type Script, type ScriptHeaders, withHeaders } from './scripts.ts';

const runtimePath = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream|count-tokens)$/;
const mantlePath = /^\/bedrock-mantle\/(anthropic|openai)(\/v1\/.*)$/;

export const bedrock: Provider = {
  owns: (path) => runtimePath.test(path) || mantlePath.test(path),
  refuseKey: ({ headers: { authorization } }, apiKey) => {
    // A signature is not checked: the fake does not know the keys of an account.
    const isSigned = authorization?.startsWith('AWS4-HMAC-SHA256 Credential=') === true;
    if (isSigned || authorization === `Bearer ${apiKey}`) return undefined;
    return refusal(403, 'Authentication failed: Please make sure your API Key is valid.');
  },
  reply: (request, context) => {
    const [, dialect, path = ''] = mantlePath.exec(request.path) ?? [];
    if (dialect === undefined) return runtimeReply(request, context);
    return (dialect === 'openai' ? openai : anthropic).reply({ ...request, path }, context);
  },
};

function runtimeReply(request: ProviderRequest, context: ReplyContext): Script {
  const [, segment = '', method] = runtimePath.exec(request.path) ?? [];
  const model = decodeURIComponent(segment);
  if (method === 'count-tokens') return countReply(request, model, context);
  const stream = method === 'invoke-with-response-stream';
  const refused = refusedBody(request.body);
  if (refused !== undefined || !isJsonObject(request.body)) return refused ?? noObject();
  const body = { ...request.body, model, stream };
  return asRuntime(anthropic.reply({ ...request, path: '/v1/messages', body }, context));
}

/** A foundation model: neither an inference profile of a region nor an ARN. */
const foundationModel = /^anthropic\./;

function countReply(request: ProviderRequest, model: string, context: ReplyContext): Script {
  if (!foundationModel.test(model)) {
    return refusal(400, "The provided model doesn't support counting tokens.");
  }
  const encoded = member(member(member(request.body, 'input'), 'invokeModel'), 'body');
  const body = parseJson(Buffer.from(String(encoded ?? ''), 'base64').toString());
  const refused = refusedBody(body);
  if (refused !== undefined || !isJsonObject(body)) return refused ?? noObject();
  const path = '/v1/messages/count_tokens';
  const counted = anthropic.reply({ ...request, path, body: { ...body, model } }, context);
  const document = parseJson(String(counted.body));
  const count = member(document, 'input_tokens');
  return count === undefined ? asRuntime(counted) : json(200, { inputTokens: count });
}

const versions: readonly unknown[] = ['bedrock-2023-05-31', '2026-10-21'];

function refusedBody(body: JsonValue | undefined): Script | undefined {
  const extra = ['model', 'stream'].find((name) => member(body, name) !== undefined);
  if (extra !== undefined) return refusal(400, `${extra}: Extra inputs are not permitted`);
  return versions.includes(member(body, 'anthropic_version'))
    ? undefined
    : refusal(400, 'anthropic_version: Field required');
}

function noObject(): Script {
  return refusal(400, 'Malformed input request, please reformat your input and try again.');
}

const exceptions: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  429: 'ThrottlingException',
  500: 'InternalServerException',
};

function refusal(status: number, message: string): Script {
  const name = exceptions[status] ?? 'ServiceUnavailableException';
  return json(status, { message }, { 'x-amzn-errortype': name });
}

/** The reply of the fake of Anthropic in AWS's form. */
function asRuntime(made: Script): Script {
  const { status = 200, body, chunks } = made;
  if (status >= 400) {
    const message = member(member(parseJson(String(body)), 'error'), 'message');
    return { ...made, ...refusal(status, String(message ?? '')) };
  }
  if (chunks === undefined) return made;
  const headers = { 'content-type': 'application/vnd.amazon.eventstream' };
  return { ...made, headers, chunks: [...chunks].map(framed) };
}

/** A piece with one event, as the fake of Anthropic makes them, as one message. */
function framed(piece: Piece): Piece {
  if (piece instanceof Promise) return piece;
  const data = Buffer.from(piece).toString().split('data: ')[1]?.trim() ?? '';
  const event = parseJson(data);
  if (member(event, 'type') === 'error') {
    const message = member(member(event, 'error'), 'message') ?? '';
    return encoded('exception', 'internalServerException', { message });
  }
  return encoded('event', 'chunk', { bytes: Buffer.from(data).toString('base64'), p: 'abcdefgh' });
}

/** @see https://smithy.io/2.0/aws/amazon-eventstream.html */
function encoded(kind: 'event' | 'exception', type: string, document: JsonObject): Buffer {
  const headers = Buffer.concat([
    header(`:${kind}-type`, type),
    header(':content-type', 'application/json'),
    header(':message-type', kind),
  ]);
  const payload = Buffer.from(JSON.stringify(document));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(headers.length + payload.length + 16);
  prelude.writeUInt32BE(headers.length, 4);
  const message = Buffer.concat([prelude, checksum(prelude), headers, payload]);
  return Buffer.concat([message, checksum(message)]);
}

function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(value.length);
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([7]),
    length,
    Buffer.from(value),
  ]);
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}

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

const place = '^/v1(?:beta1)?(?:/projects/[^/]+/locations/[^/]+)?';
const modelPath = new RegExp(String.raw`${place}/publishers/([^/]+)/models/([^/:]+):(\w+)$`);
const openapiPath = new RegExp(`${place}/endpoints/openapi(/.+)$`);
const expressPath = /^\/v1(?:beta1)?\/publishers\//;

export const vertex: Provider = {
  owns: (path) => modelPath.test(path) || openapiPath.test(path),
  refuseKey: ({ headers, path }, apiKey) => {
    const isExpress = expressPath.test(path) && headers['x-goog-api-key'] === apiKey;
    if (isExpress || headers.authorization === `Bearer ${apiKey}`) return undefined;
    const isMissing = headers.authorization === undefined;
    return geminiError(
      401,
      'UNAUTHENTICATED',
      isMissing
        ? 'Request is missing required authentication credential.'
        : 'Request had invalid authentication credentials.',
      [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: isMissing ? 'CREDENTIALS_MISSING' : 'ACCESS_TOKEN_TYPE_UNSUPPORTED',
          domain: 'googleapis.com',
          metadata: { service: 'aiplatform.googleapis.com' },
        },
      ],
    );
  },
  reply: (request, context) => {
    const [, compatible] = openapiPath.exec(request.path) ?? [];
    if (compatible !== undefined) {
      return openai.reply({ ...request, path: `/v1${compatible}` }, context);
    }
    const [, publisher, encoded = '', action = ''] = modelPath.exec(request.path) ?? [];
    const model = decodeURIComponent(encoded);
    if (request.method !== 'POST') return notFound(model);
    if (publisher === 'anthropic') return claudeScript(request, model, action, context);
    return publisher === 'google'
      ? googleScript(request, encoded, action, context)
      : notFound(model);
  },
};

function notFound(model: string): Script {
  return geminiError(
    404,
    'NOT_FOUND',
    `Publisher Model \`${model}\` was not found or your project does not have access to it.`,
  );
}

function googleScript(
  request: ProviderRequest,
  encoded: string,
  action: string,
  context: ReplyContext,
): Script {
  const { body } = request;
  const model = decodeURIComponent(encoded);
  const unknown = unknownName(body);
  if (unknown !== undefined) {
    const message = `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`;
    return geminiError(400, 'INVALID_ARGUMENT', message);
  }
  if (action === 'predict') return predictScript(body);
  if (action === 'embedContent') {
    const config = member(body, 'embedContentConfig');
    const settings = isJsonObject(config) ? config : {};
    return embedScript(model, { ...objectOf(body), ...settings }, 'one', context);
  }
  if (action === 'batchEmbedContents') return notFound(model);
  return gemini.reply({ ...request, path: `/v1beta/models/${encoded}:${action}` }, context);
}

/** A name of Google's other API. */
function unknownName(body: JsonValue | undefined): string | undefined {
  if (member(body, 'generateContentRequest') !== undefined) return 'generateContentRequest';
  const parts = items(member(body, 'contents')).flatMap((turn) => items(member(turn, 'parts')));
  const hasId = parts.some((part) =>
    ['functionCall', 'functionResponse'].some((name) => member(member(part, name), 'id')),
  );
  return hasId ? 'id' : undefined;
}

function predictScript(body: JsonValue | undefined): Script {
  const width = Number(
    member(member(body, 'parameters'), 'outputDimensionality') ?? fullDimensions,
  );
  const predictions = items(member(body, 'instances')).map((instance): JsonObject => {
    const text = String(member(instance, 'content'));
    const statistics = { token_count: Math.ceil(text.length / 4), truncated: false };
    return { embeddings: { statistics, values: unitVector(text, width) } };
  });
  return json(200, { predictions, metadata: { billableCharacterCount: 0 } });
}

function claudeScript(
  request: ProviderRequest,
  model: string,
  action: string,
  context: ReplyContext,
): Script {
  const { headers, body } = request;
  const counts = model === 'count-tokens';
  const refuse = (message: string) => anthropicError(400, 'invalid_request_error', message);
  if (member(body, 'anthropic_version') !== 'vertex-2023-10-16') {
    return refuse('anthropic_version: Input should be "vertex-2023-10-16"');
  }
  if (!counts && member(body, 'model') !== undefined) {
    return refuse('model: Extra inputs are not permitted');
  }
  const flags = [headers['anthropic-beta'] ?? []].flat().join(',') || undefined;
  const { dropped } = hostedBetas(flags, { host: 'vertex', countsTokens: counts });
  if (dropped.length > 0) {
    const names = dropped.map((name) => `\`${name.split(':')[1]}\``).join(', ');
    return refuse(`Unexpected value(s) ${names} for the \`anthropic-beta\` header.`);
  }
  if (counts) return anthropic.reply({ ...request, path: '/v1/messages/count_tokens' }, context);
  const isStream = member(body, 'stream') === true;
  if (action !== (isStream ? 'streamRawPredict' : 'rawPredict')) return notFound(model);
  const named = { ...objectOf(body), model };
  return anthropic.reply({ ...request, path: '/v1/messages', body: named }, context);
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
