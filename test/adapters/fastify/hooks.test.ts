// suite: slow host
/**
 * The host's hooks on the routes of the Fastify plugin: they refuse requests, set headers and fail
 * as they do on a route of the host.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { fastifyAdapter } from 'tollgate/fastify';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { GatewayHandler } from '../../../src/http.ts';
import { scriptedGateway } from '../../../src/testing/contracts/adapter.ts';
import { untyped } from '../../stages/ports/failing.ts';
import { hostWith } from './host.ts';

const json = { 'content-type': 'application/json' };

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

describe('an error of a hook', () => {
  it('is logged once', async () => {
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    const { app } = hostWith(
      (host, gateway) => {
        host.addHook('onRequest', async () => {
          throw new Error('broken');
        });
        host.register(fastifyAdapter(gateway));
      },
      { logger: { level: 'error', stream } },
    );

    await app.inject('/v1/models');

    expect(lines).toEqual([expect.stringContaining('broken')]);
  });
});

describe('the handlerTimeout of the host', () => {
  it('does not apply to the gateway, which has timeouts of its own', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const gateway = scriptedGateway();
    const { app } = hostWith((host) => host.register(fastifyAdapter(gateway)), {
      handlerTimeout: 1_000,
    });

    const response = app.inject({ method: 'POST', url: '/v1/silent' });
    await gateway.received;
    vi.advanceTimersByTime(60_000);
    gateway.answer();
    gateway.reply.end('late');

    expect((await response).statusCode).toBe(200);
    expect((await response).body).toBe('late');
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
