// suite: quick
/** Every kind of path, method and header, and the route it gets. */
import { describe, expect, it } from 'vitest';
import type { Route } from '../../src/protocols/protocol.ts';
import { type RoutedRequest, routesOf } from '../../src/protocols/routes.ts';
import { protocols } from '../../src/protocols/table.ts';
import { routeSettings as settings } from '../support/route-settings.ts';

const { find: findRoute, owns } = routesOf(protocols);

const native = { 'x-goog-api-key': 'k' };
const bearer = { authorization: 'Bearer k' };

/** A route in a few words: `native/content gemini sse m`, `404 openai`, `models openai`, … */
function describedRoute(request: RoutedRequest): string {
  return describeRoute(findRoute(request, settings));
}

function describeRoute(route: Route): string {
  switch (route.kind) {
    case 'call':
      return [
        `${route.protocol.name}/${route.operation.name}`,
        route.caller.name,
        route.framing,
        route.modelId,
      ]
        .filter(Boolean)
        .join(' ');
    case 'models':
      return ['models', route.caller.name, route.modelId].filter(Boolean).join(' ');
    case 'stored_reply':
      return ['stored', route.caller.name, route.id, route.part].filter(Boolean).join(' ');
    case 'root':
      return 'root';
    case 'key':
      return `key ${route.caller.name}`;
    case 'options':
      return `options ${route.caller.name} ${route.allow}`;
    case 'refused': {
      const { code, allow } = route.error;
      return [code, route.caller.name, allow].filter(Boolean).join(' ');
    }
  }
}

const chat = 'chat/content openai json';
const images = 'images/images openai json';
const generate = (model: string): string => `native/content gemini json ${model}`;
const lost = (speaks: string): string => `route_not_found ${speaks}`;
const notPost = (speaks: string): string => `method_not_allowed ${speaks} POST`;
const notGet = (speaks: string): string => `method_not_allowed ${speaks} GET, HEAD`;

