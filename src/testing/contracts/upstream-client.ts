/**
 * The contract of `UpstreamClient`: bytes arrive unchanged, failures name the stage of the call,
 * and an abort stops it.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { isUpstreamError, type UpstreamError, type UpstreamStage } from '../../errors.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type {
  UpstreamBody,
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../../ports/upstream-client.ts';
import { type Cases, type Cleanable, type ContractCase, overSetups } from './contract-case.ts';

/** A client to test. It is closed after each case. */
export interface UpstreamClientSetup extends Cleanable {
  /** The client to test. */
  readonly client: UpstreamClient;
}

/** The cases of the upstream client contract. They start servers on 127.0.0.1. */
export function upstreamClientContract(
  make: () => MaybePromise<UpstreamClientSetup>,
): readonly ContractCase[] {
  return overSetups(
    cases,
    async () => withServers(await make()),
    (setup) => setup,
  );
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface ServedSetup extends UpstreamClientSetup {
  /** Starts an upstream, which is closed after the case. */
  serve(handler: Handler): Promise<Upstream>;
}

interface Upstream {
  readonly origin: string;
  readonly connections: () => number;
  close(): void;
}

function withServers({ client, cleanup }: UpstreamClientSetup): ServedSetup {
  const upstreams: Upstream[] = [];
  return {
    client,
    serve: async (handler) => {
      const upstream = await startUpstream(handler);
      upstreams.push(upstream);
      return upstream;
    },
    cleanup: async () => {
      for (const upstream of upstreams) upstream.close();
      await client.close();
      await cleanup?.();
    },
  };
}

async function startUpstream(handler: Handler): Promise<Upstream> {
  const server = createServer(handler);
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert(typeof address === 'object' && address !== null);
  return {
    origin: `http://127.0.0.1:${address.port}`,
    connections: () => connections,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function post(origin: string, change: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    method: 'POST',
    origin,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: [Buffer.from('{"model":"m"}')],
    connectTimeoutMs: 5_000,
    freshConnection: false,
    onAbort: () => {},
    ...change,
  };
}

function readAll(body: UpstreamBody): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    body.start({
      write: (chunk) => chunks.push(chunk),
      end: () => resolve(Buffer.concat(chunks)),
      fail: reject,
    });
  });
}

/** The error of a call that must fail at this stage. */
async function failureOf(call: Promise<unknown>, stage: UpstreamStage): Promise<UpstreamError> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert(isUpstreamError(failure), 'the call must fail with an UpstreamError');
  assert.equal(failure.stage, stage);
  return failure;
}

/** Enough turns for a small body to arrive from a server in the same process. */
const enoughTurns = 20_000;

/** Tries to take the whole body in each turn of the event loop, for a limited number of turns. */
async function takenWhole(body: UpstreamBody, limit: number): Promise<Uint8Array | undefined> {
  for (let turn = 0; turn < enoughTurns; turn += 1) {
    const whole = body.takeWhole(limit);
    if (whole !== undefined) return whole;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return undefined;
}

const everyByte = Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte));

function replyWith(body: Buffer | string, headers: Record<string, string> = {}): Handler {
  return (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);
  };
}

