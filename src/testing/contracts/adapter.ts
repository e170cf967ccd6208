/**
 * The contract of an adapter: requests reach the gateway unchanged, replies reach the caller
 * unchanged, and each side is notified when the other disconnects.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { PassThrough, Readable, type Writable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { GatewayHandler, GatewayRequest, GatewayResponse } from '../../http.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import { gate } from '../providers/scripts.ts';
import { type Cases, type Cleanable, type ContractCase, overSetups } from './contract-case.ts';

/** A running server with the adapter to test. `cleanup` must close it. */
export interface AdapterSetup extends Cleanable {
  /** `http://127.0.0.1:49152`, followed by the prefix of the mount, if any. */
  readonly url: string;
  /**
   * `false` where a body parser runs before the adapter, so that the body arrives as equivalent
   * JSON and not with its exact bytes.
   */
  readonly exactBytes?: boolean;
}

/** The cases of the adapter contract. `start` mounts the given gateway. */
export function adapterContract(
  start: (gateway: GatewayHandler) => MaybePromise<AdapterSetup>,
): readonly ContractCase[] {
  const make = async () => {
    const gateway = scriptedGateway();
    return { gateway, ...(await start(gateway)) };
  };
  return overSetups(cases, make, (mounted) => mounted);
}

interface Mounted extends AdapterSetup {
  readonly gateway: ScriptedGateway;
}

/** Opens a request that the case ends itself, on a separate connection. */
function open(
  { url }: AdapterSetup,
  path: string,
  { method = 'POST', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): ClientRequest {
  const outgoing = request(`${url}${path}`, {
    method,
    agent: false,
    headers: { 'content-type': 'application/json', ...headers },
  });
  outgoing.on('error', () => {
    // Cases that break a connection check the reply instead.
  });
  return outgoing;
}

async function replyOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  const [response] = await once(outgoing, 'response');
  assert(response && typeof response === 'object' && 'statusCode' in response);
  const incoming: IncomingMessage = response;
  return incoming;
}

async function echoOf(
  mounted: Mounted,
  path: string,
  body: Buffer | string = '{}',
  headers: Record<string, string> = {},
): Promise<Echo> {
  const outgoing = open(mounted, path, { headers });
  outgoing.end(body);
  const echo: Echo = JSON.parse(await text(await replyOf(outgoing)));
  return echo;
}

function write({ reply }: ScriptedGateway, event: string): Promise<void> {
  return new Promise((resolve, reject) => {
    reply.write(event, (error) => (error ? reject(error) : resolve()));
  });
}

/** A call whose reply is a stream that has begun to arrive. */
async function streaming(mounted: Mounted) {
  const outgoing = open(mounted, '/v1/stream');
  outgoing.end('{}');
  const event = write(mounted.gateway, 'data: 1\n\n');
  const [reply] = await Promise.all([replyOf(outgoing), event]);
  await nextText(reply);
  return { outgoing, reply };
}

/** The next text that arrives; rejects where the reply ends first. */
function nextText(reply: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    reply.once('data', (chunk) => resolve(String(chunk)));
    reply.once('close', () => reject(new Error('the stream ended before its event')));
  });
}

function closing({ reply }: ScriptedGateway): Promise<unknown> {
  return reply.closed ? Promise.resolve() : once(reply, 'close');
}

/** Resolves when a number has not changed for many turns of the event loop. */
async function settled(read: () => number): Promise<number> {
  let last = read();
  for (let turns = 0; turns < 2_000; turns += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (read() === last) continue;
    last = read();
    turns = 0;
  }
  return last;
}

// A number that a parser rounds, an escape that it removes, and unusual spacing.
const exact = '{ "model":"m",  "n": 12345678901234567890, "t": 1.0, "u": "a\\/b" }';

