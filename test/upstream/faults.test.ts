/**
 * What undici says of each fault on the wire, and the stage and reason we make of it. A new version
 * of undici that says it otherwise fails here (FAULTS §3.1, §3.3).
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UpstreamClient } from '../../src/ports/upstream-client.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';
import { exchange, type Outcome, post } from './exchange.ts';
import { type Conversation, rawServer } from './raw-server.ts';

let client: UpstreamClient;

beforeEach(() => {
  client = undiciClient();
});

afterEach(() => client.close());

type Script = (conversation: Conversation) => Promise<void> | void;

/** Answers the request with these bytes, cut at every byte, and then does what `last` says. */
function says(bytes: string, last: 'wait' | 'close' | 'reset' = 'wait'): Script {
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
const answer = (text: string, status = 200): object => ({ status, body: text });

interface Row {
  readonly fault: string;
  readonly script: Script;
  readonly expected: object;
}

const beforeTheAnswer: readonly Row[] = [
  {
    fault: 'F05 accepts and closes',
    script: ({ socket }) => void socket.end(),
    expected: sent('reset'),
  },
  { fault: 'F05 resets at the request', script: says('', 'reset'), expected: sent('reset') },
  { fault: 'closes at the request', script: says('', 'close'), expected: sent('reset') },
  {
    fault: 'F08 half of the status line',
    script: says('HTTP/1.1 20', 'close'),
    expected: sent('reset'),
  },
  {
    fault: 'F08 half of the headers',
    script: says(`${ok}content-ty`, 'close'),
    expected: sent('reset'),
  },
  {
    fault: 'F09 a garbled status line',
    script: says('HTTQ/9 what\r\n\r\n'),
    expected: sent('bad_response'),
  },
  {
    fault: 'an SSH server',
    script: says('SSH-2.0-OpenSSH_9.6\r\n'),
    expected: sent('bad_response'),
  },
  {
    fault: 'F10 headers without end',
    script: async ({ request, send }) => {
      await request();
      await send(ok, `x-big: ${'x'.repeat(40_000)}\r\n\r\n`);
    },
    expected: sent('bad_response'),
  },
  {
    fault: 'F11 two content lengths',
    script: says(`${ok}content-length: 2\r\ncontent-length: 3\r\n\r\nhi!`),
    expected: sent('bad_response'),
  },
  {
    fault: 'F11 a content length and chunks',
    script: says(
      `${ok}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    ),
    expected: sent('bad_response'),
  },
  {
    fault: 'F12 a 100 that nobody asked for, which undici refuses',
    script: says(`HTTP/1.1 100 Continue\r\n\r\n${ok}content-length: 2\r\n\r\nhi`),
    expected: sent('reset'),
  },
  {
    fault: 'F14 a 101 that nobody asked for',
    script: says('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    expected: sent('reset'),
  },
];

const theAnswer: readonly Row[] = [
  {
    fault: 'a body by its length',
    script: says(`${ok}content-length: 2\r\n\r\nhi`),
    expected: answer('hi'),
  },
  {
    fault: 'a body in chunks',
    script: says(
      `${ok}transfer-encoding: chunked\r\n\r\n1\r\nh\r\n1;x=y\r\ni\r\n0\r\nx-late: 1\r\n\r\n`,
    ),
    expected: answer('hi'),
  },
  {
    fault: 'F36 a body up to the end of the connection',
    script: says(`${ok}\r\nhi`, 'close'),
    expected: answer('hi'),
  },
  {
    fault: 'F13 early hints before it',
    script: says(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${ok}content-length: 2\r\n\r\nhi`),
    expected: answer('hi'),
  },
  {
    fault: 'F13 a 102 before it',
    script: says(`HTTP/1.1 102 Processing\r\n\r\n${ok}content-length: 2\r\n\r\nhi`),
    expected: answer('hi'),
  },
  {
    fault: 'F29 a 204',
    script: says('HTTP/1.1 204 No Content\r\n\r\n'),
    expected: answer('', 204),
  },
  { fault: 'an empty body', script: says(`${ok}content-length: 0\r\n\r\n`), expected: answer('') },
  {
    fault: 'F28 a redirect, not followed',
    script: says(
      'HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n',
    ),
    expected: answer('', 302),
  },
  {
    fault: 'F37 more than its length',
    script: says(`${ok}content-length: 2\r\n\r\nhithere`),
    expected: answer('hi'),
  },
];

const inTheAnswer: readonly Row[] = [
  {
    fault: 'F35 an end before its length',
    script: says(`${ok}content-length: 9\r\n\r\nhi`, 'close'),
    expected: body('reset'),
  },
  {
    fault: 'F35 a reset',
    script: says(`${ok}content-length: 9\r\n\r\nhi`, 'reset'),
    expected: body('reset'),
  },
  {
    fault: 'F35 an end between chunks',
    script: says(`${ok}transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n`, 'close'),
    expected: body('reset'),
  },
  {
    fault: 'a chunk without a size',
    script: says(`${ok}transfer-encoding: chunked\r\n\r\nwhat\r\n`),
    expected: body('bad_response'),
  },
  {
    fault: 'an encoding that nobody knows',
    script: says(`${ok}content-encoding: zstd\r\ncontent-length: 2\r\n\r\nhi`),
    expected: body('encoded'),
  },
  {
    fault: 'gzip that is none',
    script: says(`${ok}content-encoding: gzip\r\ncontent-length: 2\r\n\r\nhi`),
    expected: body('encoded'),
  },
];

describe.each([
  ['before the answer', beforeTheAnswer],
  ['the answer', theAnswer],
  ['in the answer', inTheAnswer],
])('%s', (_when, rows) => {
  it.each(rows)('$fault', async ({ script, expected }) => {
    const server = await rawServer(script);

    expect(await exchange(client, post(server.origin))).toMatchObject(expected);
    await server.close();
  });
});

describe('nothing was sent', () => {
  const connect = (reason: string, timedOut = false): Outcome => ({
    stage: 'connect',
    reason,
    timedOut,
  });

  it('F02 where the connection is refused', async () => {
    const server = await rawServer(() => {});
    await server.close();

    expect(await exchange(client, post(server.origin))).toEqual(connect('connect_refused'));
  });

  it('F01 where there is no such host', async () => {
    expect(await exchange(client, post('http://nowhere.invalid'))).toEqual(connect('dns'));
  });

  it('F04 where the other side speaks no TLS', async () => {
    const server = await rawServer(async ({ send }) => send('HTTP/1.1 400 Bad Request\r\n\r\n'));

    const outcome = await exchange(client, post(server.origin.replace('http:', 'https:')));

    expect(outcome).toEqual(connect('tls'));
    await server.close();
  });

  it('F03 where the handshake does not come to an end in time', async () => {
    const server = await rawServer(() => {});
    const request = post(server.origin.replace('http:', 'https:'), { connectTimeoutMs: 20 });

    expect(await exchange(client, request)).toEqual(connect('connect_timeout', true));
    await server.close();
  });

  it('where a header of the channel is none', async () => {
    const server = await rawServer(says(`${ok}content-length: 2\r\n\r\nhi`));
    const request = post(server.origin, { headers: { 'x-bad': 'a\r\nb' } });

    expect(await exchange(client, request)).toEqual(connect('failed'));
    expect(server.connections).toBe(0);
    await server.close();
  });

  it('where the client is closed', async () => {
    await client.close();

    expect(await exchange(client, post('http://127.0.0.1:1'))).toEqual(connect('closed'));
  });
});

it('the client’s end breaks what runs', async () => {
  const server = await rawServer(({ request }) => void request().then(() => client.close()));

  expect(await exchange(client, post(server.origin))).toEqual(sent('closed'));
  await server.close();
});
