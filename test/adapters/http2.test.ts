// suite: slow host
/** The real gateway behind the HTTP/2 compatibility API, called by an HTTP/2 client. */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
} from 'node:http2';
import { text } from 'node:stream/consumers';
import { nodeAdapter } from 'tollgate/node';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { sse } from '../../src/testing/providers/scripts.ts';
import { chatBody, imageBody, nativeBody } from '../support/bodies.ts';
import { type UnmountedGateway, unmountedGateway } from '../support/mounted-gateway.ts';
import { listening } from '../support/servers.ts';

let harness: UnmountedGateway;

beforeEach(async () => {
  harness = await unmountedGateway();
});

afterEach(() => harness.close());

describe('HTTP/2', () => {
  it('answers whole and streamed, and refuses without an invalid header', async () => {
    const session = await http2();

    const chat = await sendRequest(session, '/v1/chat/completions', chatBody);
    const streamed = await sendRequest(session, '/v1/chat/completions', {
      ...chatBody,
      stream: true,
    });
    const native = await sendRequest(
      session,
      '/v1beta/models/native-1:generateContent',
      nativeBody,
    );
    const large = await sendRequest(session, '/v1/images/generations', {
      ...imageBody,
      prompt: 'x'.repeat(1024 * 1024),
    });

    expect([chat, streamed, native, large].map(({ status }) => status)).toEqual([
      200, 200, 200, 413,
    ]);
    expect(streamed.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(JSON.parse(large.text)).toMatchObject({ error: { code: 'body_too_large' } });
  });

  it('ends the upstream call when its caller cancels mid-stream', async () => {
    harness.upstream.enqueue({
      ...sse([{ choices: [{ index: 0, delta: { content: 'one' } }] }]),
      ending: 'hang',
    });
    const session = await http2();
    const stream = session.request(headersFor('/v1/chat/completions'));
    stream.end(JSON.stringify({ ...chatBody, stream: true }));
    await once(stream, 'data');
    const call = await harness.upstream.nextCall();

    stream.close();

    expect(await call.closed).toBe('aborted');
    expect(await harness.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
  });
});

it.each([
  ['at once', (stream: ClientHttp2Stream) => stream.close(constants.NGHTTP2_CANCEL)],
  [
    'a turn later',
    (stream: ClientHttp2Stream) => setImmediate(() => stream.close(constants.NGHTTP2_CANCEL)),
  ],
  ['by an end of the connection', (stream: ClientHttp2Stream) => stream.session?.destroy()],
])('HTTP/2 a call cancelled %s, before its body, causes no warning', async (_when, cancel) => {
  for (let count = 0; count < 20; count += 1) {
    const session = await http2();
    session.on('error', () => {});
    const stream = session.request({
      ...headersFor('/v1/chat/completions'),
      'content-length': '1000',
    });
    stream.on('error', () => {});
    stream.write('{"model":');
    await once(stream, 'ready').catch(() => {});
    cancel(stream);
    if (!stream.closed) await once(stream, 'close');
    session.destroy();
  }

  expect(await harness.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
  expect(harness.events).toEqual([]);
});

async function http2(): Promise<ClientHttp2Session> {
  const server = createServer(nodeAdapter(harness.gateway));
  const session = connect(await listening(server));
  onTestFinished(async () => {
    session.destroy();
    server.close();
    await once(server, 'close');
  });
  return session;
}

function headersFor(path: string): Readonly<Record<string, string>> {
  return {
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/json',
    authorization: `Bearer ${harness.secrets[path.includes('images') ? 'image' : 'chat']}`,
    'x-vendor-api-key': harness.secrets.native,
  };
}

async function sendRequest(session: ClientHttp2Session, path: string, body: object) {
  const stream = session.request(headersFor(path));
  stream.end(JSON.stringify(body));
  const [head] = await once(stream, 'response');
  return { status: Number(head[':status']), text: await text(stream) };
}
