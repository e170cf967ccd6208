// suite: slow host
/**
 * The promise of `nodeAdapter`: it resolves when the reply has been sent or can't be, not before,
 * and it never rejects. Serverless functions and Next's `pages/api` wait for it.
 */
import { once } from 'node:events';
import { createServer, IncomingMessage, request, ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import express from 'express';
import { expressAdapter } from 'tollgate/express';
import { nodeAdapter } from 'tollgate/node';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { HostRequest, HostResponse } from '../../adapters/host.ts';
import type { GatewayHandler } from '../../src/http.ts';
import { scriptedGateway } from '../../src/testing/contracts/adapter.ts';
import { untyped } from '../stages/ports/failing.ts';
import { takeUnhandled } from '../support/runner/process-warnings.ts';
import { closed, listening } from '../support/servers.ts';

/** A call whose promise is watched. */
interface Watched {
  readonly origin: string;
  /** The promise of the first call. */
  readonly sent: Promise<void>;
  /** Whether it has resolved. */
  readonly isSent: () => boolean;
  /** Whether nothing was left to send when it resolved. */
  readonly wasComplete: () => boolean;
}

type Before = (req: HostRequest, res: HostResponse) => void;

const transports = {
  'HTTP/1.1': {
    serve: async (listener: (req: HostRequest, res: HostResponse) => void) => {
      const server = createServer(listener);
      onTestFinished(() => closed(server));
      return listening(server);
    },
    open: async (origin: string, path: string, method: string) => {
      const outgoing = request(`${origin}${path}`, { method, agent: false });
      outgoing.on('error', () => {});
      outgoing.end(method === 'POST' ? '{}' : undefined);
      const response = once(outgoing, 'response').then(([incoming]) => incoming);
      response.catch(() => {});
      return { leave: () => void outgoing.destroy(), readable: () => response };
    },
  },
  'HTTP/2': {
    serve: async (listener: (req: HostRequest, res: HostResponse) => void) => {
      const server = createHttp2((req, res) => listener(req, res));
      onTestFinished(async () => {
        server.close();
        await once(server, 'close');
      });
      return listening(server);
    },
    open: async (origin: string, path: string, method: string) => {
      const session = connectHttp2(origin);
      session.on('error', () => {});
      onTestFinished(() => session.destroy());
      const stream = session.request({ ':method': method, ':path': path });
      stream.on('error', () => {});
      stream.end(method === 'POST' ? '{}' : undefined);
      return { leave: () => stream.close(), readable: async () => stream };
    },
  },
};

async function watched(
  transport: keyof typeof transports,
  gateway: GatewayHandler,
  before: Before = () => {},
): Promise<Watched> {
  const handle = nodeAdapter(gateway);
  let isSent = false;
  let wasComplete = false;
  let settle: (sent: Promise<void>) => void = () => {};
  const sent = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const origin = await transports[transport].serve((req, res) => {
    before(req, res);
    const promise = handle(req, res);
    void promise.then(() => {
      isSent = true;
      wasComplete = res.writableFinished || res.destroyed || res.stream?.destroyed === true;
    });
    settle(promise);
  });
  return { origin, sent, isSent: () => isSent, wasComplete: () => wasComplete };
}

describe.each(['HTTP/1.1', 'HTTP/2'] as const)('over %s', (transport) => {
  const { open } = transports[transport];

  it.each([
    ['POST', '/v1/echo'],
    ['POST', '/v1/refused'],
    ['GET', '/v1/models'],
    ['HEAD', '/v1/models'],
    ['POST', '/elsewhere'],
  ])('resolves after a whole reply: %s %s', async (method, path) => {
    const call = await watched(transport, scriptedGateway());
    const caller = await open(call.origin, path, method);
    await text(await caller.readable());

    await call.sent;

    expect(call.wasComplete()).toBe(true);
  });

  it('does not resolve between the events of a stream', async () => {
    const gateway = scriptedGateway();
    const call = await watched(transport, gateway);
    const caller = await open(call.origin, '/v1/stream', 'POST');
    gateway.reply.write('data: 0\n\n');
    const reply = await caller.readable();
    for (let event = 1; event <= 5; event += 1) {
      await once(reply, 'data');
      await turn();
      expect(call.isSent()).toBe(false);
      gateway.reply.write(`data: ${event}\n\n`);
    }

    gateway.reply.end();
    reply.resume();

    await call.sent;
    expect(call.wasComplete()).toBe(true);
  });

  it('resolves if the caller disconnects before the reply, or between its events', async () => {
    const gateway = scriptedGateway();
    const before = await watched(transport, gateway);
    const waiting = await open(before.origin, '/v1/silent', 'POST');
    await gateway.received;
    expect(before.isSent()).toBe(false);
    waiting.leave();
    await before.sent;

    const between = await watched(transport, gateway);
    const reading = await open(between.origin, '/v1/stream', 'POST');
    gateway.reply.write('data: 1\n\n');
    await once(await reading.readable(), 'data');
    expect(between.isSent()).toBe(false);
    reading.leave();
    await between.sent;
  });

  it('resolves if the reply breaks off, or the gateway or the response throws', async () => {
    const gateway = scriptedGateway();
    const cut = await watched(transport, gateway);
    const reading = await open(cut.origin, '/v1/stream', 'POST');
    gateway.reply.write('data: 1\n\n');
    await once(await reading.readable(), 'data');
    gateway.reply.destroy(new Error('the upstream broke off'));
    await cut.sent;

    const handle = () => Promise.reject(new Error('a bug'));
    const rejecting = await watched(transport, { ...gateway, handle });
    await open(rejecting.origin, '/v1/models', 'GET');
    await rejecting.sent;

    const throwing = await watched(transport, scriptedGateway(), (_req, res) => {
      res.end = () => {
        throw new Error('of the host');
      };
    });
    await open(throwing.origin, '/v1/models', 'GET');
    await throwing.sent;

    expect(takeUnhandled()).toEqual([]);
  });

  it('resolves if the host has ended or destroyed the response, before or meanwhile', async () => {
    const ended = await watched(transport, scriptedGateway(), (_req, res) => void res.end('host'));
    await text(await (await open(ended.origin, '/v1/models', 'GET')).readable());
    await ended.sent;

    const destroyed = await watched(
      transport,
      scriptedGateway(),
      (_req, res) => void res.destroy(),
    );
    await open(destroyed.origin, '/v1/models', 'GET');
    await destroyed.sent;

    const gateway = scriptedGateway();
    const meanwhile = await watched(transport, gateway, (_req, res) => {
      void gateway.received.then(() => res.end('host'));
    });
    await text(await (await open(meanwhile.origin, '/v1/silent', 'POST')).readable());
    await meanwhile.sent;
  });
});

describe('a response that has closed before the adapter is called', () => {
  it.each([
    ['ended', (res: ServerResponse) => void res.end('host')],
    ['destroyed', (res: ServerResponse) => void res.destroy()],
  ])('resolves where the host has %s it', async (_how, finish) => {
    const handle = nodeAdapter(scriptedGateway());
    let settle: (sent: Promise<void>) => void = () => {};
    const sent = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const server = createServer((req, res) => {
      res.once('close', () => settle(handle(req, res)));
      finish(res);
    });
    onTestFinished(() => closed(server));
    const origin = await listening(server);

    await fetch(`${origin}/v1/models`).catch(() => undefined);

    await sent;
  });
});

describe('a request that is passed on', () => {
  it('resolves immediately, whatever the host does with it', async () => {
    const handle = nodeAdapter(scriptedGateway());
    const passed: unknown[] = [];
    for (const [method, url] of [
      ['GET', '/'],
      ['OPTIONS', '/v1/models'],
    ]) {
      const { req, res } = exchange(method, url);
      await handle(req, res, (error) => passed.push(error));
      expect(res.writableEnded).toBe(false);
    }

    expect(passed).toEqual([undefined, undefined]);
  });
});

describe('a serverless function', () => {
  it('has the whole reply when the promise resolves, if its response never closes', async () => {
    const { req, res, written } = exchange('GET', '/v1/models');

    await nodeAdapter(scriptedGateway())(req, res);

    expect(written()).toMatch(/^HTTP\/1\.1 200 OK.*"path":"\/v1\/models"/s);
  });
});

describe('Express 5, which watches the promises of handlers', () => {
  it('neither continues after a reply nor reports an error', async () => {
    const gateway = scriptedGateway();
    const after: string[] = [];
    const app = express()
      .use(
        expressAdapter({
          ...gateway,
          handle: (call) =>
            call.path === '/v1/stream' ? gateway.handle(call) : Promise.reject(new Error('a bug')),
        }),
      )
      .use((req, _res, next) => {
        after.push(req.url);
        next();
      });
    const onError: express.ErrorRequestHandler = (error, _req, res, _next) => {
      after.push(String(error));
      res.end();
    };
    const server = createServer(app.use(onError));
    onTestFinished(() => closed(server));
    const origin = await listening(server);

    await expect(fetch(`${origin}/v1/models`)).rejects.toThrow();
    gateway.reply.end('data: 1\n\n');
    expect(await (await fetch(`${origin}/v1/stream`, { method: 'POST' })).text()).toContain('1');
    await fetch(`${origin}/other`);

    expect(after).toEqual(['/other']);
  });
});

/** A request without a server, as serverless wrappers create it; `close` is never emitted. */
function exchange(method = 'GET', url = '/') {
  const chunks: string[] = [];
  const socket = new Duplex({
    read: () => {},
    write: (chunk, _encoding, done) => {
      chunks.push(String(chunk));
      done();
    },
  });
  const req = new IncomingMessage(untyped(socket)());
  Object.assign(req, { method, url, complete: true });
  req.push(null);
  const res = new ServerResponse(req);
  res.assignSocket(untyped(socket)());
  return { req, res, written: () => chunks.join('') };
}
