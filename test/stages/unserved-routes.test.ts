// suite: quick
/** Which provider's clients are answered, and the paths of providers that are not served. */
import { describe, expect, it } from 'vitest';
import { unservedPaths } from '../../src/protocols/resources.ts';
import { routesOf } from '../../src/protocols/routes.ts';
import { protocols } from '../../src/protocols/table.ts';
import { readText } from '../house/sources.ts';
import { routeSettings as settings } from '../support/route-settings.ts';

const { find: findRoute, owns, requestsFor } = routesOf(protocols);

const native = { 'x-goog-api-key': 'k' };
const bearer = { authorization: 'Bearer k' };

/** Headers by which a client is recognised, and the clients in the order in which they count. */
const marks = [
  { caller: 'anthropic', headers: { 'anthropic-version': '2023-06-01' } },
  { caller: 'openai', headers: bearer },
  { caller: 'gemini', headers: native },
  { caller: 'anthropic', headers: { 'x-api-key': 'k' } },
] as const;

/** Every subset of the marks, with the clients that the first of them names. */
const subsets = Array.from({ length: 2 ** marks.length }, (_, bits) => {
  const chosen = marks.filter((_mark, index) => (bits >> index) % 2 === 1);
  const headers = Object.assign({}, ...chosen.map((mark) => mark.headers));
  return { headers, caller: chosen[0]?.caller ?? 'openai' };
});

/** Paths that several providers have, or that none has: the headers decide. */
const sharedPaths = ['/v1/models', '/v1/models/g', '/v1/files', '/v1/skills', '/x'];
/** Paths of one provider: the headers do not matter. */
const ownPaths = [
  ['/v1/chat/completions', 'openai'],
  ['/v1/images/generations', 'openai'],
  ['/v1/responses', 'openai'],
  ['/v1beta/models', 'gemini'],
  ['/v1beta/files', 'gemini'],
  ['/v1beta/openai/chat/completions', 'gemini'],
  ['/v1/messages', 'anthropic'],
  ['/v1/messages/batches', 'anthropic'],
  ['/v1/complete', 'anthropic'],
] as const;

describe('the provider whose clients are answered', () => {
  it.each(sharedPaths)('is named by the headers on %s', (path) => {
    for (const { headers, caller } of subsets) {
      for (const method of ['GET', 'POST', 'HEAD', 'DELETE']) {
        const route = findRoute({ method, path, search: '', headers }, settings);

        expect([headers, method, route.caller.name]).toEqual([headers, method, caller]);
      }
    }
  });

  it.each(ownPaths)('is that of the path %s, whatever the headers are', (path, caller) => {
    for (const { headers } of subsets) {
      for (const method of ['GET', 'POST']) {
        const route = findRoute({ method, path, search: '', headers }, settings);

        expect([headers, method, route.caller.name]).toEqual([headers, method, caller]);
      }
    }
  });
});

