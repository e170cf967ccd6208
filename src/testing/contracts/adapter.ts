/**
 * The contract of an adapter: what the caller sends reaches the gateway unchanged, what the gateway
 * answers reaches the caller unchanged, and either side hears when the other is gone.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { buffer, text } from 'node:stream/consumers';
import type { GatewayHandler } from '../../http.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import {
  type Echo,
  endlessBytes,
  type ScriptedGateway,
  scriptedGateway,
} from './adapter/scripted-gateway.ts';
import type { ContractCase } from './contract-case.ts';
import { type Cleanable, overSetups, type SetupCase } from './over-setups.ts';

/** A running server whose adapter is to be proved. `cleanup` must close it. */
export interface AdapterSetup extends Cleanable {
  /** `http://127.0.0.1:49152`, and the prefix it is mounted under where there is one. */
  readonly url: string;
  /**
   * `false` where a body parser stands before the adapter and has read the bytes: what arrives then
   * is JSON of the same meaning.
   */
  readonly exactBytes?: boolean;
}

/** The cases of the adapter contract. `start` mounts the gateway it is given. */
export function adapterContract(
  start: (gateway: GatewayHandler) => MaybePromise<AdapterSetup>,
): readonly ContractCase[] {
  return overSetups(cases, async () => {
    const gateway = scriptedGateway();
    return { gateway, ...(await start(gateway)) };
  });
}

interface Mounted extends AdapterSetup {
  readonly gateway: ScriptedGateway;
}

/** A request that a case ends by itself. It never shares a connection with another. */
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
    // Cases that cut a connection look at the answer instead.
  });
  return outgoing;
}

async function answerOf(outgoing: ClientRequest): Promise<IncomingMessage> {
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
  const echo: Echo = JSON.parse(await text(await answerOf(outgoing)));
  return echo;
}

function write({ reply }: ScriptedGateway, event: string): Promise<void> {
  return new Promise((resolve, reject) => {
    reply.write(event, (error) => (error ? reject(error) : resolve()));
  });
}

/** The text that arrives next; rejects where the answer ends first. */
function nextText(answer: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    answer.once('data', (chunk) => resolve(String(chunk)));
    answer.once('close', () => reject(new Error('the stream ended before its event')));
  });
}

function closing({ reply }: ScriptedGateway): Promise<unknown> {
  return reply.closed ? Promise.resolve() : once(reply, 'close');
}

/** Resolves when a number has stopped growing for many turns of the event loop. */
async function atRest(read: () => number): Promise<number> {
  let last = read();
  for (let turns = 0; turns < 2_000; turns += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (read() === last) continue;
    last = read();
    turns = 0;
  }
  return last;
}

// Precision that a parser loses, an escape that it would undo, and odd spacing.
const exact = '{ "model":"m",  "n": 12345678901234567890, "t": 1.0, "u": "a\\/b" }';

