/** The console in each kind of host: signing in, the page, a change, live figures, signing out. */
import { createServer, request as httpRequest, type RequestListener } from 'node:http';
import compression from 'compression';
import cors from 'cors';
import express5, { type Express } from 'express';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import helmet from 'helmet';
import Koa3 from 'koa';
import bodyParser from 'koa-bodyparser';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AdminHandler } from '../../src/admin/index.ts';
import { type ConsoleSignIn, consoleHandler, consoleSignIn } from '../../src/console/index.ts';
import { express4, Koa2 } from '../adapters/mounts.ts';
import { adminSetup } from '../admin/admin-host.ts';
import { closed, listening } from '../support/servers.ts';
import { changing, cookieOf, send, tokenOf } from './console-host.ts';

type Start = (handler: AdminHandler) => Promise<Running>;

interface Running {
  readonly origin: string;
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
    const live = await firstEvent(`${origin}/console/api/events`, headers);
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
    expect(live).toMatch(/^event: now\ndata: \{/);
    expect([ended.status, after.status]).toEqual([200, 401]);
    expect(ended.headers['set-cookie']?.[0]).toContain('Max-Age=0');
    expect(others.map(({ status, text }) => [status, text])).toEqual(
      others.map(() => [418, 'host']),
    );
  });
});

async function started(
  start: Start,
): Promise<{ readonly origin: string; readonly signIn: ConsoleSignIn }> {
  const { admin, clock } = adminSetup();
  const signIn = consoleSignIn({ clock });
  const host = await start(consoleHandler(admin, { path: '/console', signIn }));
  onTestFinished(() => host.close());
  return { origin: host.origin, signIn };
}

function served(listenerOf: (handler: AdminHandler) => RequestListener): Start {
  return async (handler) => {
    const server = createServer(listenerOf(handler));
    return { origin: await listening(server), close: () => closed(server) };
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
  const app = fastify({ forceCloseConnections: true });
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
  return { origin, close: () => app.close() };
}

function firstEvent(url: string, headers: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { headers, agent: false });
    request.once('error', reject);
    request.once('response', (response) => {
      response.once('data', (chunk: Buffer) => {
        resolve(chunk.toString());
        response.destroy();
      });
    });
    request.end();
  });
}
