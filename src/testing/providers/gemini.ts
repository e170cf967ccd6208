/** Google: its paths, its authentication, and its refusals. */
import { type JsonObject, member } from '../../json.ts';
import { embedScript } from './embeddings.ts';
import { contentScript, geminiError, refuseContents } from './gemini-content.ts';
import { faultNames, type Provider, type ProviderRequest, type ReplyContext } from './provider.ts';
import { geminiHeaders, geminiModels } from './recordings.ts';
import { json, type Script, withHeaders } from './scripts.ts';

const root = '/v1beta';
const modelsPath = `${root}/models`;

export const gemini: Provider = {
  owns: (path) => path === root || path.startsWith(`${root}/`),
  // Google replies 400 to a wrong key and 403 to a missing one, where others reply 401.
  refuseKey: ({ headers, query }, apiKey) => {
    const key = headers['x-goog-api-key'] ?? query.get('key') ?? undefined;
    if (key === apiKey) return undefined;
    if (key === undefined) {
      return geminiError(
        403,
        'PERMISSION_DENIED',
        "Method doesn't allow unregistered callers (callers without established identity). " +
          'Please use API Key or other form of API consumer identity to call this API.',
      );
    }
    return geminiError(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'API_KEY_INVALID',
        domain: 'googleapis.com',
        metadata: { service: 'generativelanguage.googleapis.com' },
      },
    ]);
  },
  reply: (request, context) => withHeaders(route(request, context), geminiHeaders),
};

function route(request: ProviderRequest, context: ReplyContext): Script {
  const { method, path } = request;
  if (method === 'GET' && path === modelsPath) return modelPage(request.query);
  if (method === 'GET' && path.startsWith(`${modelsPath}/`)) {
    return oneModel(path.slice(root.length + 1));
  }
  const colon = path.lastIndexOf(':');
  if (method === 'POST' && colon > 0) return callModel(request, colon, context);
  return geminiError(404, 'NOT_FOUND', 'Requested entity was not found.');
}

/** A model's name may contain slashes and colons; it ends at the last colon. */
function callModel(
  { path, query, body }: ProviderRequest,
  colon: number,
  context: ReplyContext,
): Script {
  const model = decoded(path.slice(root.length + 1, colon)).replace(/^models\//, '');
  const action = path.slice(colon + 1);
  switch (action) {
    case 'generateContent':
      return contentScript(model, body, 'whole', context);
    case 'streamGenerateContent':
      return contentScript(model, body, query.get('alt') === 'sse' ? 'sse' : 'array', context);
    case 'embedContent':
      return embedScript(model, body, 'one', context);
    case 'batchEmbedContents':
      return embedScript(model, body, 'batch', context);
    case 'countTokens':
      return refuseContents(body) ?? json(200, tokenCount);
    default:
      return unknownModel(model, action);
  }
}

const tokenCount: JsonObject = {
  totalTokens: 9,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: 9 }],
};

/** The last page has no `nextPageToken`: an empty one makes Google's SDK loop forever. */
function modelPage(query: URLSearchParams): Script {
  const all = models();
  const start = Number(query.get('pageToken') ?? 0) || 0;
  const end = start + Math.max(1, Number(query.get('pageSize') ?? 50) || 50);
  const next = end < all.length ? { nextPageToken: String(end) } : {};
  return json(200, { models: all.slice(start, end), ...next });
}

function oneModel(name: string): Script {
  const model = models().find((entry) => member(entry, 'name') === name);
  return model === undefined ? unknownModel(name, 'getModel') : json(200, model);
}

function models(): readonly JsonObject[] {
  const faults = faultNames.map((name) => [name, name] as const);
  return [...Object.entries(geminiModels), ...faults].map(([name, displayName]) => ({
    name: `models/${name}`,
    displayName,
    supportedGenerationMethods: name.includes('embedding')
      ? ['embedContent', 'batchEmbedContents', 'countTokens']
      : ['generateContent', 'countTokens'],
  }));
}

function unknownModel(model: string, action: string): Script {
  return geminiError(
    404,
    'NOT_FOUND',
    `models/${model} is not found for API version v1beta, or is not supported for ${action}. ` +
      'Call ListModels to see the list of available models and their supported methods.',
  );
}

/** Percent-decoded, or unchanged where the encoding is invalid. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
