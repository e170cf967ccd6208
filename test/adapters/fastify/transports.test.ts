// suite: slow host
/** The Fastify plugin under `inject()`, over HTTP/2, and while the app closes. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { text } from 'node:stream/consumers';
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { fastifyAdapter } from 'tollgate/fastify';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { scriptedGateway } from '../../../src/testing/contracts/adapter.ts';
import { type Gate, gate, hang, sse } from '../../../src/testing/providers/scripts.ts';
import { chatBody, imageBody } from '../../support/bodies.ts';
import { bearer, type UnmountedGateway, unmountedGateway } from '../../support/mounted-gateway.ts';
import { connectRaw, rawRequest } from '../../support/raw-http.ts';
import { takeWarnings } from '../../support/runner/process-warnings.ts';
import { echoedBody, echoOf } from '../echo.ts';

const json = { 'content-type': 'application/json' };
const delta = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
const free = { heldNanos: 0n, inFlight: 0 };

let harness: UnmountedGateway;

beforeEach(async () => {
  harness = await unmountedGateway();
});

afterEach(async () => {
  await harness.close();
  await takeWarnings();
});

function appWith(options: FastifyServerOptions = {}): FastifyInstance {
  const app = fastify(options);
  app.register(fastifyAdapter(harness.gateway));
  onTestFinished(() => app.close());
  return app;
}

function streamed(origin: string): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...json, ...bearer(harness.secrets.chat) },
    body: JSON.stringify({ ...chatBody, stream: true }),
  });
}

describe('inject()', () => {
  const chat = (body: object, headers: Record<string, string> = {}) =>
    ({
      method: 'POST',
      url: '/v1/chat/completions',
      headers: { ...bearer(harness.secrets.chat), ...headers },
      body,
    }) as const;

  it('gets a whole reply, and a stream', async () => {
    const app = appWith();

    const whole = await app.inject(chat(chatBody));
    const stream = await app.inject(chat({ ...chatBody, stream: true }));

    expect(whole.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] });
    expect(stream.headers['content-type']).toMatch(/^text\/event-stream/);
    expect(stream.body).toMatch(/data: \[DONE\]\n\n$/);
    expect(await harness.drained()).toEqual(free);
  });

  it('reads a stream as it arrives', async () => {
    const second = gate();
    harness.upstream.enqueue(sse([delta('one'), second.opened, delta('two'), '[DONE]']));
    const app = appWith();

    const response = await app.inject({
      ...chat({ ...chatBody, stream: true }),
      payloadAsStream: true,
    });
    const stream = response.stream();
    const [first] = await once(stream, 'data');
    second.open();

    expect(String(first)).toContain('one');
    expect(await text(stream)).toMatch(/two.*\[DONE\]/s);
  });

  it('gets refusals before and after the body is read', async () => {
    const app = appWith();

    const noKey = await app.inject(chat(chatBody, { authorization: 'Bearer wrong' }));
    const noModel = await app.inject(chat({ ...chatBody, model: 'nope' }));
    const large = await app.inject({
      ...chat({ ...imageBody, prompt: 'x'.repeat(1024 * 1024) }, bearer(harness.secrets.image)),
      url: '/v1/images/generations',
    });

    expect([noKey, noModel, large].map(({ statusCode }) => statusCode)).toEqual([401, 404, 413]);
  });

  it('rejects where a stream is cut, and where its caller aborts', async () => {
    const gateway = scriptedGateway();
    const app = fastify();
    app.register(fastifyAdapter(gateway));
    const controller = new AbortController();

    const cut = app.inject({ url: '/v1/stream' });
    gateway.reply.write('data: 1\n\n');
    setImmediate(() => gateway.reply.destroy(new Error('the upstream broke off')));
    await expect(cut).rejects.toThrow();

    const aborted = app.inject({ url: '/v1/silent', method: 'POST', signal: controller.signal });
    await gateway.received;
    controller.abort();
    await expect(aborted).rejects.toThrow();
    await gateway.disconnected;
  });
});

describe('a caller that disconnects', () => {
  it('ends the call; neither onResponse nor onRequestAbort hooks run', async () => {
    harness.upstream.enqueue(hang());
    const called = harness.upstream.nextCall();
    const app = appWith();
    const ran: string[] = [];
    app.addHook('onRequestAbort', async (_request) => void ran.push('onRequestAbort'));
    app.addHook('onResponse', async () => void ran.push('onResponse'));
    const wire = await connectRaw(await app.listen({ port: 0, host: '127.0.0.1' }));
    const headers = { ...json, ...bearer(harness.secrets.chat) };
    wire.write(rawRequest('POST /v1/chat/completions', headers, JSON.stringify(chatBody)));

    await called;
    wire.destroy();

    expect(await (await called).closed).toBe('aborted');
    expect(await harness.nextRecord()).toMatchObject({ status: 499, reason: 'caller_left' });
    await app.close();
    expect(ran).toEqual([]);
  });
});

describe('over HTTP/2', () => {
  async function session(gateway = scriptedGateway()) {
    const app = fastify({ http2: true });
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('x-hook', 'yes').header('connection', 'close');
    });
    app.register(fastifyAdapter(gateway));
    const client = connectHttp2(await app.listen({ port: 0, host: '127.0.0.1' }));
    onTestFinished(async () => {
      client.destroy();
      await app.close();
    });
    return { gateway, client };
  }

  it('passes on the request, and answers with the headers of hooks', async () => {
    const { client } = await session();
    const stream = client.request({ ':method': 'POST', ':path': '/v1/echo?a=b', ...json });
    stream.end('{"model":1.0}');
    const [headers] = await once(stream, 'response');
    const echo = echoOf(await text(stream));

    expect([echo.path, echo.search, echoedBody(echo)]).toEqual([
      '/v1/echo',
      'a=b',
      '{"model":1.0}',
    ]);
    expect(headers).toMatchObject({ ':status': 200, 'x-hook': 'yes' });
  });

  it('a caller that cancels is reported, and a reply that is cut is an error', async () => {
    const { gateway, client } = await session();
    const cancelled = client.request({ ':method': 'POST', ':path': '/v1/silent' });
    cancelled.end('{}');
    await gateway.received;
    cancelled.close();
    await gateway.disconnected;

    const cut = client.request({ ':method': 'POST', ':path': '/v1/stream' });
    cut.end('{}');
    gateway.reply.write('data: 1\n\n');
    await once(cut, 'data');
    gateway.reply.destroy(new Error('the upstream broke off'));

    await expect(text(cut)).rejects.toThrow();
  });
});

describe('an app that closes while a reply streams', () => {
  let rest: Gate;
  let body: ReadableStreamDefaultReader<Uint8Array>;

  async function streaming(app: FastifyInstance): Promise<void> {
    rest = gate();
    harness.upstream.enqueue(sse([delta('one'), rest.opened, delta('two'), '[DONE]']));
    const response = await streamed(await app.listen({ port: 0, host: '127.0.0.1' }));
    if (response.body === null) throw new Error('no body');
    body = response.body.getReader();
    await body.read();
  }

  async function remaining(): Promise<string> {
    let received = '';
    for (let next = await body.read(); !next.done; next = await body.read()) {
      received += Buffer.from(next.value).toString();
    }
    return received;
  }

  it('waits for the reply', async () => {
    const app = appWith();
    rest = gate();
    harness.upstream.enqueue(sse([delta('one'), rest.opened, delta('two'), '[DONE]']));
    const wire = await connectRaw(await app.listen({ port: 0, host: '127.0.0.1' }));
    const headers = { ...json, ...bearer(harness.secrets.chat), connection: 'close' };
    const text = JSON.stringify({ ...chatBody, stream: true });
    wire.write(rawRequest('POST /v1/chat/completions', headers, text));
    await wire.until('one');

    const closed = app.close();
    rest.open();

    expect(await wire.rest).toMatch(/two.*\[DONE\]/s);
    await closed;
    expect(await harness.drained()).toEqual(free);
  });

  it('ends it with an error of its API where a preClose hook closes the gateway', async () => {
    const app = appWith();
    app.addHook('preClose', () => harness.gateway.close({ drainMs: 1 }));
    await streaming(app);

    const closed = app.close();

    expect(await remaining()).toMatch(/"error"/);
    await closed;
    expect(await harness.drained()).toEqual(free);
  });

  it('cuts it with forceCloseConnections, which counts as a caller that left', async () => {
    const app = appWith({ forceCloseConnections: true });
    await streaming(app);

    const closed = app.close();

    await expect(remaining()).rejects.toThrow();
    await closed;
    expect(await harness.nextRecord()).toMatchObject({ status: 499, reason: 'caller_left' });
    expect(await harness.drained()).toEqual(free);
  });

  it.each([
    { return503OnClosing: true, answer: { error: 'Service Unavailable' } },
    { return503OnClosing: false, answer: { error: { code: 'draining' } } },
  ])('answers a new call with 503, return503OnClosing: $return503OnClosing', async ({
    return503OnClosing,
    answer,
  }) => {
    const app = appWith({ return503OnClosing });
    let response: Response | undefined;
    app.addHook('preClose', async () => {
      const closed = harness.gateway.close({ drainMs: 60_000 });
      response = await streamed(app.listeningOrigin);
      rest.open();
      await closed;
    });
    await streaming(app);

    await Promise.all([app.close(), remaining()]);

    expect(response?.status).toBe(503);
    expect(await response?.json()).toMatchObject(answer);
  });
});
