// suite: slow host
/** A caller or an upstream that disconnects, under every mount: the other side must notice. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gate, hang, type Piece, sse } from '../../src/testing/providers/scripts.ts';
import { chatBody, imageBody } from '../support/bodies.ts';
import { bearer, type UnmountedGateway, unmountedGateway } from '../support/mounted-gateway.ts';
import { connectRaw, exchangeRaw, type RawConnection, rawRequest } from '../support/raw-http.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { ofThisNode } from '../support/sample.ts';
import { type Mount, mounts, type RunningMount } from './mounts.ts';

const free = { heldNanos: 0n, inFlight: 0 };

describe.each(ofThisNode(mounts))('$name', (mount: Mount) => {
  let harness: UnmountedGateway;
  let host: RunningMount;

  beforeEach(async () => {
    harness = await unmountedGateway();
    host = await mount.start(harness.gateway);
  });

  afterEach(async () => {
    await host.close();
    await harness.close();
    await takeWarnings();
  });

  it('a caller that disconnects while it sends its body leaves no state', async () => {
    const wire = await connectRaw(host.origin);
    wire.write(
      rawRequest(`POST ${host.base}/v1/chat/completions`, {
        ...bearer(harness.secrets.chat),
        'content-type': 'application/json',
        'content-length': '1000',
        expect: '100-continue',
      }),
    );
    await wire.until('100 Continue');
    wire.write('{"model":"chat-1"');

    wire.destroy();
    await wire.rest;

    expect(await harness.drained()).toEqual(free);
    expect(harness.upstream.calls).toEqual([]);
    expect(harness.records).toEqual([]);
  });

  it('a caller that disconnects before the reply ends the upstream call', async () => {
    harness.upstream.enqueue(hang());
    const wire = await calling({ stream: true });
    const call = await harness.upstream.nextCall();

    wire.destroy();

    expect(await call.closed).toBe('aborted');
    const record = await harness.nextRecord();
    expect(record).toMatchObject({ status: 499, basis: 'estimate' });
    expect(record.chargeNanos).toBeGreaterThan(0n);
    expect(await harness.drained()).toEqual(free);
    expect(host.reported).toEqual([]);
  });

  it('a caller that disconnects mid-stream ends the call, and pays for what came', async () => {
    const disconnected = gate();
    harness.upstream.enqueue({ ...sse([]), chunks: endless(disconnected.opened) });
    const wire = await calling({ stream: true });
    await wire.until('"one"');
    const call = await harness.upstream.nextCall();

    wire.destroy();
    disconnected.open();

    expect(await call.closed).toBe('aborted');
    const record = await harness.nextRecord();
    expect(record).toMatchObject({ status: 499, outcome: 'caller_left', basis: 'counted' });
    expect(record.chargeNanos).toBeGreaterThan(0n);
    expect(await harness.drained()).toEqual(free);
    expect(host.reported).toEqual([]);
  });

  it('an upstream that cuts a large reply cuts the caller’s connection', async () => {
    harness.upstream.enqueue({
      headers: { 'content-type': 'application/json' },
      chunks: ['{"data":[{"b64_json":"', 'A'.repeat(200_000)],
      ending: 'reset',
    });

    const answer = await exchangeRaw(
      host.origin,
      rawRequest(
        `POST ${host.base}/v1/images/generations`,
        { ...bearer(harness.secrets.image), 'content-type': 'application/json' },
        JSON.stringify(imageBody),
      ),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(answer).toMatch(/transfer-encoding: chunked/i);
    expect(answer).not.toMatch(/\r\n0\r\n/);
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'unknown' });
  });

  it('an upstream that cuts a stream leaves the connection usable', async () => {
    const wire = await calling({ model: 'demo-cut', stream: true });
    await wire.until('\r\n0\r\n\r\n');
    wire.write(chatRequest({ model: 'chat-1' }, { connection: 'close' }));

    const answers = await wire.rest;

    expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
    expect(answers).toContain('"code":"upstream_failed"');
    expect(host.reported).toEqual([]);
  });

  async function calling(change: object): Promise<RawConnection> {
    const wire = await connectRaw(host.origin);
    wire.write(chatRequest(change));
    return wire;
  }

  function chatRequest(change: object, headers: Record<string, string> = {}): string {
    return rawRequest(
      `POST ${host.base}/v1/chat/completions`,
      { ...bearer(harness.secrets.chat), 'content-type': 'application/json', ...headers },
      JSON.stringify({ ...chatBody, ...change }),
    );
  }
});

/** Sends one event, and then more than is read after a disconnect. */
function* endless(disconnected: Promise<unknown>): Generator<Piece> {
  yield 'data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n';
  yield disconnected;
  for (;;) yield `: ${'-'.repeat(16_384)}\n`;
}
