// suite: slow host
/** The console in each kind of host: signing in, the page, a change, live figures, signing out. */
import { Agent, createServer, request as httpRequest, type RequestListener } from 'node:http';
import compression from 'compression';
import cors from 'cors';
import express5, { type Express } from 'express';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import helmet from 'helmet';
import Koa3 from 'koa';
import bodyParser from 'koa-bodyparser';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Admin, AdminHandler } from '../../src/admin/index.ts';
import { type ConsoleSignIn, consoleHandler, consoleSignIn } from '../../src/console/index.ts';
import type { Gateway } from '../../src/gateway.ts';
import type { FakeClock } from '../../src/testing/fake-clock.ts';
import { express4, Koa2 } from '../adapters/mounts.ts';
import { adminSetup } from '../admin/admin-host.ts';
import { closed, listening } from '../support/servers.ts';
import { changing, cookieOf, send, tokenOf } from './console-host.ts';

type Start = (handler: AdminHandler) => Promise<Running>;

interface Running {
  readonly origin: string;
  /** Closes the server as a host does: waits for open connections, and closes none. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

const hosts: Readonly<Record<string, Start>> = {
  'node:http': served((handler) => (request, response) => {
    void handler(request, response, () => response.writeHead(418).end('host'));
  }),
  'Express 4': inExpress(express4, (app, handler) => app.use(handler)),
  'Express 5': inExpress(express5, (app, handler) => app.use(handler)),
  'Express 4 at its path': inExpress(express4, (app, handler) => app.use('/console', handler)),
  'Express 5 at its path': inExpress(express5, (app, handler) => app.use('/console', handler)),
  'Express 5 behind parsers, helmet, cors and compression': inExpress(express5, (app, handler) =>
    app.use(express5.json(), helmet(), cors({ origin: '*' }), compression(), handler),
  ),
  'Koa 2': inKoa(Koa2, []),
  'Koa 3': inKoa(Koa3, []),
  'Koa 3 behind a parser': inKoa(Koa3, [bodyParser()]),
  'Fastify 5': inFastify,
};

describe.each(Object.entries(hosts))('%s', (_name, start) => {
  it('serves the console from signing in to signing out, and nothing beside it', async () => {
    const { origin, signIn } = await started(start);
    const token = tokenOf(signIn.link(`${origin}/console`));
    const post = { method: 'POST', headers: changing };

    const without = await send(origin, { path: '/console' });
    const entrance = await send(origin, { path: String(without.headers.location) });
    const made = await send(origin, { ...post, path: '/console/sign-in', body: { token } });
    const headers = { ...changing, cookie: cookieOf(made.headers) };
    const page = await send(origin, { path: '/console', headers });
    const script = await send(origin, { path: '/console/console.js', headers });
    const session = await send(origin, { path: '/console/api/session', headers });
    const body = { group: 'staff', limitNanos: '5' };
    const change = await send(origin, { ...post, path: '/console/api/keys', headers, body });
    const live = await openStream(`${origin}/console/api/events`, headers);
    live.leave();
    const ended = await send(origin, { ...post, path: '/console/sign-out', headers, body: {} });
    const after = await send(origin, { path: '/console/api/session', headers });
    const others = await Promise.all(
      ['/', '/consoles', '/api/session'].map((path) => send(origin, { path, headers })),
    );

    expect([without.status, entrance.status, made.status]).toEqual([303, 200, 200]);
    expect([page.status, script.status, session.status]).toEqual([200, 200, 200]);
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; script-src/);
    expect(page.headers).not.toHaveProperty('access-control-allow-origin');
    expect(change.status).toBe(201);
    expect(live.first).toMatch(/^event: now\ndata: \{/);
    expect([ended.status, after.status]).toEqual([200, 401]);
    expect(ended.headers['set-cookie']?.[0]).toContain('Max-Age=0');
    expect(others.map(({ status, text }) => [status, text])).toEqual(
      others.map(() => [418, 'host']),
    );
  });
});

describe.each(Object.entries(hosts))('%s with an open stream of live figures', (_name, start) => {
  it.each([
    ['the library', 'admin'],
    ['the gateway', 'gateway'],
  ] as const)('can be closed once %s is, and the stream ends orderly', async (_what, part) => {
    const setup = await started(start);
    const { origin, clock, drain } = setup;
    const headers = { ...changing, cookie: await signedIn(setup) };
    const stream = await openStream(`${origin}/console/api/events`, headers);
    const keeping = { ...headers, connection: 'keep-alive' };
    const before = await send(origin, { path: '/console/api/session', headers: keeping });

    await setup[part].close();
    const refused = await send(origin, { path: '/console/api/events', headers });
    const after = await Promise.all(
      ['/console', '/console/api/session', '/console/api/none'].map((path) =>
        send(origin, { path, headers: keeping }),
      ),
    );
    const closing = drain();
    clock.advance(2_000);

    expect(await stream.ended).toBe('end');
    await closing;
    expect(before.headers.connection).toBe('keep-alive');
    expect(after.map(({ headers: { connection } }) => connection)).toEqual(
      after.map(() => 'close'),
    );
    expect([refused.status, refused.text]).toEqual([204, '']);
  });
});

interface Setup {
  readonly origin: string;
  readonly signIn: ConsoleSignIn;
  readonly admin: Admin;
  readonly gateway: Gateway;
  readonly clock: FakeClock;
  drain(): Promise<void>;
}

async function started(start: Start): Promise<Setup> {
  const { admin, gateway, clock } = adminSetup();
  const signIn = consoleSignIn({ clock });
  const { origin, drain, close } = await start(consoleHandler(admin, { path: '/console', signIn }));
  onTestFinished(close);
  return { origin, signIn, admin, gateway, clock, drain };
}

/** The cookie of a new session. */
async function signedIn({ origin, signIn }: Setup): Promise<string> {
  const token = tokenOf(signIn.link(`${origin}/console`));
  const path = '/console/sign-in';
  const made = await send(origin, { method: 'POST', headers: changing, path, body: { token } });
  return cookieOf(made.headers);
}

function served(listenerOf: (handler: AdminHandler) => RequestListener): Start {
  return async (handler) => {
    const server = createServer(listenerOf(handler));
    const drain = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
    const close = async (): Promise<void> => {
      if (server.listening) await closed(server);
      server.closeAllConnections();
    };
    return { origin: await listening(server), drain, close };
  };
}

function inExpress(
  express: typeof express5,
  setUp: (app: Express, handler: AdminHandler) => void,
): Start {
  return served((handler) => {
    const app = express();
    setUp(app, handler);
    app.use((_req, res) => void res.status(418).send('host'));
    return app;
  });
}

function inKoa(Koa: typeof Koa3, before: readonly Koa3.Middleware[]): Start {
  return served((handler) => {
    const app = new Koa();
    for (const middleware of before) app.use(middleware);
    app.use(async (ctx, next) => {
      if (!/^\/console(?:\/|$)/.test(ctx.path)) return next();
      ctx.respond = false;
      const { body } = Object(ctx.request);
      await handler(Object.assign(ctx.req, { body }), ctx.res);
    });
    app.use((ctx) => {
      ctx.status = 418;
      ctx.body = 'host';
    });
    return app.callback();
  });
}

/** In a scope without parsers, so that the handler reads the body. */
async function inFastify(handler: AdminHandler): Promise<Running> {
  const app = fastify();
  const handle = ({ raw }: FastifyRequest, reply: FastifyReply) => {
    reply.hijack();
    return handler(raw, reply.raw);
  };
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.all('/console', handle);
    scope.all('/console/*', handle);
  });
  app.setNotFoundHandler((_request, reply) => reply.code(418).send('host'));
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const close = async (): Promise<void> => {
    app.server.closeAllConnections();
    await app.close();
  };
  return { origin, drain: () => app.close(), close };
}

interface OpenStream {
  readonly first: string;
  /** How the reply ended; `cut` if its connection was. */
  readonly ended: Promise<'end' | 'cut'>;
  leave(): void;
}

/** Opens a stream on a keep-alive connection, and waits for its first event. */
function openStream(url: string, headers: Readonly<Record<string, string>>): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    const agent = new Agent({ keepAlive: true });
    const request = httpRequest(url, { headers, agent });
    request.once('error', reject);
    request.once('response', (response) => {
      const ended = new Promise<'end' | 'cut'>((end) => {
        response.once('end', () => end('end'));
        response.once('error', () => end('cut'));
      });
      response.once('data', (chunk: Buffer) => {
        const leave = (): void => void response.destroy();
        resolve({ first: chunk.toString(), ended, leave });
      });
    });
    request.end();
  });
}
