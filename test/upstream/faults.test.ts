// suite: slow host
/**
 * Each fault on the wire, with the stage and reason that undici's error is mapped to. A new version
 * of undici that reports it differently fails here.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UpstreamClient } from '../../src/ports/upstream-client.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';
import { type Conversation, rawServer } from './raw-server.ts';
import { exchange, type Outcome, post } from './send-request.ts';

let client: UpstreamClient;

beforeEach(() => {
  client = undiciClient();
});

afterEach(() => client.close());

type Script = (conversation: Conversation) => Promise<void> | void;

/** Responds with these bytes, one by one, and then waits, closes or resets. */
function responds(bytes: string, last: 'wait' | 'close' | 'reset' = 'wait'): Script {
  return async ({ request, send, socket }) => {
    await request();
    await send(...bytes);
    if (last === 'close') socket.destroySoon();
    if (last === 'reset') socket.resetAndDestroy();
  };
}

const ok = 'HTTP/1.1 200 OK\r\n';
const body = (reason: string, timedOut = false): Outcome => ({ stage: 'body', reason, timedOut });
const sent = (reason: string, timedOut = false): Outcome => ({ stage: 'sent', reason, timedOut });
const response = (text: string, status = 200): object => ({ status, body: text });

interface Row {
  readonly fault: string;
  readonly script: Script;
  readonly expected: object;
}

