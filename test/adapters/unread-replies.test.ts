// suite: search host
/** Large whole replies over real sockets, under every mount: to callers that never read, and do. */
import { once } from 'node:events';
import { type ClientHttp2Stream, connect as connectHttp2, createServer } from 'node:http2';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { nodeAdapter } from 'tollgate/node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { chatBody } from '../support/bodies.ts';
import {
  bearer,
  type ModelsOf,
  type UnmountedGateway,
  unmountedGateway,
} from '../support/mounted-gateway.ts';
import { mountedModels } from '../support/mounted-models.ts';
import { rawRequest } from '../support/raw-http.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { type ScriptedUpstream, scriptedUpstream } from '../support/scripted-upstream.ts';
import { listening } from '../support/servers.ts';
import { mounts } from './mounts.ts';

/** More than the socket buffers of a connection hold. */
const text = 'x'.repeat(14 * 1024 * 1024);
const reply = JSON.stringify({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
});
const body = JSON.stringify({ ...chatBody, model: 'both-1' });
const drainMs = 24 * 3_600_000;

/** A chat that is translated, so that its reply is held as a whole. */
const translated: ModelsOf = (upstream, credential) =>
  mountedModels(upstream, credential).map((model) => ({
    ...model,
    channels:
      model.id === 'both-1'
        ? model.channels.filter(({ dialect }) => dialect === 'gemini')
        : model.channels,
  }));

describe.each(mounts)('$name: a large whole reply', (mount) => {
  it('is cut off if its caller never reads, and its call then ends', async () => {
    const clock = fakeClock();
    const upstream = geminiUpstream();
    const harness = await unmountedGateway({ clock, upstream }, translated);
    const host = await mount.start(harness.gateway);
    const socket = unreadCall(host.origin, host.base, harness);
    const closed = new Promise<void>((resolve) => {
      socket.once('close', () => resolve());
    });
    const record = await harness.nextRecord();

    // Waits for the call, which has ended for its charge. The clock advances while the socket
    // buffers fill up, and then while nothing moves any more.
    const startedMs = clock.monotonicMs();
    let isIdle = false;
    const closing = harness.gateway.close({ drainMs }).then(() => {
      isIdle = true;
    });
    while (!isIdle) {
      await setImmediate();
      clock.advance(100);
    }
    await closing;
    socket.resume();
    await closed;

    expect(record).toMatchObject({ status: 200, outcome: 'complete' });
    expect(clock.monotonicMs() - startedMs).toBeGreaterThan(29_000);
    expect(clock.monotonicMs() - startedMs).toBeLessThan(drainMs);
    expect(socket.bytesRead).toBeLessThan(text.length);
    expect(host.reported).toEqual([]);
    await host.close();
    await harness.close();
    await takeWarnings();
  });

  it.each([
    'identity',
    'gzip',
  ])('arrives completely at a caller that reads %s, and its call then ends', async (encoding) => {
    const harness = await unmountedGateway({ upstream: geminiUpstream() }, translated);
    const host = await mount.start(harness.gateway);

    const response = await fetch(`${host.origin}${host.base}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headersFor(harness), 'accept-encoding': encoding },
      body,
    });
    const received = await response.text();
    await harness.gateway.close({ drainMs });

    expect(JSON.parse(received).choices[0].message.content === text).toBe(true);
    if (!response.headers.has('content-encoding')) {
      expect(response.headers.get('content-length')).toBe(String(received.length));
    }
    expect(host.reported).toEqual([]);
    await host.close();
    await harness.close();
    await takeWarnings();
  });
});

describe('HTTP/2: a large whole reply', () => {
  it('is cut off with an error if its caller never reads, and its call then ends', async () => {
    const clock = fakeClock();
    const harness = await unmountedGateway({ clock, upstream: geminiUpstream() }, translated);
    const stream = await http2Call(harness);
    const failed = once(stream, 'error').catch((error: unknown) => [error]);
    await harness.nextRecord();

    let isIdle = false;
    const closing = harness.gateway.close({ drainMs }).then(() => {
      isIdle = true;
    });
    while (!isIdle) {
      await setImmediate();
      clock.advance(100);
    }
    await closing;
    stream.resume();
    const [error] = await failed;

    expect(error).toMatchObject({ code: 'ERR_HTTP2_STREAM_ERROR' });
    expect(clock.monotonicMs()).toBeGreaterThan(29_000);
    expect(clock.monotonicMs()).toBeLessThan(drainMs);
    await harness.close();
  });

  it('arrives completely at a caller that reads, and its call then ends', async () => {
    const harness = await unmountedGateway({ upstream: geminiUpstream() }, translated);
    const stream = await http2Call(harness);

    const received = await readText(stream);
    await harness.gateway.close({ drainMs });

    expect(JSON.parse(received).choices[0].message.content === text).toBe(true);
    await harness.close();
  });
});

async function http2Call(harness: UnmountedGateway): Promise<ClientHttp2Stream> {
  const server = createServer(nodeAdapter(harness.gateway));
  const session = connectHttp2(await listening(server));
  onTestFinished(async () => {
    session.destroy();
    server.close();
    await once(server, 'close');
  });
  const stream = session.request({
    ...headersFor(harness),
    ':method': 'POST',
    ':path': '/v1/chat/completions',
  });
  stream.end(body);
  await once(stream, 'response');
  return stream;
}

function geminiUpstream(): ScriptedUpstream {
  return scriptedUpstream({ headers: { 'content-type': 'application/json' }, chunks: [reply] });
}

function headersFor({ secrets }: UnmountedGateway): Readonly<Record<string, string>> {
  return { ...bearer(secrets.chat), 'content-type': 'application/json' };
}

/** A caller that sends a chat and never reads. */
function unreadCall(
  origin: string,
  base: string,
  harness: UnmountedGateway,
): ReturnType<typeof connect> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  // Expected for a reset.
  socket.on('error', () => {});
  socket.pause();
  socket.write(rawRequest(`POST ${base}/v1/chat/completions`, headersFor(harness), body));
  return socket;
}
