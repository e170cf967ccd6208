// suite: slow host
/** Hono beyond the mounts: its server over HTTP/2, and its middleware around the gateway. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, createServer as createHttp2 } from 'node:http2';
import { text } from 'node:stream/consumers';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { compress } from 'hono/compress';
import { cors } from 'hono/cors';
import { logger } from 'hono/logger';
import { secureHeaders } from 'hono/secure-headers';
import { fetchAdapter } from 'tollgate/fetch';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { gate, sse } from '../../src/testing/providers/scripts.ts';
import { chatBody, imageBody } from '../support/bodies.ts';
import { bearer, type UnmountedGateway, unmountedGateway } from '../support/mounted-gateway.ts';
import { takeWarnings } from '../support/process-warnings.ts';
import { closed, listening } from '../support/servers.ts';
import { restoreWebGlobals } from '../support/web-globals.ts';

let harness: UnmountedGateway;

beforeEach(async () => {
  harness = await unmountedGateway();
});

afterEach(async () => {
  restoreWebGlobals();
  await harness.close();
});

it('over HTTP/2 answers whole and streamed, and refuses; Node drops `connection`', async () => {
  const listener = getRequestListener(fetchAdapter(harness.gateway));
  const server = createHttp2((req, res) => void listener(req, res));
  const session = connect(await listening(server));
  onTestFinished(async () => {
    session.destroy();
    server.close();
    await once(server, 'close');
  });
  const send = async (path: string, body: object, secret: string): Promise<[unknown, string]> => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/json',
      ...bearer(secret),
    });
    stream.end(JSON.stringify(body));
    const [head] = await once(stream, 'response');
    return [head[':status'], await text(stream)];
  };
  const large = { ...imageBody, prompt: 'x'.repeat(1024 * 1024) };

  const whole = await send('/v1/chat/completions', chatBody, harness.secrets.chat);
  const streamed = await send(
    '/v1/chat/completions',
    { ...chatBody, stream: true },
    harness.secrets.chat,
  );
  const refused = await send('/v1/images/generations', large, harness.secrets.image);

  expect(whole).toEqual([200, expect.stringContaining('Hi there!')]);
  expect(streamed).toEqual([200, expect.stringMatching(/data: \[DONE\]\n\n$/)]);
  expect(refused).toEqual([413, expect.stringContaining('body_too_large')]);
  // At most once in a process.
  for (const { name } of await takeWarnings()) expect(name).toBe('UnsupportedWarning');
});

it('behind its middleware streams each event before the next one exists', async () => {
  const lines: string[] = [];
  const handler = fetchAdapter(harness.gateway);
  const app = new Hono();
  app.use(
    logger((line) => lines.push(line)),
    cors({ origin: 'https://app.example', exposeHeaders: ['x-request-id'] }),
    secureHeaders(),
    compress(),
    bodyLimit({ maxSize: 64 * 1024 * 1024 }),
  );
  app.all('/v1/*', (c) => handler(c.req.raw));
  const listener = getRequestListener(app.fetch);
  const server = createServer((req, res) => void listener(req, res));
  onTestFinished(() => closed(server));
  const second = gate();
  const delta = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
  harness.upstream.enqueue(sse([delta('one'), second.opened, delta('two'), '[DONE]']));

  const response = await fetch(`${await listening(server)}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      origin: 'https://app.example',
      ...bearer(harness.secrets.chat),
    },
    body: JSON.stringify({ ...chatBody, stream: true }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain('one');
  second.open();
  expect((await reader?.read())?.value).toContain('two');
  await reader?.cancel();

  expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(response.headers.get('vary')).toContain('authorization');
  expect(lines.length).toBeGreaterThan(0);
});