describe('a path that is not served', () => {
  it('is named with everything that is served, from the table', () => {
    const route = findRoute(
      { method: 'POST', path: '/v1/audio/speech', search: '', headers: bearer },
      settings,
    );

    expect(route.kind === 'refused' ? route.error.message : '').toBe(
      'The path /v1/audio is not served here. This gateway serves POST /v1/chat/completions, ' +
        'POST /v1/images/generations, POST /v1/responses, POST /v1/responses/input_tokens, ' +
        'POST /v1/responses/compact, GET /v1/responses/{id}, POST /v1/messages, ' +
        'POST /v1/messages/count_tokens, POST /v1/embeddings, ' +
        'POST /v1beta/models/{model}:generateContent, :streamGenerateContent, :countTokens, ' +
        ':embedContent, :batchEmbedContents, GET /v1/models and GET /v1beta/models.',
    );
  });

  it.each([
    ['/v1/files/file_1', 'The path /v1/files is'],
    ['/v1beta/files/f', 'This path below /v1beta is'],
    ['/v1/chat/completions/chatcmpl_1', 'This path below /v1/chat/completions is'],
    ['/v1/chat/completions//', 'This path below /v1/chat/completions is'],
    ['/v1/messages/x', 'This path below /v1/messages is'],
    ['/v1/messages/batches/b', 'The path /v1/messages/batches is'],
  ])('%s is named so that it is not mistaken for one that is served', (path, expected) => {
    const route = findRoute({ method: 'GET', path, search: '', headers: bearer }, settings);

    expect(route.kind === 'refused' ? route.error.message : '').toContain(`${expected} not served`);
  });

  it('tells clients of batches what to do', () => {
    for (const path of ['/v1/messages/batches', '/v1/messages/batches/b', '/v1/batches']) {
      const route = findRoute({ method: 'POST', path, search: '', headers: {} }, settings);

      expect(route.kind === 'refused' ? route.error.message : '').toContain(
        'Batches are not offered: send each request by itself.',
      );
    }
  });

  it('is in the list of docs/mounting.md, which has no other', () => {
    const page = readText('docs/mounting.md');
    const list = /^- `\/v1\/assistants`[^;]*;\n- [^;]*;$/m.exec(page)?.[0] ?? '';
    const names = [...list.matchAll(/`([^`{]+?)(?:\/\{id\}[^`]*)?`/g)].map(([, name]) => name);

    expect(names.sort()).toEqual([...unservedPaths].sort());
  });

  it('is never quoted as the caller wrote it', () => {
    for (const path of ['/v1/files/secret-of-mine', '/v1beta/secret-of-mine', '/secret-of-mine']) {
      const route = findRoute({ method: 'GET', path, search: '', headers: {} }, settings);

      expect(JSON.stringify(route)).not.toContain('secret-of-mine');
    }
  });

  it('is the host’s with `unserved: "pass"`, and what is served stays the gateway’s', () => {
    const passing = { ...settings, unserved: 'pass' } as const;
    const served = [
      '/v1/chat/completions',
      '/v1/images/generations/',
      '/v1/embeddings',
      '/v1/responses',
      '/v1/responses/input_tokens',
      '/v1/responses/compact',
      '/v1/responses/resp_1',
      '/v1/messages',
      '/v1/messages/count_tokens',
      '/v1/models',
      '/v1/models/a',
      '/v1beta/models/a:generateContent',
    ];
    const unserved = [
      ...['/v1/files', '/v1/messages/batches', '/v1beta/files'],
      '/v1/responses/r_1/cancel',
    ];

    expect(served.filter((path) => !owns(path, passing))).toEqual([]);
    expect(unserved.filter((path) => owns(path, passing))).toEqual([]);
    expect(unserved.filter((path) => !owns(path, settings))).toEqual([]);
  });

  it('is the host’s with `unserved: "pass"` as a model’s method that nothing serves', () => {
    const passing = { ...settings, unserved: 'pass' } as const;
    const served = [
      ...['generateContent', 'streamGenerateContent', 'countTokens'],
      ...['embedContent', 'batchEmbedContents'],
    ];
    const names = [...served, 'embedText', 'asyncBatchEmbedContent', 'predict', 'free', 'toString'];
    const resources = [
      'models/m',
      'models/v/m:free',
      'models/%6d',
      'tunedModels/t',
      'models/m%3Ax',
    ];
    for (const resource of resources) {
      for (const path of names.flatMap((name) => pathsOf(resource, name))) {
        const isServed = served.some((name) => path.replace(/\/$/, '').endsWith(name));
        const isModels = path.startsWith('/v1beta/') || resource.startsWith('models/');

        for (const method of ['POST', 'PUT', 'DELETE', 'GET', 'HEAD']) {
          const route = findRoute({ method, path, search: '', headers: {} }, settings);
          const isAnswered = route.kind !== 'refused' || route.error.code !== 'route_not_found';
          if (isAnswered && method !== 'POST')
            expect([method, path, owns(path, passing, method)]).toEqual([method, path, true]);
        }
        expect([path, owns(path, passing, 'POST')]).toEqual([path, isServed]);
        expect([path, owns(path, passing)]).toEqual([path, isServed]);
        expect([path, owns(path, settings, 'POST')]).toEqual([path, isServed || isModels]);
      }
    }
  });
});

/** The paths of a method, plain and percent-encoded, of both versions. */
function pathsOf(resource: string, name: string): readonly string[] {
  return ['/v1', '/v1beta'].flatMap((version) =>
    [':', '%3A'].flatMap((colon) =>
      ['', '/'].map((slash) => `${version}/${resource}${colon}${name}${slash}`),
    ),
  );
}

describe('GET /v1/key', () => {
  it('is served only if the host has switched it on', () => {
    const on = { ...settings, ownerRoutes: true };
    const route = (method: string, path: string, headers: Record<string, string>): string => {
      const found = findRoute({ method, path, search: '', headers }, on);
      return [found.kind, found.caller.name].join(' ');
    };

    expect([owns('/v1/key', settings), owns('/v1/key', on), owns('/v1/key/', on)]).toEqual([
      false,
      true,
      true,
    ]);
    expect(owns('/v1/keys', on)).toBe(false);
    expect(route('GET', '/v1/key', bearer)).toBe('key openai');
    expect(route('HEAD', '/v1/key/', native)).toBe('key gemini');
    expect(route('GET', '/v1/key', { 'x-api-key': 'k' })).toBe('key anthropic');
    expect(route('POST', '/v1/key', bearer)).toBe('refused openai');
  });
});

it.each([
  [['chat'], 'POST /v1/chat/completions'],
  [['responses'], 'POST /v1/responses'],
  [['native'], 'POST /v1beta/models/{model}:generateContent'],
  [['chat', 'native'], 'POST /v1/chat/completions or POST /v1beta/models/{model}:generateContent'],
  [['telegraph'], ''],
  [[], ''],
])('models of %j are called with %s', (names, requests) => {
  expect(requestsFor(names)).toBe(requests);
});