const cases: Cases<Mounted> = {
  async 'AC-01 passes the path from the API version on, still encoded, and the query'(mounted) {
    const path = '/v1beta/models/a%2Fb%3AgenerateContent';
    const echo = await echoOf(mounted, `${path}?alt=sse&x=%20`);

    assert.deepEqual([echo.method, echo.path, echo.search], ['POST', path, 'alt=sse&x=%20']);
  },
  async 'AC-02 passes the headers, by name and as received'(mounted) {
    const echo = await echoOf(mounted, '/v1/echo', '{}', { 'X-Api-Key': 'secret' });

    assert.equal(echo.headers['x-api-key'], 'secret');
    const at = echo.rawHeaders.findIndex((word) => word.toLowerCase() === 'x-api-key');
    assert.equal(echo.rawHeaders[at + 1], 'secret');
  },
  async 'AC-03 passes the exact bytes of the body'(mounted) {
    const echo = await echoOf(mounted, '/v1/echo', exact);
    const received = Buffer.from(echo.body ?? '', 'base64').toString();

    if (mounted.exactBytes === false) assert.deepEqual(JSON.parse(received), JSON.parse(exact));
    else assert.equal(received, exact);
  },
  async 'AC-04 replies to GET, and to HEAD without a body'(mounted) {
    const get = open(mounted, '/v1/models', { method: 'GET' });
    get.end();
    const echo: Echo = JSON.parse(await text(await replyOf(get)));
    assert.deepEqual([echo.method, echo.path], ['GET', '/v1/models']);

    const head = open(mounted, '/v1/models', { method: 'HEAD' });
    head.end();
    const reply = await replyOf(head);
    assert(Number(reply.headers['content-length']) > 0, 'HEAD must name the length');
    assert.equal((await buffer(reply)).length, 0);
  },
  async 'AC-05 writes the status and headers of the gateway'(mounted) {
    const outgoing = open(mounted, '/v1/refused');
    outgoing.end('{}');
    const reply = await replyOf(outgoing);

    assert.equal(reply.statusCode, 413);
    assert.equal(reply.headers['x-request-id'], 'request-1');
    assert.equal(await text(reply), '{"error":"too large"}');
  },
  async 'AC-06 forwards each event before the next one is written'(mounted) {
    const outgoing = open(mounted, '/v1/stream');
    outgoing.end('{}');
    const [reply] = await Promise.all([replyOf(outgoing), write(mounted.gateway, 'data: 1\n\n')]);

    assert.equal(await nextText(reply), 'data: 1\n\n');
    await write(mounted.gateway, 'data: 2\n\n');
    assert.equal(await nextText(reply), 'data: 2\n\n');
    mounted.gateway.reply.end();
    await once(reply, 'end');
  },
  async 'AC-07 reads no more of a stream than the caller takes'(mounted) {
    const outgoing = open(mounted, '/v1/endless');
    outgoing.end('{}');
    const reply = await replyOf(outgoing);
    reply.pause();

    const taken = await settled(mounted.gateway.taken);
    outgoing.destroy();

    assert(taken < endlessBytes / 2, `${taken} bytes were read for a caller that takes none`);
  },
  async 'AC-08 reports a caller that disconnected before the reply, and drops the reply'(mounted) {
    const { gateway } = mounted;
    const outgoing = open(mounted, '/v1/silent');
    outgoing.end('{}');
    await gateway.received;

    outgoing.destroy();
    await gateway.disconnected;
    gateway.answer();

    await closing(gateway);
    assert.equal(gateway.disconnects(), 1);
  },
  async 'AC-09 reports a caller that disconnected during a stream, and destroys the stream'(
    mounted,
  ) {
    const { gateway } = mounted;
    const { outgoing } = await streaming(mounted);

    outgoing.destroy();
    await gateway.disconnected;

    await closing(gateway);
    assert.equal(gateway.disconnects(), 1);
  },
  async 'AC-10 breaks the connection if a stream fails, so that it looks incomplete'(mounted) {
    const { gateway } = mounted;
    const { reply } = await streaming(mounted);

    gateway.reply.destroy(new Error('the upstream broke off'));

    await assert.rejects(buffer(reply), 'the stream ended as if it were complete');
  },
  async 'AC-11 does not report a disconnect after a complete reply'(mounted) {
    await echoOf(mounted, '/v1/echo');
    await new Promise((resolve) => setImmediate(resolve));

    assert.equal(mounted.gateway.disconnects(), 0);
  },
  async 'AC-12 handles fifty concurrent calls separately'(mounted) {
    const paths = Array.from({ length: 50 }, (_, index) => `/v1/echo/${index}`);
    const echoes = await Promise.all(paths.map((path) => echoOf(mounted, path)));

    assert.deepEqual(
      echoes.map(({ path }) => path),
      paths,
    );
  },
};

