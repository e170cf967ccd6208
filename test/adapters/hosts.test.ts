// suite: slow host
/**
 * What hosts do to an adapter apart from mounting it: HTTP/2, errors, timeouts, consumed bodies.
 */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type ClientHttp2Session, connect, createServer as createServer2 } from 'node:http2';
import { text } from 'node:stream/consumers';
import cors from 'cors';
import express5 from 'express';
import Koa3 from 'koa';
import { expressAdapter, expressErrorHandler } from 'tollgate/express';
import { koaAdapter } from 'tollgate/koa';
import { nodeAdapter } from 'tollgate/node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { createGateway } from '../../src/gateway.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { scriptedGateway } from '../../src/testing/contracts/adapter.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { closed, listening } from '../support/servers.ts';
import { echoedBody, echoOf } from './echo.ts';
import { express4, Koa2 } from './mounts.ts';

describe('gateway.handle in place of an adapter', () => {
  const misplaced = (): RequestListener => {
    const { handle } = createGateway({
      keys: memoryKeyStore(),
      quota: memoryQuotaStore(),
      catalog: staticCatalog([]),
    });
    // As a host in JavaScript writes it.
    return JSON.parse('{}', () => handle);
  };

  it.each<[string, () => RequestListener]>([
    ['node:http', misplaced],
    ['Express 5', () => express5().use(misplaced())],
    ['Express 4', () => express4().use(misplaced())],
  ])('of %s is answered, and explained once', async (_host, listener) => {
    const server = createServer(listener());
    const origin = await listening(server);
    onTestFinished(() => closed(server));

    for (let call = 0; call < 2; call += 1) {
      const reply = await fetch(`${origin}/v1/models`);
      expect(reply.status).toBe(500);
      expect(await reply.text()).toContain('not mounted correctly');
    }

    const [warning, ...others] = await takeWarnings();
    expect(warning?.message).toContain('Mount the gateway by an adapter: nodeAdapter');
    expect(others).toEqual([]);
  });
});

