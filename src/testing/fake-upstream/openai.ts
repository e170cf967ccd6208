/** OpenAI: which calls it answers, what it wants for a key, and what it says to everything else. */
import type { JsonObject } from '../../json.ts';
import { faultNames } from './faults.ts';
import { chatScript } from './openai-chat.ts';
import { openaiError } from './openai-errors.ts';
import { imagesScript, picturePath, pictureScript } from './openai-images.ts';
import { type Asked, counted, type Provider, type World } from './provider.ts';
import { openaiHeaders, openaiModels } from './recordings.ts';
import { json, type Script } from './scripts.ts';

const modelsPath = '/v1/models';

/** Owns every path: what no other provider answers, OpenAI refuses. */
export const openai: Provider = {
  owns: () => true,
  refuseKey: ({ headers: { authorization }, path }, apiKey) => {
    if (authorization === `Bearer ${apiKey}` || path.startsWith(picturePath)) return undefined;
    if (authorization === undefined) {
      return openaiError(
        401,
        "You didn't provide an API key. You need to provide your API key in an Authorization " +
          'header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).',
      );
    }
    return openaiError(401, 'Incorrect API key provided: sk-****.', { code: 'invalid_api_key' });
  },
  answer: (asked, world) => {
    const script = route(asked, world);
    const own = { ...openaiHeaders, 'x-request-id': counted('req_', world) };
    return { ...script, headers: { ...own, ...script.headers } };
  },
};

function route({ method, path, body, origin }: Asked, world: World): Script {
  if (method === 'POST' && path === '/v1/chat/completions') return chatScript(body, world);
  if (method === 'POST' && path === '/v1/images/generations')
    return imagesScript(body, world, origin);
  if (method === 'GET' && path === modelsPath) return json(200, modelList(world));
  if (method === 'GET' && path.startsWith(`${modelsPath}/`)) {
    return oneModel(path.slice(modelsPath.length + 1), world);
  }
  if (method === 'GET' && path.startsWith(picturePath)) return pictureScript();
  return openaiError(404, `Invalid URL (${method} ${path})`);
}

function modelList(world: World): JsonObject {
  return { object: 'list', data: modelNames().map((id) => modelEntry(id, world)) };
}

function oneModel(encodedId: string, world: World): Script {
  const id = modelNames().find((name) => name === encodedId);
  if (id !== undefined) return json(200, modelEntry(id, world));
  return openaiError(404, `The model '${encodedId}' does not exist`, {
    param: 'model',
    code: 'model_not_found',
  });
}

function modelNames(): readonly string[] {
  return [...openaiModels, ...faultNames];
}

function modelEntry(id: string, world: World): JsonObject {
  return { id, object: 'model', created: world.createdAtSeconds, owned_by: 'system' };
}
