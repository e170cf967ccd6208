// suite: slow host
/** A host that answers in place of the gateway, for example on a time limit. */
import { createServer, type RequestListener } from 'node:http';
import express from 'express';
import Koa from 'koa';
import { expressAdapter } from 'tollgate/express';
import { koaAdapter } from 'tollgate/koa';
import { nodeAdapter } from 'tollgate/node';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayHandler } from '../../src/http.ts';
import { gate, hang, sse } from '../../src/testing/providers/scripts.ts';
import { chatBody } from '../support/bodies.ts';
import { bearer, type UnmountedGateway, unmountedGateway } from '../support/mounted-gateway.ts';
import { exchangeRaw, rawRequest } from '../support/raw-http.ts';
import { closed, listening } from '../support/servers.ts';

let harness: UnmountedGateway;

beforeEach(async () => {
  harness = await unmountedGateway();
});

afterEach(() => harness.close());

/** The host's handling of each response, before the gateway sees the request. */
type Meddle = (response: Parameters<RequestListener>[1]) => void;

const hosts: readonly (readonly [
  string,
  (gateway: GatewayHandler, meddle: Meddle) => RequestListener,
])[] = [
  [
    'node:http',
    (gateway, meddle) => {
      const answer = nodeAdapter(gateway);
      return (req, res) => {
        meddle(res);
        void answer(req, res);
      };
    },
  ],
  [
    'Express',
    (gateway, meddle) =>
      express()
        .use((_req, res, next) => {
          meddle(res);
          next();
        })
        .use(expressAdapter(gateway)),
  ],
  [
    'Koa',
    (gateway, meddle) =>
      new Koa()
        .use((ctx, next) => {
          meddle(ctx.res);
          return next();
        })
        .use(koaAdapter(gateway))
        .callback(),
  ],
];

describe.each(hosts)('%s with a host that answers by itself', (_name, listener) => {
  it('while the call waits, ends the upstream call', async () => {
    harness.upstream.enqueue(hang());
    const called = harness.upstream.nextCall();

    const answer = await answered(
      listener(harness.gateway, (response) => {
        void called.then(() => response.writeHead(503).end('timeout'));
      }),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 503 .*timeout/s);
    expect(await (await called).closed).toBe('aborted');
    expect(await harness.nextRecord()).toMatchObject({ status: 499, reason: 'caller_left' });
    expect(await harness.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
  });

  it('before the gateway is called makes no upstream call', async () => {
    const answer = await answered(
      listener(harness.gateway, (response) => response.writeHead(503).end('closed')),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 503 .*closed/s);
    expect(await harness.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
    expect(harness.upstream.calls).toEqual([]);
  });
});

describe.each(hosts.slice(0, 2))('%s that wraps the response', (_name, listener) => {
  it.each([
    'write',
    'end',
  ] as const)('ends the call and the reply where its %s throws mid-stream', async (name) => {
    const held = gate();
    const event = { choices: [{ index: 0, delta: { content: 'one' } }] };
    harness.upstream.enqueue(sse([event, held.opened, event, '[DONE]']));
    const called = harness.upstream.nextCall();
    const answer = answered(
      listener(harness.gateway, (response) => {
        const { write } = response;
        response.write = (chunk: Uint8Array) => {
          response.write = write;
          response[name] = throwing;
          setImmediate(held.open);
          return response.write(chunk);
        };
      }),
    );

    await called;

    expect(await answer).not.toMatch(/\[DONE\].*\r\n0\r\n/s);
    expect((await harness.nextRecord()).chargeNanos).toBeGreaterThan(0n);
    expect(await harness.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
  });
});

function throwing(): never {
  throw new Error('host');
}

async function answered(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => closed(server));
  return exchangeRaw(
    await listening(server),
    rawRequest(
      'POST /v1/chat/completions',
      {
        ...bearer(harness.secrets.chat),
        'content-type': 'application/json',
        connection: 'close',
      },
      JSON.stringify({ ...chatBody, stream: true }),
    ),
  );
}