/** Method, path and route. A `!` before the path means that the path is the host's. */
const rows: readonly (readonly [method: string, path: string, route: string])[] = [
  ['POST', '/v1/chat/completions', chat],
  ['GET', '/v1/chat/completions', notPost('openai')],
  ['HEAD', '/v1/chat/completions', notPost('openai')],
  ['PUT', '/v1/chat/completions', notPost('openai')],
  ['DELETE', '/v1/chat/completions', notPost('openai')],
  ['PATCH', '/v1/chat/completions', notPost('openai')],
  ['BREW', '/v1/chat/completions', notPost('openai')],
  ['OPTIONS', '/v1/chat/completions', 'options openai POST'],
  ['POST', '/v1/images/generations', images],
  ['GET', '/v1/images/generations', notPost('openai')],
  ['OPTIONS', '/v1/images/generations', 'options openai POST'],
  ['POST', '/v1/images/edits', lost('openai')],
  ['GET', '/v1/images/edits', lost('openai')],
  ['GET', '/v1/models', 'models openai'],
  ['HEAD', '/v1/models', 'models openai'],
  ['POST', '/v1/models', notGet('openai')],
  ['OPTIONS', '/v1/models', 'options openai GET, HEAD'],
  ['GET', '/v1/models/gpt', 'models openai gpt'],
  ['HEAD', '/v1/models/gpt', 'models openai gpt'],
  ['DELETE', '/v1/models/gpt', notGet('openai')],
  ['POST', '/v1/models/gpt', notGet('openai')],
  ['GET', '/v1/models/vendor/gpt', 'models openai vendor/gpt'],
  ['GET', '/v1/models/vendor%2Fgpt', 'models openai vendor/gpt'],
  ['GET', '/v1/models/vendor%2fgpt', 'models openai vendor/gpt'],
  ['GET', '/v1/models/vendor/gpt:free', 'models openai vendor/gpt:free'],
  ['GET', '/v1/models/gpt%3Afree', 'models openai gpt:free'],
  ['GET', '/v1/models/__proto__', 'models openai __proto__'],
  ['GET', '/v1/models/m%C3%BCller', 'models openai müller'],
  ['GET', '/v1/models/a%20b', 'models openai a b'],
  ['GET', '/v1/models/a%252Fb', 'models openai a%2Fb'],
  ['GET', '/v1beta/models', 'models gemini'],
  ['HEAD', '/v1beta/models', 'models gemini'],
  ['POST', '/v1beta/models', notGet('gemini')],
  ['OPTIONS', '/v1beta/models', 'options gemini GET, HEAD'],
  ['GET', '/v1beta/models/g', 'models gemini g'],
  ['DELETE', '/v1beta/models/g', notGet('gemini')],
  ['POST', '/v1beta/models/g', lost('gemini')],
  ['GET', '/v1beta/models/models/g', 'models gemini models/g'],
  ['GET', '/v1beta/tunedModels/t', 'models gemini tunedModels/t'],
  ['POST', '/v1beta/tunedModels/t', lost('gemini')],
  ['POST', '/v1beta/models/g:generateContent', generate('g')],
  ['POST', '/v1beta/models/g:countTokens', 'native/count_tokens gemini json g'],
  ['POST', '/v1beta/models/g:streamGenerateContent', 'native/content gemini json_array g'],
  ['POST', '/v1beta/models/g:streamGenerateContent?alt=sse', 'native/content gemini sse g'],
  ['POST', '/v1beta/models/g:streamGenerateContent?alt=json', 'native/content gemini json_array g'],
  ['POST', '/v1beta/models/g:streamGenerateContent?x=1&alt=sse', 'native/content gemini sse g'],
  ['POST', '/v1beta/models/g:streamGenerateContent?alt=SSE', 'native/content gemini json_array g'],
  ['POST', '/v1beta/models/g:generateContent?alt=sse', generate('g')],
  ['POST', '/v1/models/g:generateContent', generate('g')],
  ['POST', '/v1/models/g:streamGenerateContent?alt=sse', 'native/content gemini sse g'],
  ['POST', '/v1/models/g:countTokens', 'native/count_tokens gemini json g'],
  ['GET', '/v1beta/models/g:generateContent', notPost('gemini')],
  ['HEAD', '/v1beta/models/g:generateContent', notPost('gemini')],
  ['GET', '/v1/models/g:generateContent', notPost('gemini')],
  ['OPTIONS', '/v1beta/models/g:generateContent', 'options gemini POST'],
  ['POST', '/v1beta/models/vendor/g:generateContent', generate('vendor/g')],
  ['POST', '/v1beta/models/vendor%2Fg:generateContent', generate('vendor/g')],
  ['POST', '/v1beta/vendor/g:generateContent', generate('vendor/g')],
  ['POST', '/v1/vendor/g:generateContent', generate('vendor/g')],
  ['POST', '/v1beta/g:generateContent', generate('g')],
  ['POST', '/v1beta/tunedModels/t:generateContent', generate('tunedModels/t')],
  [
    'POST',
    '/v1beta/models/publishers/x/models/y:generateContent',
    generate('publishers/x/models/y'),
  ],
  [
    'POST',
    '/v1beta/publishers/google/models/g:generateContent',
    generate('publishers/google/models/g'),
  ],
  ['POST', '/v1beta/models/models/g:generateContent', generate('models/g')],
  ['POST', '/v1beta/models/v/m:free:generateContent', generate('v/m:free')],
  ['POST', '/v1beta/models/v/m%3Afree:generateContent', generate('v/m:free')],
  ['POST', '/v1beta/models/g%3AgenerateContent', generate('g')],
  ['POST', '/v1beta/models/g%3agenerateContent', generate('g')],
  ['POST', '/v1/models/v/m:free:countTokens', 'native/count_tokens gemini json v/m:free'],
  ['POST', '/v1beta/models/caf%C3%A9:generateContent', generate('café')],
  ['POST', '/v1beta/models/a%20b:generateContent', generate('a b')],
  ['POST', '/v1beta/models/a%252Fb:generateContent', generate('a%2Fb')],
  ['POST', '/v1beta/models/a%3Fb:generateContent', generate('a?b')],
  ['POST', '/v1beta/models/__proto__:generateContent', generate('__proto__')],
  ['POST', '/v1beta/models/g:embedContent', 'embeddings/embed gemini json g'],
  ['POST', '/v1/models/g:batchEmbedContents', 'embeddings/embed gemini json g'],
  ['POST', '/v1beta/models/g:asyncBatchEmbedContent', lost('gemini')],
  ['POST', '/v1beta/models/g:GenerateContent', lost('gemini')],
  ['POST', '/v1beta/models/g:constructor', lost('gemini')],
  ['POST', '/v1beta/models/g:toString', lost('gemini')],
  ['POST', '/v1/models/g:embedContent', 'embeddings/embed gemini json g'],
  ['POST', '/v1/models/g:embedText', notGet('openai')],
  ['POST', '/v1beta/models/g:', lost('gemini')],
  ['GET', '/v1beta/models/vendor/m:free', 'models gemini vendor/m:free'],
  ['HEAD', '/v1beta/models/m:free', 'models gemini m:free'],
  ['POST', '/v1beta/models/m:free', lost('gemini')],
  ['POST', '/v1beta/models/:generateContent', generate('').trim()],
  ['POST', '/v1beta/models/g:generateContent/', generate('g')],
  ['POST', '/v1beta/models/g:generateContent//', lost('gemini')],
  ['GET', '/v1beta/models/', 'models gemini'],
  ['GET', '/v1/models/', 'models openai'],
  ['GET', '/v1/models//', lost('openai')],
  ['GET', '/v1/models%2F', lost('openai')],
  ['PUT', '/v1/models/', notGet('openai')],
  ['GET', '/v1/models//gpt', lost('openai')],
  ['GET', '/v1/models/gpt/', 'models openai gpt'],
  ['GET', '/v1/models/./gpt', lost('openai')],
  ['GET', '/v1/models/../gpt', lost('openai')],
  ['GET', '/v1/models/%2e%2e/gpt', lost('openai')],
  ['GET', '/v1/models/a%2F..%2Fb', lost('openai')],
  ['POST', '/v1beta/models/..:generateContent', generate('..')],
  ['POST', '/v1beta/models/../g:generateContent', lost('gemini')],
  ['POST', '/v1beta/models/%2E%2E%2Fg:generateContent', lost('gemini')],
  ['POST', '/v1beta/models//g:generateContent', lost('gemini')],
  ['POST', '/v1beta/models/g%00:generateContent', lost('gemini')],
  ['POST', '/v1beta/models/g%0d%0a:generateContent', lost('gemini')],
  ['POST', '/v1beta/models/g%7F:generateContent', lost('gemini')],
  ['POST', '/v1beta/models/g%C2%85:generateContent', lost('gemini')],
  ['POST', '/v1beta/models/a%5Cb:generateContent', lost('gemini')],
  ['GET', '/v1/models/a%5Cb', lost('openai')],
  ['POST', '/v1beta/models/g%:generateContent', lost('gemini')],
  ['POST', '/v1beta/models/g%zz:generateContent', lost('gemini')],
  ['POST', '/v1beta/models/g%ff:generateContent', lost('gemini')],
  ['POST', '/v1beta/models/g%C3:generateContent', lost('gemini')],
  ['GET', '/v1/models/g%', lost('openai')],
  ['GET', '!/', 'root'],
  ['GET', '!', lost('openai')],
  ['GET', '!/v1', 'root'],
  ['GET', '!/v1/', 'root'],
  ['GET', '!/v1beta', 'root'],
  ['GET', '!/v1beta/', 'root'],
  ['POST', '/v1/completions', lost('openai')],
  ['POST', '/v1/responses', 'responses/content openai json'],
  ['POST', '/v1/responses/', 'responses/content openai json'],
  ['GET', '/v1/responses', notPost('openai')],
  ['OPTIONS', '/v1/responses', 'options openai POST'],
  ['POST', '/v1/responses/input_tokens', 'responses/count_tokens openai json'],
  ['POST', '/v1/responses/compact', 'responses/compact openai json'],
  ['POST', '/v1/responses//', lost('openai')],
  ['GET', '/v1/responses/resp_1', 'stored openai resp_1'],
  ['GET', '/v1/responses/resp_1/', 'stored openai resp_1'],
  ['DELETE', '/v1/responses/resp_1', 'stored openai resp_1'],
  ['POST', '/v1/responses/resp_1', 'method_not_allowed openai GET, DELETE'],
  ['OPTIONS', '/v1/responses/resp_1', 'options openai GET, DELETE'],
  ['GET', '/v1/responses/%72', 'stored openai %72'],
  ['GET', '/v1/responses/resp_1/input_items', 'stored openai resp_1 input_items'],
  ['DELETE', '/v1/responses/resp_1/input_items', 'method_not_allowed openai GET'],
  ['GET', '/v1/responses/resp_1/input_items/x', lost('openai')],
  ['GET', '/v1/responses/resp_1/other', lost('openai')],
  ['POST', '/v1/responses/resp_1/cancel', lost('openai')],
  ['GET', '/v1/responses//input_items', lost('openai')],
  ['GET', '/v1/responses/compact', notPost('openai')],
  ['POST', '/v1/embeddings', 'embeddings/embed openai json'],
  ['GET', '/v1/embeddings', 'method_not_allowed openai POST'],
  ['POST', '!/v1/chat', lost('openai')],
  ['POST', '/v1/chat/completions/', chat],
  ['GET', '/v1/chat/completions/', notPost('openai')],
  ['POST', '/v1/images/generations/', images],
  ['POST', '!/v1/images/generations/x', lost('openai')],
  ['POST', '/v1/chat/completions//', lost('openai')],
  ['POST', '/v1/chat/completions/x', lost('openai')],
  ['POST', '!/v1//chat/completions', lost('openai')],
  ['POST', '!//v1/chat/completions', lost('openai')],
  ['POST', '!/V1/chat/completions', lost('openai')],
  ['POST', '!/v1/Chat/Completions', lost('openai')],
  ['POST', '!/v1/chat%2Fcompletions', lost('openai')],
  ['POST', '!/v1/./chat/completions', lost('openai')],
  ['POST', '!/v1/images', lost('openai')],
  ['POST', '/v1/images/variations', lost('openai')],
  ['GET', '!/v1/modelsx', lost('openai')],
  ['GET', '!/v1/Models', lost('openai')],
  ['GET', '!/v1/tunedModels/t', lost('openai')],
  ['GET', '/v1/files', lost('openai')],
  ['GET', '/v1beta/files', lost('gemini')],
  ['POST', '/v1/messages', 'messages/content anthropic json'],
  ['POST', '/v1/messages?beta=true', 'messages/content anthropic json'],
  ['POST', '/v1/messages/', 'messages/content anthropic json'],
  ['POST', '/v1/messages/count_tokens', 'messages/count_tokens anthropic json'],
  ['POST', '/v1/messages/count_tokens?beta=true', 'messages/count_tokens anthropic json'],
  ['GET', '/v1/messages', notPost('anthropic')],
  ['HEAD', '/v1/messages', notPost('anthropic')],
  ['OPTIONS', '/v1/messages', 'options anthropic POST'],
  ['POST', '/v1/messages/batches', lost('anthropic')],
  ['GET', '/v1/messages/batches/msgbatch_1/results', lost('anthropic')],
  ['POST', '/v1/messages/x', lost('anthropic')],
  ['POST', '/v1/complete', lost('anthropic')],
  ['POST', '!/v1/messagesx', lost('openai')],
  ['GET', '!/v1/filesystem', lost('openai')],
  ['GET', '!/v1/Files', lost('openai')],
  ['GET', '!/v1/engines', lost('openai')],
  ['POST', '!/v1/engines/gpt/completions', lost('openai')],
  ['POST', '!/openai/deployments/gpt/chat/completions', lost('openai')],
  ['HEAD', '!/', 'root'],
  ['POST', '!/', lost('openai')],
  ['GET', '!/v1/key', lost('openai')],
  ['GET', '!/v1/organizations', lost('openai')],
  ['POST', '!/v1/searches', lost('openai')],
  ['POST', '!/v1beta1/models/g:generateContent', lost('gemini')],
  ['POST', '!/v2/models/g:generateContent', lost('openai')],
  ['POST', '!/models/g:generateContent', lost('gemini')],
  ['POST', '!/chat/completions', lost('openai')],
  ['OPTIONS', '/v1/files', lost('openai')],
];

