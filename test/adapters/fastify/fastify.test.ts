// suite: slow host
/**
 * The Fastify plugin in a host: which paths it takes, how it gets bodies, and that the host's own
 * routes, parsers and handlers work as before.
 */
import { createGunzip, gzipSync } from 'node:zlib';
import fastify, { type FastifyInstance } from 'fastify';
import { fastifyAdapter } from 'tollgate/fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayHandler } from '../../../src/http.ts';
import { scriptedGateway } from '../../../src/testing/contracts/adapter.ts';
import { untyped } from '../../stages/ports/failing.ts';
import { chatBody } from '../../support/bodies.ts';
import { bearer, unmountedGateway } from '../../support/mounted-gateway.ts';
import { echoedBody, echoOf } from '../echo.ts';
import { hostWith } from './host.ts';

const exact = '{ "model":"m",  "n": 12345678901234567890, "t": 1.0, "u": "a\\/b" }';
const json = { 'content-type': 'application/json' };

describe('paths', () => {
  const prefixes: readonly (readonly [prefix: string, requested: string])[] = [
    ['', ''],
    ['/llm', '/llm'],
    ['/llm/', '/llm'],
    ['/api/llm', '/api/llm'],
    ['/:tenant/llm', '/acme/llm'],
    ['/:tenant/llm', '/a%2Fb/llm'],
    ['/v1', ''],
    ['/:tenant/v1', '/acme'],
  ];
  const paths = [
    '/v1/models',
    '/v1/chat/completions',
    '/v1/chat/completions/',
    '/v1/a/v1/b',
    `/v1/models/${'m'.repeat(300)}`,
    '/v1beta/models/x:generateContent',
    '/v1beta/models/a%2Fb%3AgenerateContent',
  ];

  it.each(prefixes)('registered at %j, the plugin passes on what follows %j', async (at, base) => {
    const isVersion = at.endsWith('/v1');
    const { app } = hostWith((host, gateway) => {
      host.register(fastifyAdapter(gateway), { prefix: at });
    });

    for (const path of paths.filter((each) => !isVersion || each.startsWith('/v1/'))) {
      const url = `${base}${path}?alt=sse&x=/v1/%20`;
      const response = await app.inject({ method: 'POST', url, payload: {} });

      expect(echoOf(response.body)).toMatchObject({ path, search: 'alt=sse&x=/v1/%20' });
    }
  });

  it('the prefixes of nested plugins add up', async () => {
    const { app } = hostWith((host, gateway) => {
      const outer = async (instance: FastifyInstance): Promise<void> => {
        instance.register(fastifyAdapter(gateway), { prefix: '/llm' });
      };
      host.register(outer, { prefix: '/api' });
    });

    expect(echoOf((await app.inject('/api/llm/v1/models')).body).path).toBe('/v1/models');
  });

  it('routes that the host has below the prefix stay its own, and it starts', async () => {
    const { app } = hostWith((host, gateway) => {
      host.get('/llm/models', () => 'of the host');
      for (const url of ['/llm/messages', '/llm/responses']) host.all(url, () => 'of the host');
      host.register(fastifyAdapter(gateway), { prefix: '/llm' });
    });

    for (const url of ['/llm/models', '/llm/messages', '/llm/responses'] as const) {
      expect((await app.inject(url)).body).toBe('of the host');
    }
    expect(echoOf((await app.inject('/llm/v1/models')).body).path).toBe('/v1/models');
  });

  it('a prefix matches in any case where the host ignores case', async () => {
    const { app } = hostWith(
      (host, gateway) => {
        host.register(fastifyAdapter(gateway), { prefix: '/llm' });
      },
      { routerOptions: { caseSensitive: false } },
    );

    expect(echoOf((await app.inject('/LLM/v1/models')).body).path).toBe('/v1/models');
  });

  it('a URL that the host rewrites is served as rewritten', async () => {
    const { app } = hostWith(
      (host, gateway) => {
        host.register(fastifyAdapter(gateway), { prefix: '/llm' });
      },
      { rewriteUrl: ({ url = '' }) => url.replace('/openai/', '/llm/') },
    );

    expect(echoOf((await app.inject('/openai/v1/models')).body).path).toBe('/v1/models');
  });

  it.each([
    {},
    { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, caseSensitive: false },
  ])('every other path gets the host’s 404, with the options %j', async (routerOptions) => {
    const { app, paths: taken } = hostWith(
      (host, gateway) => {
        const owns = (path: string): boolean => path === '/v1/models';
        host.register(fastifyAdapter({ ...gateway, owns }), { prefix: '/llm' });
      },
      { routerOptions },
    );
    const others = ['/v1', '/v1/', '/v1x/models', '/v2/models', '/v1/other', '/v1//models', ''];
    const urls = ['/v1/models', '//llm/v1/models', ...others.map((path) => `/llm${path}`)];

    for (const method of ['GET', 'POST', 'DELETE'] as const) {
      for (const url of urls) {
        const payload = method === 'POST' ? { body: {} } : {};
        const response = await app.inject({ method, url, ...payload });

        expect([url, response.statusCode, response.headers['x-host']]).toEqual([url, 404, 'yes']);
      }
    }
    expect(taken).toEqual([]);
  });

  it('a route of the host that is more specific is the host’s', async () => {
    const { app, paths: taken } = hostWith((host, gateway) => {
      host.get('/v1/users/:id', async () => 'user');
      host.register(fastifyAdapter(gateway));
    });

    expect((await app.inject('/v1/users/5')).body).toBe('user');
    expect(taken).toEqual([]);
  });

  it('OPTIONS belongs to the host', async () => {
    const { app, paths: taken } = hostWith((host, gateway) => {
      host.options('*', async (_request, reply) => {
        reply.code(204).header('access-control-allow-origin', '*');
      });
      host.register(fastifyAdapter(gateway));
    });

    const response = await app.inject({ method: 'OPTIONS', url: '/v1/chat/completions' });

    expect([response.statusCode, response.headers['access-control-allow-origin']]).toEqual([
      204,
      '*',
    ]);
    expect(taken).toEqual([]);
  });

  it.each([
    true,
    false,
  ])('HEAD reaches the gateway, with exposeHeadRoutes: %s', async (exposeHeadRoutes) => {
    const { app, paths: taken } = hostWith(
      (host, gateway) => {
        host.register(fastifyAdapter(gateway));
      },
      { exposeHeadRoutes },
    );

    const response = await app.inject({ method: 'HEAD', url: '/v1/models' });

    expect([response.statusCode, response.body, taken]).toEqual([200, '', ['/v1/models']]);
  });

  it('two gateways have a prefix each, and one prefix can be used once', async () => {
    const { app, paths: taken } = hostWith((host, gateway) => {
      const refusing: GatewayHandler = {
        ...gateway,
        handle: async (request) => gateway.refuse(request, 'body_too_large', 'of the second'),
      };
      host.register(fastifyAdapter(gateway), { prefix: '/one' });
      host.register(fastifyAdapter(refusing), { prefix: '/two' });
    });
    const twice = fastify();
    twice.register(fastifyAdapter(scriptedGateway()));
    twice.register(fastifyAdapter(scriptedGateway()));

    expect((await app.inject('/one/v1/models')).statusCode).toBe(200);
    expect((await app.inject('/two/v1/models')).body).toContain('of the second');
    expect(taken).toEqual(['/v1/models']);
    await expect(twice.ready()).rejects.toMatchObject({ code: 'FST_ERR_DUPLICATED_ROUTE' });
  });
});

