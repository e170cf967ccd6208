/**
 * The Fastify plugin in a host: which paths it takes, and that the host's hooks, parsers, headers
 * and handlers work as they do for a route of its own.
 */
import { createGunzip, gzipSync } from 'node:zlib';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyServerOptions,
} from 'fastify';
import { fastifyAdapter } from 'tollgate/fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayHandler } from '../../src/http.ts';
import { scriptedGateway } from '../../src/testing/contracts/adapter/scripted-gateway.ts';
import { untyped } from '../stages/failing.ts';
import { chatBody } from '../support/bodies.ts';
import { bearer, unmountedGateway } from '../support/mounted-gateway.ts';
import { echoedBody, echoOf } from './echo.ts';

const exact = '{ "model":"m",  "n": 12345678901234567890, "t": 1.0, "u": "a\\/b" }';
const json = { 'content-type': 'application/json' };

/** An app whose own 404 has the header `x-host`, and whose gateway counts its calls. */
function hostWith(
  setUp: (app: FastifyInstance, gateway: GatewayHandler) => void,
  options: FastifyServerOptions = {},
): { readonly app: FastifyInstance; readonly paths: string[] } {
  const paths: string[] = [];
  const scripted = scriptedGateway();
  const gateway: GatewayHandler = {
    ...scripted,
    handle: (request) => {
      paths.push(request.path);
      return scripted.handle(request);
    },
  };
  const app = fastify(options);
  onTestFinished(() => app.close());
  app.setNotFoundHandler(async (_request, reply) => {
    reply.code(404).header('x-host', 'yes');
    return 'host';
  });
  setUp(app, gateway);
  return { app, paths };
}

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

type Run = (reply: FastifyReply) => unknown;

/** The hooks that run before a handler. */
const stages: Readonly<Record<string, (app: FastifyInstance, run: Run) => void>> = {
  onRequest: (app, run) => app.addHook('onRequest', async (_request, reply) => run(reply)),
  preParsing: (app, run) =>
    app.addHook('preParsing', async (_request, reply, payload) => {
      await run(reply);
      return payload;
    }),
  preValidation: (app, run) => app.addHook('preValidation', async (_request, reply) => run(reply)),
  preHandler: (app, run) => app.addHook('preHandler', async (_request, reply) => run(reply)),
};

const refusals: Readonly<Record<string, Run>> = {
  'throws an error with a status': () => {
    throw Object.assign(new Error('no entry'), { statusCode: 401 });
  },
  'throws an error': () => {
    throw new Error('broken');
  },
  'throws no error object': () => {
    throw untyped({ statusCode: 403, reason: 'none' })();
  },
  'sends a reply': (reply) => reply.code(401).send({ error: 'no entry' }),
};

const errorHandlers: Readonly<Record<string, (app: FastifyInstance) => void>> = {
  'Fastify’s error handler': () => {},
  'its own error handler': (app) => {
    app.setErrorHandler(async (error, _request, reply) => {
      reply.code(418);
      return { handled: JSON.stringify(error) };
    });
  },
  'an error handler that throws': (app) => {
    app.setErrorHandler(async (error) => {
      throw Object.assign(new Error('from the handler'), { cause: error, statusCode: 502 });
    });
  },
};

describe.each(Object.entries(stages))('a %s hook of the host', (stage, addHook) => {
  const cases = Object.entries(refusals).flatMap(([how, run]) =>
    Object.entries(errorHandlers).map(([handler, setHandler]) => ({
      how,
      run,
      handler,
      setHandler,
    })),
  );

  it.each(cases)('that $how is answered with $handler as for a route of the host', async ({
    run,
    setHandler,
  }) => {
    // The handling of errors as Fastify has it, which the plugin must not change.
    const seen: unknown[] = [];
    const { app, paths } = hostWith((host, gateway) => {
      setHandler(host);
      host.addHook('onError', async (_request, _reply, error) => {
        seen.push(String(error));
      });
      addHook(host, run);
      host.all('/own', async () => 'not reached');
      host.register(fastifyAdapter(gateway));
    });

    const [own, ours] = await Promise.all(
      ['/own', '/v1/chat/completions'].map((url) =>
        app.inject({ method: 'POST', url, headers: json, payload: '{}' }),
      ),
    );

    expect(ours?.statusCode).toBe(own?.statusCode);
    expect(ours?.body).toBe(own?.body);
    expect(ours?.headers['content-type']).toBe(own?.headers['content-type']);
    expect(ours?.statusCode).toBeGreaterThanOrEqual(401);
    expect(seen[0]).toBe(seen[1]);
    expect(seen.length % 2).toBe(0);
    expect(paths).toEqual([]);
  });

  it('sets headers of every reply', async () => {
    const { app } = hostWith((host, gateway) => {
      addHook(host, (reply) => {
        reply
          .header('x-text', stage)
          .header('x-number', 7)
          .header('vary', 'Origin')
          .header('set-cookie', ['a=1', 'b=2']);
      });
      const varying: GatewayHandler = {
        ...gateway,
        handle: async (request) => {
          const reply = await gateway.handle(request);
          return { ...reply, headers: { ...reply.headers, vary: 'authorization' } };
        },
      };
      host.register(fastifyAdapter(varying));
    });

    for (const url of ['/v1/models', '/v1/refused', '/v1/endless']) {
      const response = await app.inject({ method: 'GET', url, payloadAsStream: true });
      response.stream().destroy();

      expect(response.headers).toMatchObject({
        'x-text': stage,
        'x-number': '7',
        vary: 'Origin, authorization',
        'set-cookie': ['a=1', 'b=2'],
      });
    }
  });

  it('that sets an invalid header is an error of the host', async () => {
    const { app, paths } = hostWith((host, gateway) => {
      addHook(host, (reply) => void reply.header('x-bad', 'a\nb'));
      host.register(fastifyAdapter(gateway));
    });

    const response = await app.inject('/v1/models');

    expect(response.statusCode).toBe(500);
    expect(paths).toEqual([]);
  });
});

describe('hooks after the handler', () => {
  it('onResponse runs once, with the status; onSend does not run', async () => {
    const ran: string[] = [];
    const { app } = hostWith((host, gateway) => {
      host.addHook('onSend', async () => {
        ran.push('onSend');
      });
      host.addHook('onResponse', async ({ url }, reply) => {
        ran.push(`${url} ${reply.statusCode}`);
      });
      host.register(fastifyAdapter(gateway));
    });

    await app.inject('/v1/models');
    await app.inject('/v1/refused');
    await app.close();

    expect(ran).toEqual(['/v1/models 200', '/v1/refused 413']);
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
