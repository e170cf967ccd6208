// suite: slow host
/**
 * A refusal that is sent before the body has been read arrives, even if the caller sends its whole
 * body before it reads: the rest of the body is received and discarded.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2';
import { connect } from 'node:net';
import type { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import Koa3 from 'koa';
import { koaAdapter } from 'tollgate/koa';
import { nodeAdapter } from 'tollgate/node';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayHandler } from '../../src/http.ts';
import { bearer, type UnmountedGateway, unmountedGateway } from '../support/mounted-gateway.ts';
import { connectRaw, rawRequest } from '../support/raw-http.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { closed, listening } from '../support/servers.ts';
import { Koa2, type Mount, mounts } from './mounts.ts';

const bodyBytes = 40 * 1024 * 1024;
const piece = Buffer.alloc(256 * 1024, ' ');

afterEach(async () => {
  await takeWarnings();
});

/** Refusals before the body, each with the set-up that causes it. */
const refusals: readonly {
  readonly status: number;
  readonly headers: (harness: UnmountedGateway) => Readonly<Record<string, string>>;
  readonly path?: string;
}[] = [
  { status: 401, headers: () => bearer('wrong') },
  { status: 401, headers: () => ({ ...bearer('wrong'), connection: 'close' }) },
  { status: 413, headers: ({ secrets }) => bearer(secrets.chat) },
  { status: 404, headers: () => ({ connection: 'close' }), path: '/v1/nowhere' },
];

/**
 * One mount of each framework, and those with middleware between the gateway and the response. Not
 * those with Web requests, where the server has the connection and decides.
 */
const direct = mounts.filter(
  ({ name, isWeb }) => !isWeb && /^node:http$|at the root|behind/.test(name),
);

describe.each(direct)('$name', (mount: Mount) => {
  it('a refusal arrives at a caller that sends 40 MB before it reads', async () => {
    const harness = await staged();
    const host = await mount.start(harness.gateway);
    onTestFinished(() => host.close());

    for (const { status, headers, path = '/v1/chat/completions' } of refusals) {
      if (status === 404 && mount.hostAnswers) continue;
      const head = rawRequest(`POST ${host.base}${path}`, {
        'content-type': 'application/json',
        'content-length': String(bodyBytes),
        ...headers(harness),
      });
      const { answer, error } = await sendingFirst(host.origin, head);

      expect({ error, answer: answer.slice(0, 12) }).toEqual({
        error: undefined,
        answer: `HTTP/1.1 ${status}`,
      });
      expect(answer).toMatch(/"error"/);
    }
    expect(host.reported).toEqual([]);
  });
});

