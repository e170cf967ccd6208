// suite: slow host
/** A Web request whose body the host has read or locked is the host's error, not the caller's. */
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { type FetchHandler, fetchAdapter } from 'tollgate/fetch';
import { afterEach, describe, expect, it } from 'vitest';
import { callerSecret, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { takeWarnings } from '../../support/runner/process-warnings.ts';
import { closed, listening } from '../../support/servers.ts';
import { restoreWebGlobals } from '../../support/web-globals.ts';

const authorized = { authorization: `Bearer ${callerSecret}`, 'content-type': 'application/json' };
const chatBody = '{"model":"chat","messages":[{"role":"user","content":"hi"}]}';

/** What a host may do with a body before the gateway reads it. */
const consumptions: readonly (readonly [string, (request: Request) => unknown])[] = [
  ['is being read', (request) => void request.text()],
  ['has been read', (request) => request.text()],
  ['was cancelled', (request) => request.body?.cancel()],
  ['is locked by a reader', (request) => void request.body?.getReader()],
  ['is locked by a reader that has read', (request) => request.body?.getReader().read()],
  ['was read in part', readInPart],
  ['was split', (request) => void request.body?.tee()],
  ['is piped', (request) => void request.body?.pipeThrough(new TransformStream())],
  ['was handed to another request', (request) => void new Request(request)],
];

async function readInPart(request: Request): Promise<void> {
  const reader = request.body?.getReader();
  await reader?.read();
  reader?.releaseLock();
}

const notReadable = {
  error: { type: 'server_error', message: 'The request body could not be read.' },
};

/** What a host does with a request before it passes it on. */
type Host = (request: Request) => unknown;

const url = 'https://app.example/v1/chat/completions';
const init = { method: 'POST', headers: authorized, body: chatBody };

/** The kinds of requests: a real one, and the one of Hono's server, which makes it when needed. */
const requests: readonly (readonly [
  string,
  (handler: FetchHandler, host: Host) => Promise<Response>,
])[] = [
  [
    'of a Request',
    async (handler, host) => {
      const request = new Request(url, init);
      await host(request);
      return handler(request);
    },
  ],
  [
    'of a request in Hono’s server',
    async (handler, host) => {
      const listener = getRequestListener(async (request, env) => {
        await host(request);
        return handler(request, env);
      });
      const server = createServer((req, res) => void listener(req, res));
      try {
        const response = await fetch(`${await listening(server)}${new URL(url).pathname}`, init);
        return new Response(await response.arrayBuffer(), response);
      } finally {
        await closed(server);
      }
    },
  ],
];

const cases = requests.flatMap(([kind, sent]) =>
  consumptions.map(([how, take]) => ({ kind, how, sent, take })),
);

afterEach(restoreWebGlobals);

describe('a body', () => {
  it.each(cases)('$kind that $how is an error of the host, with one warning', async ({
    sent,
    take,
  }) => {
    const { gateway, upstream, events } = gatewayInProcess();
    const handler = fetchAdapter(gateway);
    for (let call = 0; call < 2; call += 1) {
      const response = await sent(handler, take);

      expect(response.status).toBe(500);
      expect(await response.json()).toMatchObject(notReadable);
    }
    expect(events).toMatchObject([{ type: 'body_consumed' }, { type: 'body_consumed' }]);
    const codes = (await takeWarnings()).map((warning) => Reflect.get(warning, 'code'));
    expect(codes).toEqual(['TOLLGATE_BODY_CONSUMED']);
    expect(upstream.calls).toEqual([]);
  });

  it.each(cases)('$kind that $how while the key is looked up is an error of the host too', async ({
    sent,
    take,
  }) => {
    const received: Request[] = [];
    const { gateway, events, upstream } = gatewayInProcess({
      options: {
        keys: {
          find: async () => {
            for (const request of received) await take(request);
            const quota = [{ id: 'caller', period: 'total', limitNanos: 1_000n }] as const;
            return { id: 'caller', group: 'staff', disabled: false, quota };
          },
        },
      },
    });

    const response = await sent(fetchAdapter(gateway), (request) => received.push(request));

    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject(notReadable);
    expect(events).toMatchObject([{ type: 'body_consumed' }]);
    expect(await takeWarnings()).toHaveLength(1);
    expect(upstream.calls).toEqual([]);
  });
});
