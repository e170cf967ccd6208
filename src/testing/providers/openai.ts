/** OpenAI: its paths, its authentication, and its refusals. */
import type { JsonObject, JsonValue } from '../../json.ts';
import { embeddingsScript } from './embeddings.ts';
import { faultNames } from './faults.ts';
import { chatScript } from './openai-chat.ts';
import { openaiError } from './openai-errors.ts';
import { imageFileScript, imagePath, imagesScript } from './openai-images.ts';
import { counted, type Provider, type ProviderRequest, type ReplyContext } from './provider.ts';
import { openaiHeaders, openaiModels } from './recordings.ts';
import { compactScript, inputTokensScript, responsesScript } from './responses.ts';
import { json, type Script, withHeaders } from './scripts.ts';
import { storedScript } from './stored-responses.ts';

const modelsPath = '/v1/models';
const responsesPath = '/v1/responses';

/** Owns every path: OpenAI refuses those that no other provider owns. */
export const openai: Provider = {
  owns: () => true,
  refuseKey: ({ headers: { authorization }, path }, apiKey) => {
    if (authorization === `Bearer ${apiKey}` || path.startsWith(imagePath)) return undefined;
    if (authorization === undefined) {
      return openaiError(
        401,
        "You didn't provide an API key. You need to provide your API key in an Authorization " +
          'header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).',
      );
    }
    return openaiError(401, 'Incorrect API key provided: sk-****.', { code: 'invalid_api_key' });
  },
  reply: (request, context) => {
    const script = route(request, context);
    return withHeaders(script, { ...openaiHeaders, 'x-request-id': counted('req_', context) });
  },
};

function route({ method, path, body, origin }: ProviderRequest, context: ReplyContext): Script {
  if (method === 'POST' && path === '/v1/chat/completions') return chatScript(body, context);
  if (method === 'POST' && path === '/v1/images/generations')
    return imagesScript(body, context, origin);
  if (method === 'POST' && path === '/v1/embeddings') return embeddingsScript(body, context);
  if (path === responsesPath || path.startsWith(`${responsesPath}/`)) {
    const served = responsesRoute(method, path.slice(responsesPath.length + 1), body, context);
    if (served !== undefined) return served;
  }
  if (method === 'GET' && path === modelsPath) return json(200, modelList(context));
  if (method === 'GET' && path.startsWith(`${modelsPath}/`)) {
    return oneModel(path.slice(modelsPath.length + 1), context);
  }
  if (method === 'GET' && path.startsWith(imagePath)) return imageFileScript();
  return openaiError(404, `Invalid URL (${method} ${path})`);
}

function responsesRoute(
  method: string,
  below: string,
  body: JsonValue | undefined,
  context: ReplyContext,
): Script | undefined {
  if (method === 'POST' && below === '') return responsesScript(body, context);
  if (method === 'POST' && below === 'input_tokens') return inputTokensScript(body);
  if (method === 'POST' && below === 'compact') return compactScript(body, context);
  return below === '' ? undefined : storedScript(method, below, context.stored);
}

function modelList(context: ReplyContext): JsonObject {
  return { object: 'list', data: modelNames().map((id) => modelEntry(id, context)) };
}

function oneModel(encodedId: string, context: ReplyContext): Script {
  const id = modelNames().find((name) => name === encodedId);
  if (id !== undefined) return json(200, modelEntry(id, context));
  return openaiError(404, `The model '${encodedId}' does not exist`, {
    param: 'model',
    code: 'model_not_found',
  });
}

function modelNames(): readonly string[] {
  return [...openaiModels, ...faultNames];
}

function modelEntry(id: string, context: ReplyContext): JsonObject {
  return { id, object: 'model', created: context.createdAtSeconds, owned_by: 'system' };
}
