// suite: slow host
/**
 * Replies that are cut where their framing does not show it: over HTTP/2, and to HTTP/1.0 callers,
 * for whom the end of the connection is the end of the reply.
 */
import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import Koa3 from 'koa';
import { koaAdapter } from 'tollgate/koa';
import { nodeAdapter } from 'tollgate/node';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayHandler } from '../../src/http.ts';
import { type Gate, gate } from '../../src/testing/providers/scripts.ts';
import { chatBody } from '../support/bodies.ts';
import { bearer, type UnmountedGateway, unmountedGateway } from '../support/mounted-gateway.ts';
import { rawRequest } from '../support/raw-http.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { ofThisNode } from '../support/sample.ts';
import { listening } from '../support/servers.ts';
import { Koa2, type Mount, mounts } from './mounts.ts';

const large = 2_000_000;
let harness: UnmountedGateway;
let cut: Gate;

beforeEach(async () => {
  harness = await unmountedGateway();
  cut = gate();
  harness.upstream.enqueue({
    headers: { 'content-type': 'application/json' },
    chunks: ['{"choices":[{"index":0,"message":{"content":"', 'A'.repeat(large), cut.opened],
    ending: 'reset',
  });
});

afterEach(async () => {
  await harness.close();
  await takeWarnings();
});

describe.each<readonly [string, (gateway: GatewayHandler) => Parameters<typeof createHttp2>[1]]>([
  ['node', (gateway) => nodeAdapter(gateway)],
  ['Koa 2', (gateway) => new Koa2().use(koaAdapter(gateway)).callback()],
  ['Koa 3', (gateway) => new Koa3().use(koaAdapter(gateway)).callback()],
])('over HTTP/2, %s', (_name, listener) => {
  it('a reply that is cut is an error to its caller', async () => {
    const server = createHttp2(listener(harness.gateway));
    const session = connectHttp2(await listening(server));
    onTestFinished(async () => {
      session.destroy();
      server.close();
      await once(server, 'close');
    });
    const stream = session.request({
      ':method': 'POST',
      ':path': '/v1/chat/completions',
      'content-type': 'application/json',
      ...bearer(harness.secrets.chat),
    });
    stream.end(JSON.stringify(chatBody));
    const [head] = await once(stream, 'response');
    cut.open();

    await expect(buffer(stream)).rejects.toMatchObject({ code: 'ERR_HTTP2_STREAM_ERROR' });

    expect(head[':status']).toBe(200);
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'broken' });
  });
});

describe.each(ofThisNode(mounts))('to a caller of HTTP/1.0, $name', (mount: Mount) => {
  const ending = mount.resetsCutReplies ? 'a reset' : 'a close';
  it(`a reply that is cut ends with ${ending}`, async () => {
    const host = await mount.start(harness.gateway);
    onTestFinished(() => host.close());
    const sent = rawRequest(
      `POST ${host.base}/v1/chat/completions`,
      { ...bearer(harness.secrets.chat), 'content-type': 'application/json' },
      JSON.stringify(chatBody),
    );

    const { text, error } = await received(host.origin, sent.replace('HTTP/1.1', 'HTTP/1.0'));

    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).not.toMatch(/transfer-encoding/i);
    expect(error).toBe(mount.resetsCutReplies ? 'ECONNRESET' : undefined);
    expect(host.reported).toEqual([]);
  });
});

/**
 * The bytes received over a socket, and its error; undefined if the other side ended it normally.
 * The reply is cut after all of it has arrived, because Node reports a reset that comes with data
 * as a normal end.
 */
async function received(
  origin: string,
  bytes: string,
): Promise<{ readonly text: string; readonly error: string | undefined }> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  let text = '';
  let error: string | undefined;
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
    if (text.length > large) cut.open();
  });
  socket.on('error', (cause: NodeJS.ErrnoException) => {
    error = cause.code;
  });
  socket.write(bytes);
  await new Promise((resolve) => socket.once('close', resolve));
  return { text, error };
}