describe('a path', () => {
  it.each(rows)('%s %s is %s', (method, marked, expected) => {
    const isHosts = marked.startsWith('!');
    const [path = '', search = ''] = marked.replace(/^!/, '').split('?');

    expect(owns(path, settings)).toBe(!isHosts);
    expect(describedRoute({ method, path, search, headers: bearer })).toBe(expected);
  });

  it('is covered by enough rows', () => {
    expect(rows.length).toBeGreaterThanOrEqual(120);
  });
});

describe('/v1/models, which both dialects use', () => {
  it.each([
    ['/v1/models', {}, 'models openai'],
    ['/v1/models', bearer, 'models openai'],
    ['/v1/models', native, 'models gemini'],
    ['/v1/models', { 'x-vendor-api-key': 'k' }, 'models gemini'],
    ['/v1/models', { ...native, ...bearer }, 'models openai'],
    ['/v1/models/g', native, 'models gemini g'],
    ['/v1/models/g', { ...native, ...bearer }, 'models openai g'],
    ['/v1beta/models', bearer, 'models gemini'],
  ])('%s with %o is %s', (path, headers, expected) => {
    expect(describedRoute({ method: 'GET', path, search: '', headers })).toBe(expected);
  });

  it('a key in the query is native if the host allows it and there is no other key', () => {
    const request = { method: 'GET', path: '/v1/models', search: 'pageSize=2&key=k', headers: {} };
    const allowing = { ...settings, allowQueryKey: true };

    const speakers = [
      findRoute(request, allowing),
      findRoute({ ...request, search: 'monkey=k' }, allowing),
      findRoute({ ...request, headers: bearer }, allowing),
      findRoute(request, settings),
    ].map(describeRoute);

    expect(speakers).toEqual(['models gemini', 'models openai', 'models openai', 'models openai']);
  });

  it('tells a native caller to add the suffix, and an OpenAI caller to use GET', () => {
    const post = { method: 'POST', path: '/v1/models/g', search: '' };

    expect(describedRoute({ ...post, headers: native })).toBe(lost('gemini'));
    expect(describedRoute({ ...post, headers: bearer })).toBe(notGet('openai'));
  });
});

describe('an error text helps its reader', () => {
  it.each([
    ['POST', '/chat/completions', /Did you mean \/v1\/chat\/completions\?/],
    ['POST', '/v1/images/edits', /^The path \/v1\/images\/edits is not served here\./],
    ['POST', '/v1beta/models/g', /POST to \/v1beta\/models\/\{model\}:generateContent/],
    [
      'POST',
      '/v1beta/models/g:embedText',
      /no method embedText here\. Use generateContent, .*, embedContent or batchEmbedContents\.$/,
    ],
    ['GET', '/v1/models/%2e%2e', /not readable/],
    ['<b>', '/v1/chat/completions', /^This method is not allowed here. Use POST\.$/],
  ])('%s %s', (method, path, sentence) => {
    const route = findRoute({ method, path, search: '', headers: {} }, settings);

    expect(route.kind === 'refused' ? route.error.message : '').toMatch(sentence);
  });
});
