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
import { closed, listening } from '../support/servers.ts';
import { bearer, type Stage, stage as setStage } from '../support/stage.ts';
import { exchange, request } from '../support/wire.ts';

let stage: Stage;

beforeEach(async () => {
  stage = await setStage();
});

afterEach(() => stage.close());

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
        answer(req, res);
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
    stage.upstream.enqueue(hang());
    const called = stage.upstream.nextCall();

    const answer = await answered(
      listener(stage.gateway, (response) => {
        void called.then(() => response.writeHead(503).end('timeout'));
      }),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 503 .*timeout/s);
    expect(await (await called).closed).toBe('aborted');
    expect(await stage.nextRecord()).toMatchObject({ status: 499, reason: 'caller_left' });
    expect(await stage.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
  });

  it('before the gateway is asked buys nothing', async () => {
    const answer = await answered(
      listener(stage.gateway, (response) => response.writeHead(503).end('closed')),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 503 .*closed/s);
    expect(await stage.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
    expect(stage.upstream.calls).toEqual([]);
  });
});

describe.each(hosts.slice(0, 2))('%s that wraps the response', (_name, listener) => {
  it.each([
    'write',
    'end',
  ] as const)('ends the call and the reply where its %s throws mid-stream', async (name) => {
    const held = gate();
    const event = { choices: [{ index: 0, delta: { content: 'one' } }] };
    stage.upstream.enqueue(sse([event, held.opened, event, '[DONE]']));
    const called = stage.upstream.nextCall();
    const answer = answered(
      listener(stage.gateway, (response) => {
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
    expect((await stage.nextRecord()).chargeNanos).toBeGreaterThan(0n);
    expect(await stage.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
  });
});

function throwing(): never {
  throw new Error('host');
}

async function answered(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => closed(server));
  return exchange(
    await listening(server),
    request(
      'POST /v1/chat/completions',
      {
        ...bearer(stage.secrets.chat),
        'content-type': 'application/json',
        connection: 'close',
      },
      JSON.stringify({ ...chatBody, stream: true }),
    ),
  );
}
