/**
 * Vertex AI: its paths, tokens and forms, in front of the fakes of the providers whose models it
 * hosts. It refuses what Vertex refuses of their requests.
 */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { hostedBetas } from '../../platforms/anthropic-betas.ts';
import { anthropic } from './anthropic.ts';
import { anthropicError } from './anthropic-replies.ts';
import { embedScript, fullDimensions, unitVector } from './embeddings.ts';
import { gemini } from './gemini.ts';
import { geminiError } from './gemini-content.ts';
import { openai } from './openai.ts';
import type { Provider, ProviderRequest, ReplyContext } from './provider.ts';
import { json, type Script } from './scripts.ts';

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
