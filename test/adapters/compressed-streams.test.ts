// suite: slow host
/**
 * Behind the `compression` middleware of Express a stream still arrives event by event, and whole:
 * its `cache-control` has `no-transform`, which that middleware obeys.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import compression from 'compression';
import express5 from 'express';
import { expressAdapter } from 'tollgate/express';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  everyModel,
  headersFor,
  partsFor,
  type Route,
  replyFor,
  requestFor,
  routes,
} from '../events/every-api.ts';
import { isStream } from '../faults/kinds.ts';
import type { DrivenCall } from '../support/driven-upstream.ts';
import { bytesOf, gatewayInProcess, requestOf } from '../support/gateway-in-process.ts';
import { closed, listening } from '../support/servers.ts';
import { express4 } from './mounts.ts';

const streams = routes.filter(({ kind }) => isStream(kind));
const hosts = [
  ['Express 4', express4],
  ['Express 5', express5],
] as const;

describe.each(hosts)('%s', (_name, express) => {
  it.each(streams)('$kind over $dialect', async (route) => {
    const harness = gatewayInProcess({ models: everyModel });
    const app = express();
    // No reply is too small to be compressed.
    app.use(compression({ threshold: 0 }), expressAdapter(harness.gateway));
    const server = createServer(app);
    const origin = await listening(server);
    onTestFinished(() => closed(server));

    const asking = ask(origin, route);
    const upstream = await harness.upstream.next();
    const [beginning, rest] = partsFor(upstream);
    upstream.respond(200, headersFor(upstream));
    upstream.write(beginning);
    const response = await asking;
    const first = await nextText(response);
    upstream.write(rest);
    upstream.end();
    const whole = first + (await restOf(response));

    expect(response.headers['content-encoding']).toBeUndefined();
    expect(first).toContain('canary-completion');
    expect(whole).toBe(await uncompressed(route));
  });
});

it('a document is compressed, so that the middleware was at work', async () => {
  const harness = gatewayInProcess({
    models: everyModel,
    handlers: [(up) => up.answer(200, replyFor(up), headersFor(up))],
  });
  const app = express5();
  app.use(compression({ threshold: 0 }), expressAdapter(harness.gateway));
  const server = createServer(app);
  const origin = await listening(server);
  onTestFinished(() => closed(server));
  const response = await ask(origin, { kind: 'chat', dialect: 'openai' });
  response.resume();

  expect(response.headers['content-encoding']).toMatch(/gzip|br/);
});

/** The text that a caller without a host gets. */
async function uncompressed(route: Route): Promise<string> {
  const answer = (up: DrivenCall): void => {
    up.respond(200, headersFor(up));
    for (const part of partsFor(up)) up.write(part);
    up.end();
  };
  const harness = gatewayInProcess({ models: everyModel, handlers: [answer] });
  return (await harness.call(requestFor(route))).text;
}

function ask(origin: string, route: Route): Promise<IncomingMessage> {
  const sent = requestFor(route);
  const { method, path, search, headers } = requestOf(sent, []);
  const outgoing = request(`${origin}${path}${search === '' ? '' : `?${search}`}`, {
    method,
    agent: false,
    headers: { ...headers, 'content-type': 'application/json', 'accept-encoding': 'gzip, br' },
  });
  outgoing.end(bytesOf(sent.body));
  return new Promise((resolve, reject) => {
    outgoing.once('response', resolve).once('error', reject);
  });
}

function nextText(response: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    response.once('data', (chunk: Buffer) => resolve(chunk.toString()));
  });
}

async function restOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(response, 'end');
  return Buffer.concat(chunks).toString();
}