describe('bodies', () => {
  const parsers: Readonly<Record<string, (app: FastifyInstance) => void>> = {
    'no parser of the host': () => {},
    'a JSON parser': (app) => {
      app.addContentTypeParser('application/json', { parseAs: 'string' }, async () => 'parsed');
    },
    'a parser by a regular expression': (app) => {
      app.addContentTypeParser(/^application\//, { parseAs: 'buffer' }, async () => 'parsed');
    },
    'a parser for all types': (app) => {
      app.addContentTypeParser('*', async (_request: unknown, payload: NodeJS.ReadableStream) => {
        payload.resume();
        return 'parsed';
      });
    },
  };
  const types = ['application/json', 'application/json; charset=utf-8', 'text/plain', 'a/b', ''];
  const cases = Object.entries(parsers).flatMap(([parser, add]) =>
    ['before', 'after'].map((when) => ({ parser, add, when })),
  );

  it.each(cases)('keep their bytes with $parser added $when the plugin', async ({ add, when }) => {
    const { app } = hostWith(
      (host, gateway) => {
        if (when === 'before') add(host);
        host.register(fastifyAdapter(gateway));
        if (when === 'after') add(host);
        host.post('/own', async ({ body }) => ({ body }));
      },
      { bodyLimit: 5 },
    );

    for (const type of types) {
      const headers = type === '' ? {} : { 'content-type': type };
      const response = await app.inject({ method: 'POST', url: '/v1/echo', headers, body: exact });

      expect(echoedBody(echoOf(response.body))).toBe(exact);
    }
    const own = await app.inject({ method: 'POST', url: '/own', headers: json, body: '{}' });
    expect(own.json().body).toEqual(
      add === parsers['no parser of the host'] ? {} : expect.anything(),
    );
  });

  it('are read from the stream that a preParsing hook returns', async () => {
    const { app } = hostWith((host, gateway) => {
      host.addHook('preParsing', async (request, _reply, payload) =>
        request.headers['content-encoding'] === 'gzip' ? payload.pipe(createGunzip()) : payload,
      );
      host.register(fastifyAdapter(gateway));
    });
    const headers = { ...json, 'content-encoding': 'gzip' };

    const echo = echoOf(
      (await app.inject({ method: 'POST', url: '/v1/echo', headers, body: gzipSync(exact) })).body,
    );

    expect(echoedBody(echo)).toBe(exact);
    expect(echo.headers['content-length']).toBeUndefined();
    expect(echo.headers['content-encoding']).toBeUndefined();
  });

  it('that a preParsing hook can’t decompress are refused', async () => {
    const { gateway, secrets, close } = await unmountedGateway();
    onTestFinished(close);
    const { app } = hostWith((host) => {
      host.addHook('preParsing', async (_request, _reply, payload) => payload.pipe(createGunzip()));
      host.register(fastifyAdapter(gateway));
    });
    const headers = { ...json, ...bearer(secrets.chat), 'content-encoding': 'gzip' };
    const url = '/v1/chat/completions';

    const whole = gzipSync(JSON.stringify(chatBody));
    for (const body of [Buffer.from('no gzip'), whole.subarray(0, 20), whole.subarray(0, -1)]) {
      const response = await app.inject({ method: 'POST', url, headers, body });

      expect([response.statusCode, response.json().error.type]).toEqual([
        400,
        'invalid_request_error',
      ]);
    }
    const noKey = { ...headers, ...bearer('wrong') };
    const unread = await app.inject({ method: 'POST', url, headers: noKey, body: 'no gzip' });
    expect(unread.statusCode).toBe(401);
    const sent = await app.inject({ method: 'POST', url, headers, body: whole });
    expect(sent.statusCode).toBe(200);
  });

  it.each([
    'json',
    '/json',
    'application/',
    ';charset=utf-8',
    '\u00e4/b',
  ])('with the content type %j, which Fastify refuses, get the gateway’s error', async (type) => {
    const { app, paths } = hostWith((host, gateway) => {
      host.addHook('onRequest', async (_request, reply) => void reply.header('x-hook', 'yes'));
      host.register(fastifyAdapter({ ...gateway, owns: (path) => path === '/v1/echo' }));
    });
    const headers = { 'content-type': type };

    const ours = await app.inject({ method: 'POST', url: '/v1/echo', headers, body: exact });
    const other = await app.inject({ method: 'POST', url: '/v1/other', headers, body: exact });

    expect(ours.json().error).toMatchObject({ code: 'unsupported_media_type', path: '/v1/echo' });
    expect(ours.headers['x-hook']).toBe('yes');
    expect([other.statusCode, other.json().code]).toEqual([415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE']);
    expect(paths).toEqual([]);
  });
});

describe('the rest of the host', () => {
  it('keeps its parsers, its error handler and its routes', async () => {
    const { app } = hostWith((host, gateway) => {
      host.setErrorHandler(async (error, _request, reply) => {
        reply.code(418);
        return String(error);
      });
      host.register(fastifyAdapter(gateway));
      host.post('/own', async ({ body }) => ({ body }));
      host.get('/broken', async () => {
        throw new Error('of the host');
      });
    });
    const post = { method: 'POST', url: '/own', headers: json } as const;

    expect((await app.inject({ ...post, body: '{"a":1}' })).json()).toEqual({ body: { a: 1 } });
    expect((await app.inject({ ...post, body: '{"a"' })).statusCode).toBe(418);
    expect((await app.inject('/broken')).body).toBe('Error: of the host');
  });

  it('starts only with a gateway', () => {
    for (const gateway of [undefined, null, {}, () => {}]) {
      expect(() => fastifyAdapter(untyped(gateway)())).toThrow(
        expect.objectContaining({
          name: 'ConfigurationError',
          message: expect.stringMatching(
            /^fastifyAdapter: gateway must be an object with owns\(\)/,
          ),
        }),
      );
    }
  });
});