const cases: readonly SetupCase<Mounted>[] = [
  {
    name: 'AC-01 hands over the path from the version on, still encoded, and the query',
    run: async (mounted) => {
      const path = '/v1beta/models/a%2Fb%3AgenerateContent';
      const echo = await echoOf(mounted, `${path}?alt=sse&x=%20`);

      assert.deepEqual([echo.method, echo.path, echo.search], ['POST', path, 'alt=sse&x=%20']);
    },
  },
  {
    name: 'AC-02 hands over the headers, by name and as they were received',
    run: async (mounted) => {
      const echo = await echoOf(mounted, '/v1/echo', '{}', { 'X-Api-Key': 'secret' });

      assert.equal(echo.headers['x-api-key'], 'secret');
      const at = echo.rawHeaders.findIndex((word) => word.toLowerCase() === 'x-api-key');
      assert.equal(echo.rawHeaders[at + 1], 'secret');
    },
  },
  {
    name: 'AC-03 hands over the bytes of the body',
    run: async (mounted) => {
      const echo = await echoOf(mounted, '/v1/echo', exact);
      const received = Buffer.from(echo.body ?? '', 'base64').toString();

      if (mounted.exactBytes === false) assert.deepEqual(JSON.parse(received), JSON.parse(exact));
      else assert.equal(received, exact);
    },
  },
  {
    name: 'AC-04 answers GET, and HEAD with the head alone',
    run: async (mounted) => {
      const get = open(mounted, '/v1/models', { method: 'GET' });
      get.end();
      const echo: Echo = JSON.parse(await text(await answerOf(get)));
      assert.deepEqual([echo.method, echo.path], ['GET', '/v1/models']);

      const head = open(mounted, '/v1/models', { method: 'HEAD' });
      head.end();
      const answer = await answerOf(head);
      assert(Number(answer.headers['content-length']) > 0, 'HEAD must name the length');
      assert.equal((await buffer(answer)).length, 0);
    },
  },
  {
    name: 'AC-05 writes status and headers as the gateway gave them',
    run: async (mounted) => {
      const outgoing = open(mounted, '/v1/refused');
      outgoing.end('{}');
      const answer = await answerOf(outgoing);

      assert.equal(answer.statusCode, 413);
      assert.equal(answer.headers['x-request-id'], 'request-1');
      assert.equal(await text(answer), '{"error":"too large"}');
    },
  },
  {
    name: 'AC-06 passes each event on before the next one exists',
    run: async (mounted) => {
      const outgoing = open(mounted, '/v1/stream');
      outgoing.end('{}');
      const [answer] = await Promise.all([
        answerOf(outgoing),
        write(mounted.gateway, 'data: 1\n\n'),
      ]);

      assert.equal(await nextText(answer), 'data: 1\n\n');
      await write(mounted.gateway, 'data: 2\n\n');
      assert.equal(await nextText(answer), 'data: 2\n\n');
      mounted.gateway.reply.end();
      await once(answer, 'end');
    },
  },
  {
    name: 'AC-07 takes no more of a stream than the caller reads',
    run: async (mounted) => {
      const outgoing = open(mounted, '/v1/endless');
      outgoing.end('{}');
      const answer = await answerOf(outgoing);
      answer.pause();

      const taken = await atRest(mounted.gateway.taken);
      outgoing.destroy();

      assert(taken < endlessBytes / 2, `${taken} bytes were taken for a caller that reads none`);
    },
  },
  {
    name: 'AC-08 says that the caller disconnected before the answer, and drops that answer',
    run: async (mounted) => {
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
  },
  {
    name: 'AC-09 says that the caller disconnected in the middle of a stream, and destroys it',
    run: async (mounted) => {
      const { gateway } = mounted;
      const outgoing = open(mounted, '/v1/stream');
      outgoing.end('{}');
      const [answer] = await Promise.all([answerOf(outgoing), write(gateway, 'data: 1\n\n')]);
      await nextText(answer);

      outgoing.destroy();
      await gateway.disconnected;

      await closing(gateway);
      assert.equal(gateway.disconnects(), 1);
    },
  },
  {
    name: 'AC-10 cuts the connection where a stream breaks off: no caller must take it as whole',
    run: async (mounted) => {
      const { gateway } = mounted;
      const outgoing = open(mounted, '/v1/stream');
      outgoing.end('{}');
      const [answer] = await Promise.all([answerOf(outgoing), write(gateway, 'data: 1\n\n')]);
      await nextText(answer);

      gateway.reply.destroy(new Error('the upstream broke off'));

      await assert.rejects(buffer(answer), 'the stream ended as if it were whole');
    },
  },
  {
    name: 'AC-11 never calls the listener of a caller that received its whole answer',
    run: async (mounted) => {
      await echoOf(mounted, '/v1/echo');
      await new Promise((resolve) => setImmediate(resolve));

      assert.equal(mounted.gateway.disconnects(), 0);
    },
  },
  {
    name: 'AC-12 keeps fifty calls that run at the same time apart',
    run: async (mounted) => {
      const paths = Array.from({ length: 50 }, (_, index) => `/v1/echo/${index}`);
      const echoes = await Promise.all(paths.map((path) => echoOf(mounted, path)));

      assert.deepEqual(
        echoes.map(({ path }) => path),
        paths,
      );
    },
  },
];