/** The request as the gateway received it: the reply to `/v1/echo`. */
export interface Echo {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  /** The body in Base64; null where the adapter passed none. */
  readonly body: string | null;
}

export interface ScriptedGateway extends GatewayHandler {
  /** The reply to `/v1/stream` and `/v1/silent`: a case writes, ends or destroys it. */
  readonly reply: PassThrough;
  /** Resolves when a request for `/v1/silent` has arrived. */
  readonly received: Promise<void>;
  /** Resolves when the listener passed to `onClose` has been called. */
  readonly disconnected: Promise<void>;
  /** How often a listener of `onClose` was called. */
  readonly disconnects: () => number;
  /** How many bytes of `/v1/endless` have been read. */
  readonly taken: () => number;
  /** Makes `/v1/silent` reply with the stream. */
  answer(): void;
}

/** The size of `/v1/endless`, far above the socket buffers of a connection. */
const endlessBytes: number = 64 * 1024 * 1024;

/** A gateway for all paths below `/v1` and `/v1beta`. */
export function scriptedGateway(): ScriptedGateway {
  const reply = new PassThrough();
  // Some cases destroy it with an error: its reader receives that, but the process must not crash.
  reply.on('error', () => {});
  const received = gate();
  const disconnected = gate();
  const answered = gate();
  let disconnects = 0;
  let taken = 0;

  const silent = async (): Promise<GatewayResponse> => {
    received.open();
    await answered.opened;
    return streamed(reply);
  };

  const endless = (): Readable => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    return new Readable({
      read() {
        taken += chunk.length;
        this.push(taken <= endlessBytes ? chunk : null);
      },
    });
  };

  return {
    reply,
    received: received.opened,
    disconnected: disconnected.opened,
    disconnects: () => disconnects,
    taken: () => taken,
    answer: answered.open,
    owns: (path) => /^\/v1(beta)?\//.test(path),
    handle: async (request) => {
      request.onClose(() => {
        disconnects += 1;
        disconnected.open();
      });
      if (request.path === '/v1/stream') return streamed(reply);
      if (request.path === '/v1/silent') return silent();
      if (request.path === '/v1/endless') return streamed(endless());
      if (request.path === '/v1/refused') return json(413, { error: 'too large' });
      return echo(request);
    },
    refuse: ({ path }, code, message) =>
      json(code === 'body_too_large' ? 413 : 400, { error: { code, message, path } }),
  };
}

async function echo(request: GatewayRequest): Promise<GatewayResponse> {
  const { method, path, search, headers, rawHeaders, body } = request;
  const bytes = body instanceof Readable ? await buffer(body) : body;
  return json(200, {
    method,
    path,
    search,
    headers,
    rawHeaders,
    body: bytes === undefined ? null : Buffer.from(bytes).toString('base64'),
  } satisfies Echo);
}

function json(status: number, value: object): GatewayResponse {
  const body = Buffer.from(JSON.stringify(value));
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  return { status, headers: { ...headers, 'x-request-id': 'request-1' }, body };
}

function streamed(source: Readable): GatewayResponse {
  return {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
    },
    body: {
      // `pipeline` destroys both streams when either closes.
      sendTo: (out: Writable) => void pipeline(source, out).catch(() => {}),
      readable: () => source,
    },
  };
}