const cases: Cases<ServedSetup> = {
  async 'UC-01 sends the method, path, headers and body pieces in order'({ client, serve }) {
    const seen: { line: string; key: unknown; body: Buffer }[] = [];
    const handler: Handler = async (request, response) => {
      const line = `${request.method} ${request.url}`;
      const body = await buffer(request);
      seen.push({ line, key: request.headers['x-api-key'], body });
      response.end('{}');
    };
    const { origin } = await serve(handler);
    const body = [everyByte, Buffer.alloc(100_000, 'a'), Buffer.from('end')];
    const headers = { 'content-type': 'application/json', 'x-api-key': 'secret' };
    const { body: reply } = await client.send(
      post(origin, { path: '/v1/a%2Fb?x=%20', headers, body }),
    );
    await readAll(reply);

    assert.equal(seen[0]?.line, 'POST /v1/a%2Fb?x=%20');
    assert.equal(seen[0]?.key, 'secret');
    assert(seen[0]?.body.equals(Buffer.concat(body)), 'the bytes differ');
  },
  async 'UC-02 resolves with status and headers while the body is still arriving'({
    client,
    serve,
  }) {
    let finish = (): void => {};
    const handler: Handler = (request, response) => {
      request.resume();
      response.writeHead(429, { 'Content-Type': 'text/event-stream', 'Retry-After': '7' });
      response.write('data: 1\n\n');
      finish = () => response.end('data: 2\n\n');
    };
    const { origin } = await serve(handler);
    const { status, headers, body } = await client.send(post(origin));
    finish();

    assert.equal(status, 429);
    assert.equal(headers['content-type'], 'text/event-stream');
    assert.equal(headers['retry-after'], '7');
    assert.equal((await readAll(body)).toString(), 'data: 1\n\ndata: 2\n\n');
  },
  async 'UC-03 returns a whole body once it has arrived, if it is within the limit'({
    client,
    serve,
  }) {
    const { origin } = await serve(replyWith(everyByte));
    const { body } = await client.send(post(origin));

    const whole = await takenWhole(body, 256);

    assert(whole, 'the body could not be taken whole');
    assert(everyByte.equals(whole), 'the bytes differ');
  },
  async 'UC-04 delivers a body from its beginning if it was too large to be taken whole'(setup) {
    const { origin } = await setup.serve(replyWith(everyByte));
    const { body } = await setup.client.send(post(origin));
    assert.equal(await takenWhole(body, 255), undefined);

    assert((await readAll(body)).equals(everyByte), 'the bytes differ');
  },
  async 'UC-05 delivers nothing while it is paused, and everything afterwards'({ client, serve }) {
    const large = Buffer.alloc(4 * 1024 * 1024, 'x');
    const { origin } = await serve(replyWith(large));
    const { body } = await client.send(post(origin));
    let bytes = 0;
    let pausedAt: number | undefined;
    const ended = new Promise<void>((resolve, reject) => {
      body.start({
        write: (chunk) => {
          assert.equal(pausedAt, undefined, 'a chunk came while the body was paused');
          bytes += chunk.length;
          if (bytes > large.length / 2) return;
          pausedAt = bytes;
          body.pause();
          setImmediate(() => {
            pausedAt = undefined;
            body.resume();
          });
        },
        end: resolve,
        fail: reject,
      });
    });
    await ended;

    assert.equal(bytes, large.length);
  },
  async 'UC-06 delivers nothing after an abort and closes the connection to the upstream'(setup) {
    let closed: Promise<unknown> | undefined;
    const handler: Handler = (request, response) => {
      request.resume();
      closed = once(response, 'close');
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    };
    const { origin } = await setup.serve(handler);
    const { body } = await setup.client.send(post(origin));
    const received: string[] = [];
    await new Promise<void>((resolve) => {
      body.start({
        write: (chunk) => {
          received.push(Buffer.from(chunk).toString());
          body.abort();
          resolve();
        },
        end: () => received.push('end'),
        fail: () => received.push('fail'),
      });
    });
    await closed;
    await new Promise((resolve) => setImmediate(resolve));

    assert.equal(received[0], 'data: 1\n\n');
    assert(!received.includes('end'), 'an aborted body ended as if it were complete');
  },
  async 'UC-07 calls onAbort once before it sends, and rejects upon an abort'({ client, serve }) {
    let received: () => void = () => {};
    const arrived = new Promise<void>((resolve) => {
      received = resolve;
    });
    const { origin } = await serve((request) => {
      request.resume();
      received();
    });
    const aborts: ((reason: Error) => void)[] = [];
    const call = client.send(post(origin, { onAbort: (abort) => aborts.push(abort) }));
    call.catch(() => {}); // Checked below; must not count as unhandled until then.
    assert.equal(aborts.length, 1, 'onAbort must be called once, at once');
    await arrived;

    aborts[0]?.(new Error('the caller disconnected'));

    await failureOf(call, 'sent');
  },
  async 'UC-08 fails at the stage connect if the connection is refused'({ client, serve }) {
    const refused = await serve(() => {});
    refused.close();
    const failure = await failureOf(client.send(post(refused.origin)), 'connect');

    assert.equal(failure.timedOut, false);
  },
  async 'UC-09 fails at the stage sent if the connection breaks before the status line'(setup) {
    const { origin } = await setup.serve((request) => request.socket.destroy());

    await failureOf(setup.client.send(post(origin)), 'sent');
  },
  async 'UC-10 fails the body at the stage body if it breaks off'({ client, serve }) {
    const handler: Handler = (request, response) => {
      request.resume();
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    };
    const { origin } = await serve(handler);
    const { body } = await client.send(post(origin));

    await failureOf(readAll(body), 'body');
  },
  async 'UC-11 opens a new connection for each call with freshConnection'({ client, serve }) {
    const { origin, connections } = await serve(replyWith('{}'));
    for (let call = 0; call < 3; call += 1) {
      const { body } = await client.send(post(origin, { freshConnection: true }));
      await readAll(body);
    }

    assert.equal(connections(), 3);
  },
  async 'UC-12 ignores informational responses and does not follow redirects'({ client, serve }) {
    const handler: Handler = (request, response) => {
      request.resume();
      response.writeProcessing();
      response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end();
    };
    const { origin } = await serve(handler);
    const { status, body } = await client.send(post(origin));
    await readAll(body);

    assert.equal(status, 302);
  },
  async 'UC-13 handles a hundred concurrent calls separately'({ client, serve }) {
    const handler: Handler = async (request, response) => {
      response.end(await buffer(request));
    };
    const { origin } = await serve(handler);
    const call = async (index: number): Promise<string> => {
      const body = [Buffer.from(`call ${index}`)];
      const reply: UpstreamResponse = await client.send(post(origin, { body }));
      return (await readAll(reply.body)).toString();
    };
    const indices = Array.from({ length: 100 }, (_, index) => index);

    assert.deepEqual(
      await Promise.all(indices.map(call)),
      indices.map((index) => `call ${index}`),
    );
  },
};
