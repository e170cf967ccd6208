// suite: slow host
/** Runs every example app: its own routes, and a call of each protocol. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { afterEach, describe, expect, it } from 'vitest';
import { createApp as expressApp } from '../../examples/express-app.ts';
import { createAppServer } from '../../examples/express-server.ts';
import { createApp as fastifyApp } from '../../examples/fastify-app.ts';
import { exampleGateway } from '../../examples/gateway.ts';
import { createApp as honoApp } from '../../examples/hono-app.ts';
import { answersAChatCall } from '../../examples/in-process-test.ts';
import { createApp as koaApp } from '../../examples/koa-app.ts';
import { createApp as koaRouterApp } from '../../examples/koa-router-app.ts';
import { createApp as nodeServer } from '../../examples/node-server.ts';
import type { Gateway } from '../../src/index.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { restoreWebGlobals } from '../support/web-globals.ts';

type CreateServer = (gateway: Gateway) => Server | Promise<Server>;

/** Each example's server, with the prefix of its gateway. */
const apps: Readonly<Record<string, readonly [create: CreateServer, base: string]>> = {
  'express-app': [(gateway) => createServer(expressApp(gateway)), ''],
  'express-server': [(gateway) => createAppServer(expressApp(gateway)), ''],
  'fastify-app': [fastifyServer, ''],
  'fastify-app below its prefix': [fastifyServer, '/llm'],
  'hono-app': [(gateway) => createServer(getRequestListener(honoApp(gateway).fetch)), ''],
  'koa-app': [(gateway) => createServer(koaApp(gateway).callback()), ''],
  'koa-router-app': [(gateway) => createServer(koaRouterApp(gateway).callback()), '/llm'],
  'node-server': [nodeServer, ''],
};
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  restoreWebGlobals();
  for (const close of closers.splice(0)) await close();
});

describe.each(Object.entries(apps))('examples/%s', (_name, [create, base]) => {
  it('answers its own route and a call of each protocol', async () => {
    const { origin, secret } = await running(create);

    const health = await fetch(`${origin}/health`);
    const chat = await post(`${origin}${base}/v1/chat/completions`, `Bearer ${secret}`, {
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'Say hello.' }],
    });
    const native = await post(
      `${origin}${base}/v1beta/models/gemini-2.5-flash:generateContent`,
      secret,
      { contents: [{ role: 'user', parts: [{ text: 'Say hello.' }] }] },
      'x-vendor-api-key',
    );

    expect(await health.json()).toEqual({ ok: true });
    expect(await chat.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] });
    expect(await native.json()).toMatchObject({ candidates: [{ finishReason: 'STOP' }] });
  });

  it('leaves unknown paths to the host', async () => {
    const { origin } = await running(create);

    const answer = await fetch(`${origin}${base}/v1/somewhere/else`);

    expect(answer.status).toBe(404);
    expect(await answer.text()).not.toContain('"code":"unknown_url"');
  });
});

describe('examples/express-app', () => {
  it('uses the error format of the API where its parser refuses a body', async () => {
    const { origin, secret } = await running(expressAppServer);

    const answer = await fetch(`${origin}/llm/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: '{"model":',
    });

    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });
});

describe('examples/fastify-app', () => {
  it('closes its gateway when it closes', async () => {
    const upstream = await startStrictUpstream();
    const { gateway, issued } = exampleGateway(upstream);
    const app = fastifyApp(gateway);
    await app.ready();
    await app.close();
    const server = nodeServer(gateway).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(async () => {
      server.close();
      server.closeAllConnections();
      await upstream.close();
    });

    const url = `http://127.0.0.1:${portOf(server.address())}/v1/models`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${issued.secret}` } });

    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { code: 'draining' } });
  });
});

describe('examples/koa-router-app', () => {
  it('keeps its other routes, below the prefix too', async () => {
    const { origin } = await running((gateway) => createServer(koaRouterApp(gateway).callback()));

    expect(await (await fetch(`${origin}/llm/status`)).json()).toEqual({ ok: true });
    expect((await fetch(`${origin}/v1/models`)).status).toBe(404);
  });
});

describe('examples/in-process-test', () => {
  it('passes', async () => {
    await answersAChatCall();
  });
});

async function fastifyServer(gateway: Gateway): Promise<Server> {
  const app = fastifyApp(gateway);
  await app.ready();
  return app.server;
}

function expressAppServer(gateway: Gateway): Server {
  return createServer(expressApp(gateway));
}

async function running(
  create: CreateServer,
): Promise<{ readonly origin: string; readonly secret: string }> {
  const upstream = await startStrictUpstream();
  const { gateway, issued } = exampleGateway(upstream);
  const server = await create(gateway);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.close();
    server.closeAllConnections();
    await gateway.close({ drainMs: 1 });
    await upstream.close();
  });
  return { origin: `http://127.0.0.1:${portOf(server.address())}`, secret: issued.secret };
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function post(url: string, key: string, body: object, header = 'authorization'): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', [header]: key },
    body: JSON.stringify(body),
  });
}