describe('a CORS preflight', () => {
  const koa = (Koa: typeof Koa3): RequestListener =>
    new Koa().use(koaAdapter(scriptedGateway())).callback();
  const hosts: readonly (readonly [string, () => RequestListener])[] = [
    ['node:http', () => nodeAdapter(scriptedGateway())],
    ['Express 5', () => express5().use(expressAdapter(scriptedGateway()))],
    ['Express 4', () => express4().use(expressAdapter(scriptedGateway()))],
    ['Koa 3', () => koa(Koa3)],
    ['Koa 2', () => koa(Koa2)],
  ];
  const preflights = async (listener: RequestListener, paths: readonly string[]) => {
    const server = createServer(listener);
    const origin = await listening(server);
    onTestFinished(() => closed(server));
    for (const path of paths) {
      const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
      await fetch(origin + path, { method: 'OPTIONS', headers });
    }
    return (await takeWarnings()).map(({ message }) => message);
  };
  const path = '/v1/chat/completions';

  it.each(hosts)('that nobody answered before %s is reported once', async (_host, listener) => {
    expect(await preflights(listener(), [path, path])).toEqual([
      expect.stringMatching(/CORS preflight.*mount your CORS layer before the gateway: app\.use\(/),
    ]);
  });

  it.each(hosts)('for a path of the host is not reported: %s', async (_host, listener) => {
    expect(await preflights(listener(), ['/other', '/llm/v1/models'])).toEqual([]);
  });

  it.each([
    ['answered', {}],
    ['left to others', { preflightContinue: true }],
  ])('that the host’s layer has %s is not reported', async (_how, options) => {
    const app = express5().use(cors(options), expressAdapter(scriptedGateway()));

    expect(await preflights(app, [path])).toEqual([]);
  });
});

describe('HTTP/2', () => {
  it('answers a call', async () => {
    const session = await http2(nodeAdapter(scriptedGateway()));
    const stream = session.request({ ':method': 'POST', ':path': '/v1/chat/completions?a=b' });
    stream.end('{}');

    const echo = echoOf(await text(stream));
    expect(echo).toMatchObject({ path: '/v1/chat/completions', search: 'a=b' });
    expect(echoedBody(echo)).toBe('{}');
  });

  it('answers HEAD with the head only', async () => {
    const session = await http2(nodeAdapter(scriptedGateway()));
    const stream = session.request({ ':method': 'HEAD', ':path': '/v1/models' });
    const [head] = await once(stream, 'response');

    expect(head[':status']).toBe(200);
    expect(await text(stream)).toBe('');
  });

  it('tells the gateway that the caller disconnected mid-stream', async () => {
    const gateway = scriptedGateway();
    const session = await http2(nodeAdapter(gateway));
    const stream = session.request({ ':method': 'POST', ':path': '/v1/stream' });
    stream.end('{}');
    gateway.reply.write('data: 1\n\n');
    await once(stream, 'data');

    stream.close();
    await gateway.disconnected;

    if (!gateway.reply.closed) await once(gateway.reply, 'close');
    expect(gateway.reply.destroyed).toBe(true);
  });

  it('drops the reply to a caller that has disconnected', async () => {
    const gateway = scriptedGateway();
    const session = await http2(nodeAdapter(gateway));
    const stream = session.request({ ':method': 'POST', ':path': '/v1/silent' });
    stream.end('{}');
    await gateway.received;

    stream.close();
    await gateway.disconnected;
    gateway.answer();

    if (!gateway.reply.closed) await once(gateway.reply, 'close');
    expect(gateway.reply.destroyed).toBe(true);
  });
});

describe.each([
  { version: 'Express 4', express: express4 },
  { version: 'Express 5', express: express5 },
])('$version', ({ express }) => {
  it('answers a parser’s 413 in the error format of the API', async () => {
    const gateway = scriptedGateway();
    const app = express();
    app.use(express.json({ limit: 10 }), expressAdapter(gateway), expressErrorHandler(gateway));
    const response = await post(await serving(app), '/v1/chat/completions', '{"model":"abcdef"}');

    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error: { code: 'body_too_large' } });
  });

  it('answers a parser’s JSON error in the error format of the API, under a prefix', async () => {
    const gateway = scriptedGateway();
    const app = express();
    app.use('/api/v1', express.json(), expressAdapter(gateway), expressErrorHandler(gateway));
    const response = await post(await serving(app), '/api/v1/chat/completions', '{"model"');

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_request', path: '/v1/chat/completions' },
    });
  });

  it('leaves the errors of other paths to the host', async () => {
    const gateway = scriptedGateway();
    const app = express();
    app.use(express.json({ limit: 10 }), expressErrorHandler(gateway));
    const host: express5.ErrorRequestHandler = (error, _req, res, _next) => {
      res.status(418).send(error.type);
    };
    app.use(host);
    const response = await post(await serving(app), '/other', '{"model":"abcdef"}');

    expect([response.status, await response.text()]).toEqual([418, 'entity.too.large']);
  });

  it('passes no body, and warns once, if the host has consumed it', async () => {
    const app = express();
    app.use((req, _res, next) => void req.resume().once('end', () => next()));
    app.use(expressAdapter(scriptedGateway()));
    const origin = await serving(app);
    const first = await post(origin, '/v1/chat/completions', '{"a":1}');
    await post(origin, '/v1/chat/completions', '{"a":1}');

    expect(echoOf(await first.text()).body).toBeNull();
    expect((await takeWarnings()).map((warning) => Reflect.get(warning, 'code'))).toEqual([
      'TOLLGATE_BODY_CONSUMED',
    ]);
  });

  it('drops the reply after a timeout of the host', async () => {
    const gateway = scriptedGateway();
    const app = express();
    app.use((_req, res, next) => {
      void gateway.received.then(() => res.status(503).send('host'));
      next();
    });
    app.use(expressAdapter(gateway));
    const response = await post(await serving(app), '/v1/silent', '{}');
    expect([response.status, await response.text()]).toEqual([503, 'host']);

    gateway.answer();

    await once(gateway.reply, 'close');
    expect(gateway.reply.destroyed).toBe(true);
  });
});

