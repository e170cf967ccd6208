/**
 * The process under attack: one adapter with a gateway and an upstream. It survives uncaught
 * exceptions and reports them, so that one run finds all of them.
 */
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { FastifyInstance } from 'fastify';
import {
  createGateway,
  type Gateway,
  type GatewayEvent,
  issueKey,
  memoryKeyStore,
  memoryQuotaStore,
  staticCatalog,
} from 'tollgate';
import { expressAdapter, expressErrorHandler } from 'tollgate/express';
import { fastifyAdapter } from 'tollgate/fastify';
import { fetchAdapter } from 'tollgate/fetch';
import { koaAdapter } from 'tollgate/koa';
import { nodeAdapter } from 'tollgate/node';
import { fetchListener } from '../support/fetch-server.ts';
import { listening } from '../support/servers.ts';
import type { FuzzMount, FuzzReport } from './fuzzing.ts';

const load = createRequire(import.meta.url);
const problems: string[] = [];
let served = 0;
const print = (what: string, error: unknown): void => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  problems.push(`${what}: ${text}`);
};
process.on('uncaughtException', (error) => print('uncaught exception', error));
process.on('unhandledRejection', (error) => print('unhandled rejection', error));
process.on('warning', (error) => print('warning', error));
process.once('disconnect', () => process.exit());

const subject = 'caller';
const quota = memoryQuotaStore();
const { secret, key } = issueKey({ id: subject, group: 'staff', limitNanos: 10n ** 15n });
const upstreamOrigin = await listening(createServer(upstream));
const gateway = createGateway({
  keys: memoryKeyStore({ keys: [{ secret, key }] }),
  quota,
  catalog: staticCatalog([
    {
      id: 'm',
      vendor: 'Acme',
      protocols: ['chat', 'native', 'images', 'responses', 'messages', 'embeddings'],
      groups: ['staff'],
      price: { per: 'token', rates: { input: 1_000n, output: 1_000n } },
      maxOutputTokens: 100,
      channels: [
        {
          id: 'c',
          dialect: 'openai',
          baseUrl: `${upstreamOrigin}/v1`,
          credential: 'account-secret',
          priority: 0,
          weight: 1,
        },
      ],
    },
  ]),
  nativeKeyHeaders: ['x-vendor-api-key'],
  maxBodyBytes: 1024 * 1024,
  onEvent: receive,
});
const origin = await listeningWith(process.argv[2]);
process.on('message', async () => {
  const state = await quota.read(subject, '', 'default');
  const report: FuzzReport = { problems, inFlight: state?.inFlight ?? 0, served };
  process.send?.({ report });
});
process.send?.({ started: { origin, secret } });

/** Events that only a bug of the gateway can cause here. */
function receive(event: GatewayEvent): void {
  if (event.type === 'internal_error') print('internal_error', event.at);
  if (event.type === 'body_consumed') print('body_consumed', event.requestId);
}

/** The used part of the context with which Koa reports an error. */
interface HostContext {
  readonly path: string;
  readonly method: string;
}

/** Fastify creates its own server; the others are listeners. */
async function listeningWith(mount: string | undefined): Promise<string> {
  if (mount !== 'fastify') return listening(createServer(listenerOf(mount, gateway)));
  const app: FastifyInstance = load(mount)();
  app.setErrorHandler(async (error, { url, method }) => {
    // Other requests belong to the host, which may refuse their bodies.
    if (gateway.owns(url) && method !== 'OPTIONS') print('error of the app', error);
    throw error;
  });
  app.register(fastifyAdapter(gateway));
  return app.listen({ port: 0, host: '127.0.0.1' });
}

function listenerOf(mount: FuzzMount | string | undefined, handler: Gateway): RequestListener {
  switch (mount) {
    case 'express4':
    case 'express': {
      const app = load(mount)();
      app.use(expressAdapter(handler), expressErrorHandler(handler));
      return app;
    }
    case 'koa2':
    case 'koa': {
      const Koa = load(mount);
      const app = new Koa();
      // Other requests belong to the host, and Koa reports their broken connections.
      app.on('error', (error: unknown, { path, method }: HostContext) => {
        if (handler.owns(path) && method !== 'OPTIONS') print('error of the app', error);
      });
      app.use(koaAdapter(handler));
      return app.callback();
    }
    case 'fetch':
      return fetchListener(fetchAdapter(handler), (error) => print('error of the host', error));
    case 'hono': {
      const { getRequestListener } = load('@hono/node-server');
      return getRequestListener(fetchAdapter(handler));
    }
    default:
      return nodeAdapter(handler);
  }
}

/** Whole replies, streams, failures and resets in rotation, each after a different delay. */
function upstream(...[req, res]: Parameters<RequestListener>): void {
  served += 1;
  const turn = served;
  let body = '';
  req.setEncoding('utf8').on('data', (text: string) => {
    body += text;
  });
  req.on('end', () => {
    const isStream = body.includes('"stream":true');
    const answer = req.url === '/v1/responses' ? responsesReply : chatReply;
    setTimeout(() => reply(res, turn % 11, answer(isStream)), turn % 30);
  });
}

/** A whole reply, or the events of a stream. */
type Answer = string | readonly string[];

const text = 'x'.repeat(2_000);

function chatReply(isStream: boolean): Answer {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const message = { role: 'assistant', content: 'x' };
  if (!isStream) return JSON.stringify({ choices: [{ index: 0, message }], usage });
  const chunks = [0, 1, 2, 3, 4].map((nth) => {
    const finish = nth === 4 ? { finish_reason: 'stop' } : {};
    const choices = [{ index: 0, delta: { content: text }, ...finish }];
    return `data: ${JSON.stringify({ choices, ...(nth === 4 ? { usage } : {}) })}\n\n`;
  });
  return [...chunks, 'data: [DONE]\n\n'];
}

function responsesReply(isStream: boolean): Answer {
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const item = { id: 'msg_1', type: 'message', role: 'assistant', content: [] };
  const response = { object: 'response', id: 'resp_1', status: 'completed', output: [item], usage };
  if (!isStream) return JSON.stringify(response);
  const delta = { output_index: 0, item_id: 'msg_1', delta: text };
  return [
    event('response.created', { response: { ...response, status: 'in_progress' } }),
    ...[1, 2, 3].map((number) =>
      event('response.output_text.delta', { ...delta, sequence_number: number }),
    ),
    event('response.completed', { response }),
  ];
}

function event(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

function reply(res: ServerResponse, kind: number, answer: Answer): void {
  if (kind === 9) return void res.destroy();
  if (kind === 10) return void res.writeHead(500).end('{}');
  if (typeof answer === 'string') {
    res.setHeader('content-type', 'application/json');
    return void res.end(answer);
  }
  res.setHeader('content-type', 'text/event-stream');
  let sent = 0;
  const timer = setInterval(() => {
    res.write(answer[sent] ?? '');
    sent += 1;
    if (sent < answer.length) return;
    clearInterval(timer);
    res.end();
  }, 4);
  res.on('close', () => clearInterval(timer));
}