describe('over HTTP/1.1', () => {
  it('a draining gateway’s 503 and a chunked body’s 413 arrive', async () => {
    const harness = await staged();
    const origin = await served(harness.gateway);
    const chunked = rawRequest('POST /v1/chat/completions', {
      ...bearer(harness.secrets.chat),
      'transfer-encoding': 'chunked',
    });

    const large = await sendingFirst(origin, chunked, chunk);
    await harness.gateway.close();
    const draining = await sendingFirst(origin, chunked, chunk);

    expect([large.error, draining.error]).toEqual([undefined, undefined]);
    expect(large.answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(draining.answer).toMatch(/^HTTP\/1\.1 503 /);
  });

  it('the connection is reusable after a 401 whose body was discarded', async () => {
    const harness = await staged();
    const wire = await connectRaw(await served(harness.gateway));
    wire.write(
      rawRequest('POST /v1/chat/completions', { ...bearer('wrong'), 'content-length': '1000' }),
    );
    await wire.until('"error"');
    wire.write(Buffer.alloc(1000, ' '));
    wire.write(
      rawRequest('GET /v1/models', { ...bearer(harness.secrets.chat), connection: 'close' }),
    );

    const answers = await wire.rest;

    expect(answers.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200']);
  });

  it('a request after the last reply of a connection does not run', async () => {
    const harness = await staged();
    const wire = await connectRaw(await served(harness.gateway));
    wire.write(
      rawRequest('POST /v1/images/generations', {
        ...bearer(harness.secrets.image),
        'content-length': String(2 * 1024 * 1024),
      }),
    );
    await wire.until('body_too_large');
    wire.write(Buffer.alloc(2 * 1024 * 1024, ' '));
    wire.write(rawRequest('GET /v1/models', bearer(harness.secrets.chat)));
    wire.end();

    const answers = await wire.rest;

    expect(answers.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 413']);
  });

  it('the write side is closed, so that a caller that waits for the end gets it', async () => {
    const harness = await staged();
    const { hostname, port } = new URL(await served(harness.gateway));
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    socket.write(
      rawRequest('POST /v1/chat/completions', {
        ...bearer(harness.secrets.chat),
        'content-length': String(bodyBytes),
      }),
    );

    expect(await text(socket)).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('a refusal of a request that expects 100 Continue arrives', async () => {
    const harness = await staged();
    const wire = await connectRaw(await served(harness.gateway));
    wire.write(
      rawRequest('POST /v1/chat/completions', {
        ...bearer('wrong'),
        'content-length': '1000',
        expect: '100-continue',
        connection: 'close',
      }),
    );
    await wire.until('"error"');
    wire.end();

    expect(await wire.rest).toMatch(/HTTP\/1\.1 401 /);
  });
});

describe.each<readonly [string, (gateway: GatewayHandler) => Parameters<typeof createHttp2>[1]]>([
  ['node', (gateway) => nodeAdapter(gateway)],
  ['Koa 2', (gateway) => new Koa2().use(koaAdapter(gateway)).callback()],
  ['Koa 3', (gateway) => new Koa3().use(koaAdapter(gateway)).callback()],
])('over HTTP/2, %s', (_name, listener) => {
  it('a refusal arrives at a caller that sends 40 MB before it reads', async () => {
    const harness = await staged();
    const server = createHttp2(listener(harness.gateway));
    const session = connectHttp2(await listening(server));
    onTestFinished(async () => {
      session.destroy();
      server.close();
      await once(server, 'close');
    });

    for (const [status, secret] of [
      [401, 'wrong'],
      [413, harness.secrets.chat],
    ] as const) {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/v1/chat/completions',
        'content-type': 'application/json',
        'content-length': String(bodyBytes),
        ...bearer(secret),
      });
      const answered = once(stream, 'response');
      await sendAll((bytes) => stream.write(bytes), stream);
      stream.end();
      const [head] = await answered;

      expect(head[':status']).toBe(status);
      expect(JSON.parse(await text(stream))).toMatchObject({ error: {} });
    }
  });
});

async function staged(): Promise<UnmountedGateway> {
  const harness = await unmountedGateway();
  onTestFinished(() => harness.close());
  return harness;
}

async function served(gateway: GatewayHandler): Promise<string> {
  const server = createServer(nodeAdapter(gateway));
  onTestFinished(() => closed(server));
  return listening(server);
}

/** Sends the head and the whole body, and starts reading after the last byte has been sent. */
async function sendingFirst(
  origin: string,
  head: string,
  framed: (bytes: Buffer) => Buffer = (bytes) => bytes,
): Promise<{ readonly answer: string; readonly error: string | undefined }> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.pause();
  let error: string | undefined;
  socket.on('error', (cause: NodeJS.ErrnoException) => {
    error = cause.code;
  });
  await once(socket, 'connect');
  socket.write(head);
  await sendAll((bytes) => socket.write(framed(bytes)), socket);
  let answer = '';
  socket.setEncoding('latin1').on('data', (received: string) => {
    answer += received;
    // On a connection that stays open, the caller closes it after the reply.
    if (answer.includes('"error"')) socket.end();
  });
  socket.resume();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return { answer, error };
}

async function sendAll(write: (bytes: Buffer) => boolean, stream: Writable): Promise<void> {
  for (let sent = 0; sent < bodyBytes && !stream.destroyed; sent += piece.length) {
    if (write(piece)) {
      if (sent % (16 * piece.length) === 0) await turn();
      continue;
    }
    await new Promise<void>((resolve) => {
      const go = (): void => {
        stream.off('drain', go);
        stream.off('close', go);
        resolve();
      };
      stream.once('drain', go);
      stream.once('close', go);
    });
  }
}

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ]);
}