const beforeResponse: readonly Row[] = [
  {
    fault: 'accepts and closes',
    script: ({ socket }) => void socket.end(),
    expected: sent('reset'),
  },
  { fault: 'resets at the request', script: responds('', 'reset'), expected: sent('reset') },
  { fault: 'closes at the request', script: responds('', 'close'), expected: sent('reset') },
  {
    fault: 'half of the status line',
    script: responds('HTTP/1.1 20', 'close'),
    expected: sent('reset'),
  },
  {
    fault: 'half of the headers',
    script: responds(`${ok}content-ty`, 'close'),
    expected: sent('reset'),
  },
  {
    fault: 'a garbled status line',
    script: responds('HTTQ/9 what\r\n\r\n'),
    expected: sent('bad_response'),
  },
  {
    fault: 'an SSH server',
    script: responds('SSH-2.0-OpenSSH_9.6\r\n'),
    expected: sent('bad_response'),
  },
  {
    fault: 'endless headers',
    script: async ({ request, send }) => {
      await request();
      await send(ok, `x-big: ${'x'.repeat(40_000)}\r\n\r\n`);
    },
    expected: sent('bad_response'),
  },
  {
    fault: 'two content lengths',
    script: responds(`${ok}content-length: 2\r\ncontent-length: 3\r\n\r\nhi!`),
    expected: sent('bad_response'),
  },
  {
    fault: 'a content length and chunks',
    script: responds(
      `${ok}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    ),
    expected: sent('bad_response'),
  },
  {
    fault: 'an unrequested 100, which undici refuses',
    script: responds(`HTTP/1.1 100 Continue\r\n\r\n${ok}content-length: 2\r\n\r\nhi`),
    expected: sent('reset'),
  },
  {
    fault: 'an unrequested 101',
    script: responds(
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    ),
    expected: sent('reset'),
  },
];

const wholeResponse: readonly Row[] = [
  {
    fault: 'a body by its length',
    script: responds(`${ok}content-length: 2\r\n\r\nhi`),
    expected: response('hi'),
  },
  {
    fault: 'a body in chunks',
    script: responds(
      `${ok}transfer-encoding: chunked\r\n\r\n1\r\nh\r\n1;x=y\r\ni\r\n0\r\nx-late: 1\r\n\r\n`,
    ),
    expected: response('hi'),
  },
  {
    fault: 'a body up to the end of the connection',
    script: responds(`${ok}\r\nhi`, 'close'),
    expected: response('hi'),
  },
  {
    fault: 'early hints before it',
    script: responds(
      `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${ok}content-length: 2\r\n\r\nhi`,
    ),
    expected: response('hi'),
  },
  {
    fault: 'a 102 before it',
    script: responds(`HTTP/1.1 102 Processing\r\n\r\n${ok}content-length: 2\r\n\r\nhi`),
    expected: response('hi'),
  },
  {
    fault: 'a 204',
    script: responds('HTTP/1.1 204 No Content\r\n\r\n'),
    expected: response('', 204),
  },
  {
    fault: 'an empty body',
    script: responds(`${ok}content-length: 0\r\n\r\n`),
    expected: response(''),
  },
  {
    fault: 'a redirect, not followed',
    script: responds(
      'HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n',
    ),
    expected: response('', 302),
  },
  {
    fault: 'more than its length',
    script: responds(`${ok}content-length: 2\r\n\r\nhithere`),
    expected: response('hi'),
  },
];

const duringBody: readonly Row[] = [
  {
    fault: 'an end before its length',
    script: responds(`${ok}content-length: 9\r\n\r\nhi`, 'close'),
    expected: body('reset'),
  },
  {
    fault: 'a reset',
    script: responds(`${ok}content-length: 9\r\n\r\nhi`, 'reset'),
    expected: body('reset'),
  },
  {
    fault: 'an end between chunks',
    script: responds(`${ok}transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n`, 'close'),
    expected: body('reset'),
  },
  {
    fault: 'a chunk without a size',
    script: responds(`${ok}transfer-encoding: chunked\r\n\r\nwhat\r\n`),
    expected: body('bad_response'),
  },
  {
    fault: 'an unknown encoding',
    script: responds(`${ok}content-encoding: zstd\r\ncontent-length: 2\r\n\r\nhi`),
    expected: body('encoded'),
  },
  {
    fault: 'invalid gzip',
    script: responds(`${ok}content-encoding: gzip\r\ncontent-length: 2\r\n\r\nhi`),
    expected: body('encoded'),
  },
];

describe.each([
  ['a fault before the response', beforeResponse],
  ['a complete response', wholeResponse],
  ['a fault in the body', duringBody],
])('%s', (_when, rows) => {
  it.each(rows)('$fault', async ({ script, expected }) => {
    const server = await rawServer(script);

    expect(await exchange(client, post(server.origin))).toMatchObject(expected);
    await server.close();
  });
});

describe('a failure before anything was sent', () => {
  const connect = (reason: string, timedOut = false): Outcome => ({
    stage: 'connect',
    reason,
    timedOut,
  });

  it('is reported if the connection is refused', async () => {
    const server = await rawServer(() => {});
    await server.close();

    expect(await exchange(client, post(server.origin))).toEqual(connect('connect_refused'));
  });

  it('is reported if the host does not exist', async () => {
    expect(await exchange(client, post('http://nowhere.invalid'))).toEqual(connect('dns'));
  });

  it('is reported if the server does not speak TLS', async () => {
    const server = await rawServer(async ({ send }) => send('HTTP/1.1 400 Bad Request\r\n\r\n'));

    const outcome = await exchange(client, post(server.origin.replace('http:', 'https:')));

    expect(outcome).toEqual(connect('tls'));
    await server.close();
  });

  it('is reported if the handshake times out', async () => {
    const server = await rawServer(() => {});
    const request = post(server.origin.replace('http:', 'https:'), { connectTimeoutMs: 20 });

    expect(await exchange(client, request)).toEqual(connect('connect_timeout', true));
    await server.close();
  });

  it('is reported if a configured header is invalid', async () => {
    const server = await rawServer(responds(`${ok}content-length: 2\r\n\r\nhi`));
    const request = post(server.origin, { headers: { 'x-bad': 'a\r\nb' } });

    expect(await exchange(client, request)).toEqual(connect('failed'));
    expect(server.connections).toBe(0);
    await server.close();
  });

  it('is reported if the client is closed', async () => {
    await client.close();

    expect(await exchange(client, post('http://127.0.0.1:1'))).toEqual(connect('closed'));
  });
});

it('closing the client fails running calls', async () => {
  const server = await rawServer(({ request }) => void request().then(() => client.close()));

  expect(await exchange(client, post(server.origin))).toEqual(sent('closed'));
  await server.close();
});
