/** Runs every example app: its own routes, and a call of each protocol. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { afterEach, describe, expect, it } from 'vitest';
import { createApp as expressApp } from '../../examples/express-app.ts';
import { createAppServer } from '../../examples/express-server.ts';
import { exampleGateway } from '../../examples/gateway.ts';
import { createApp as honoApp } from '../../examples/hono-app.ts';
import { answersAChatCall } from '../../examples/in-process-test.ts';
import { createApp as koaApp } from '../../examples/koa-app.ts';
import { createApp as nodeServer } from '../../examples/node-server.ts';
import type { Gateway } from '../../src/index.ts';
import { startFakeUpstream } from '../../src/testing/index.ts';
import { restoreWebGlobals } from '../support/web-globals.ts';

const apps: Readonly<Record<string, (gateway: Gateway) => Server>> = {
  'express-app': (gateway) => createServer(expressApp(gateway)),
  'express-server': (gateway) => createAppServer(expressApp(gateway)),
  'hono-app': (gateway) => createServer(getRequestListener(honoApp(gateway).fetch)),
  'koa-app': (gateway) => createServer(koaApp(gateway).callback()),
  'node-server': nodeServer,
};
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  restoreWebGlobals();
  for (const close of closers.splice(0)) await close();
});

describe.each(Object.entries(apps))('examples/%s', (_name, createApp) => {
  it('answers its own route and a call of each protocol', async () => {
    const { origin, secret } = await running(createApp);

    const health = await fetch(`${origin}/health`);
    const chat = await post(`${origin}/v1/chat/completions`, `Bearer ${secret}`, {
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'Say hello.' }],
    });
    const native = await post(
      `${origin}/v1beta/models/gemini-2.5-flash:generateContent`,
      secret,
      { contents: [{ role: 'user', parts: [{ text: 'Say hello.' }] }] },
      'x-vendor-api-key',
    );

    expect(await health.json()).toEqual({ ok: true });
    expect(await chat.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] });
    expect(await native.json()).toMatchObject({ candidates: [{ finishReason: 'STOP' }] });
  });

  it('leaves unknown paths to the host', async () => {
    const { origin } = await running(createApp);

    const answer = await fetch(`${origin}/v1/somewhere/else`);

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

describe('examples/in-process-test', () => {
  it('passes', async () => {
    await answersAChatCall();
  });
});

function expressAppServer(gateway: Gateway): Server {
  return createServer(expressApp(gateway));
}

async function running(
  createApp: (gateway: Gateway) => Server,
): Promise<{ readonly origin: string; readonly secret: string }> {
  const upstream = await startFakeUpstream();
  const { gateway, issued } = exampleGateway(upstream);
  const server = createApp(gateway).listen(0, '127.0.0.1');
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
