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
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { scriptedGateway } from '../../../src/testing/contracts/adapter.ts';
import { gate, sse } from '../../../src/testing/providers/scripts.ts';
import { chatBody, imageBody } from '../../support/bodies.ts';
import { bearer, type UnmountedGateway, unmountedGateway } from '../../support/mounted-gateway.ts';
import { takeWarnings } from '../../support/runner/process-warnings.ts';
import { closed, listening } from '../../support/servers.ts';
import { restoreWebGlobals } from '../../support/web-globals.ts';
import { echoOf } from '../echo.ts';

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

describe('the body of a request', () => {
  const sizes = [0, 1, 65_535, 65_536, 65_537, 300_000];
  const hosts: readonly (readonly [string, (request: Request) => unknown])[] = [
    ['nothing', () => undefined],
    ['a clone that it reads too', (request) => request.clone().text()],
    ['a clone that it does not read', (request) => request.clone()],
    ['its headers', (request) => request.headers.set('x-added', 'yes')],
    ['its signal', (request) => request.signal],
  ];
  const cases = sizes.flatMap((size) =>
    ['content-length', 'chunks'].flatMap((framing) =>
      hosts.map(([what, host]) => ({ size, framing, what, host })),
    ),
  );

  it.each(cases)('of $size bytes in $framing is exact, and the host took $what', async ({
    size,
    framing,
    host,
  }) => {
    const bytes = Buffer.alloc(size, 'abcdefg');
    const handler = fetchAdapter(scriptedGateway());
    const url = await serving((request, env) => {
      void host(request);
      return handler(request, env);
    });

    const { body } = echoOf(await sent(url, bytes, framing));

    expect(Buffer.from(body ?? '', 'base64').equals(bytes)).toBe(true);
  });

  it.each([
    ['small', 65_536, 'content-length', 'arrayBuffer'],
    ['large', 65_537, 'content-length', 'body'],
    ['of unknown length', 1, 'chunks', 'body'],
  ])('that is %s is asked for once, and the signal never', async (_kind, size, framing, member) => {
    const read: unknown[] = [];
    const url = await serving((request, env) =>
      fetchAdapter(scriptedGateway())(noting(request, read), env),
    );

    await sent(url, Buffer.alloc(size), framing);

    const members: readonly unknown[] = ['arrayBuffer', 'body', 'signal'];
    expect(read.filter((name) => members.includes(name))).toEqual([member]);
  });
});

function noting(request: Request, read: unknown[]): Request {
  return new Proxy(request, {
    get: (target, name) => {
      read.push(name);
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function serving(fetch: Parameters<typeof getRequestListener>[0]): Promise<string> {
  const listener = getRequestListener(fetch);
  const server = createServer((req, res) => void listener(req, res));
  onTestFinished(() => closed(server));
  return `${await listening(server)}/v1/chat/completions`;
}

async function sent(url: string, bytes: Uint8Array, framing: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const body = framing === 'chunks' ? new Blob([bytes]).stream() : bytes;
  return (await fetch(url, { method: 'POST', headers, body, duplex: 'half' })).text();
}