describe.each([
  { version: 'Koa 2', Koa: Koa2 },
  { version: 'Koa 3', Koa: Koa3 },
])('$version', ({ Koa }) => {
  it('reports no error of the app for a caller that disconnects', async () => {
    const gateway = scriptedGateway();
    const app = new Koa();
    const errors: unknown[] = [];
    app.on('error', (error) => errors.push(error));
    app.use(koaAdapter(gateway));
    const controller = new AbortController();
    gateway.reply.write('data: 1\n\n');
    const response = await post(await serving(app.callback()), '/v1/stream', '{}', controller);

    await response.body?.getReader().read();
    controller.abort();
    await gateway.disconnected;
    await takeWarnings();

    expect(errors).toEqual([]);
  });

  it('still reports a reply that fails', async () => {
    const gateway = scriptedGateway();
    const app = new Koa();
    const errors: unknown[] = [];
    app.on('error', (error) => errors.push(error));
    app.use(koaAdapter(gateway));
    gateway.reply.write('data: 1\n\n');
    const response = await post(await serving(app.callback()), '/v1/stream', '{}');
    const broken = new Error('the upstream broke off');

    gateway.reply.destroy(broken);
    await response.text().catch(() => undefined);

    expect(errors).toContain(broken);
  });

  it('reports to the listener of the same context, with two apps on one adapter', async () => {
    const gateway = scriptedGateway();
    const middleware = koaAdapter(gateway);
    const errors: [string, unknown][] = [];
    const appCalled = async (name: string): Promise<string> => {
      const app = new Koa();
      app.on('error', (error) => errors.push([`app ${name}`, error]));
      app.use((ctx, next) => {
        if (name === 'with its own') ctx.onerror = (error) => errors.push([ctx.path, error]);
        return next();
      });
      return serving(app.use(middleware).callback());
    };
    for (const name of ['plain', 'with its own', 'plain again']) {
      const response = await post(await appCalled(name), '/v1/chat/completions', '{}');
      await response.text();
    }
    gateway.reply.write('data: 1\n\n');
    const response = await post(await appCalled('with its own'), '/v1/stream', '{}');
    const broken = new Error('the upstream broke off');

    gateway.reply.destroy(broken);
    await response.text().catch(() => undefined);

    expect(errors).toContainEqual(['/v1/stream', broken]);
    // Koa reports `null` for a response that has ended normally.
    expect(errors.filter(([, error]) => error !== null && error !== broken)).toEqual([]);
    expect(errors.filter(([name]) => name.startsWith('app'))).toEqual([]);
  });

  it('keeps the headers of the host', async () => {
    const app = new Koa();
    app.use(async (ctx, next) => {
      ctx.set('x-before', '1');
      await next();
      ctx.set('x-after', '1');
    });
    app.use(koaAdapter(scriptedGateway()));
    const response = await post(await serving(app.callback()), '/v1/chat/completions', '{}');

    expect(response.headers.get('x-before')).toBe('1');
    expect(response.headers.get('x-after')).toBe('1');
    expect(response.headers.get('content-type')).toBe('application/json');
  });
});

async function serving(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => closed(server));
  return listening(server);
}

function post(
  origin: string,
  path: string,
  body: string,
  { signal }: Partial<AbortController> = {},
): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${origin}${path}`, { method: 'POST', headers, body, signal: signal ?? null });
}

async function http2(listener: ReturnType<typeof nodeAdapter>): Promise<ClientHttp2Session> {
  const server = createServer2((req, res) => listener(req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  const session = connect(`http://127.0.0.1:${address.port}`);
  onTestFinished(async () => {
    session.destroy();
    server.close();
    await once(server, 'close');
  });
  return session;
}
