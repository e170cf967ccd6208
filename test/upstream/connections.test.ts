// suite: quick host
/** What is sent upstream, over which connection, and how bodies are paused and aborted. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UpstreamError } from '../../src/errors.ts';
import type { UpstreamClient, UpstreamResponse } from '../../src/ports/upstream-client.ts';
import { gate } from '../../src/testing/providers/scripts.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';
import { type Conversation, rawServer } from './raw-server.ts';
import { exchange, failure, post, read } from './send-request.ts';

let client: UpstreamClient;

beforeEach(() => {
  client = undiciClient();
});

afterEach(() => client.close());

const hi = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';

/** Responds to every request on a connection. */
async function respondToAll({ request, send, socket }: Conversation): Promise<void> {
  while (socket.writable) {
    await request();
    await send(hi);
  }
}

describe('a request', () => {
  const piece = (bytes: number, fill: string): Buffer => Buffer.alloc(bytes, fill);
  const bodies: readonly (readonly [string, readonly Uint8Array[]])[] = [
    ['of one small piece', [piece(10, 'a')]],
    ['of one large piece', [piece(200_000, 'a')]],
    ['of small pieces', [piece(10, 'a'), piece(0, ''), piece(20, 'b')]],
    [
      'of pieces above 1 MiB',
      [piece(400_000, 'a'), piece(1, 'b'), piece(0, ''), piece(900_000, 'c')],
    ],
    ['of views into one buffer', [piece(100, 'a').subarray(3, 7), piece(100_000, 'b').subarray(5)]],
  ];

  it.each(bodies)('%s is sent unchanged, with its length', async (_what, body) => {
    let seen = '';
    const server = await rawServer(async ({ request, send }) => {
      seen = (await request()).toString('latin1');
      await send(hi);
    });

    await exchange(client, post(server.origin, { body, path: '/v1/x?alt=sse' }));

    const whole = Buffer.concat(body).toString();
    const [head = '', sent] = seen.split('\r\n\r\n');
    expect(head.split('\r\n')[0]).toBe('POST /v1/x?alt=sse HTTP/1.1');
    expect(head).toContain(`content-length: ${whole.length}`);
    expect(head.toLowerCase()).not.toContain('transfer-encoding');
    expect(sent).toBe(whole);
    await server.close();
  });

  it('that is answered before it was read gets its response', async () => {
    const server = await rawServer(async ({ socket, send }) => {
      socket.once('readable', () => {});
      await send('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno');
    });
    const body = [Buffer.alloc(100_000), Buffer.alloc(2_000_000)];

    const outcome = await exchange(client, post(server.origin, { body }));

    expect(outcome).toMatchObject({ status: 413, body: 'no' });
    await server.close();
  });

  it('joins repeated headers, in lower case, and skips those that are not used', async () => {
    const server = await rawServer(async ({ request, send }) => {
      await request();
      const lines = ['Retry-After: 1', 'X-A: 1', 'retry-after: 2', 'Content-Length: 0', '', ''];
      await send(`HTTP/1.1 200 OK\r\n${lines.join('\r\n')}`);
    });

    const outcome = await exchange(client, post(server.origin));

    expect(outcome).toMatchObject({ status: 200 });
    expect('headers' in outcome && outcome.headers).toEqual({ 'retry-after': '1, 2' });
    await server.close();
  });
});

describe('connections', () => {
  it('are reused by the next chat call', async () => {
    const server = await rawServer(respondToAll);

    for (let count = 0; count < 3; count += 1) {
      await exchange(client, post(server.origin));
      // undici releases a socket one turn after the last byte of the response.
      await new Promise((resolve) => setImmediate(resolve));
    }

    expect(server.connections).toBe(1);
    await server.close();
  });

  it('are new for every image call, and closed after it', async () => {
    const closed: number[] = [];
    const server = await rawServer((conversation) => {
      conversation.socket.once('close', () => closed.push(conversation.connectionId));
      return respondToAll(conversation);
    });

    for (let count = 0; count < 3; count += 1) {
      await exchange(client, post(server.origin, { freshConnection: true }));
    }
    await exchange(client, post(server.origin));

    expect(server.connections).toBe(4);
    expect(closed).toEqual(expect.arrayContaining([1, 2]));
    await server.close();
  });

  const head = 'HTTP/1.1 200 OK\r\n';
  const garbled: readonly (readonly [string, string])[] = [
    ['no status line', 'HTTQ/9 what\r\n\r\n'],
    ['endless headers', `${head}x-big: ${'x'.repeat(40_000)}\r\n\r\n`],
    ['two lengths', `${head}content-length: 1\r\ncontent-length: 2\r\n\r\nhi`],
    [
      'a length and chunks',
      `${head}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    ],
    ['an unrequested 100', `HTTP/1.1 100 Continue\r\n\r\n${hi}`],
    ['an unrequested 101', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['more than its length', `${hi}${hi}`],
  ];

  it.each(garbled)('with a malformed response are not reused: %s', async (_fault, bytes) => {
    const server = await rawServer(async (conversation) => {
      if (conversation.connectionId > 1) return respondToAll(conversation);
      await conversation.request();
      await conversation.send(bytes);
    });

    await exchange(client, post(server.origin));

    expect(await exchange(client, post(server.origin))).toMatchObject({ body: 'hi' });
    expect(server.connections).toBe(2);
    await server.close();
  });

  it('are limited to the configured number: further calls wait', async () => {
    const narrow = undiciClient({ connections: 1 });
    const server = await rawServer(respondToAll);

    const outcomes = await Promise.all(
      Array.from({ length: 4 }, () => exchange(narrow, post(server.origin))),
    );

    expect(outcomes.map((outcome) => 'body' in outcome && outcome.body)).toEqual(
      Array(4).fill('hi'),
    );
    expect(server.connections).toBe(1);
    await narrow.close();
    await server.close();
  });
});

describe('a call that waits for a socket', () => {
  it('and times out surely has not run', async () => {
    const narrow = undiciClient({ connections: 1 });
    const answered = gate();
    let requests = 0;
    const server = await rawServer(async ({ request, send, socket }) => {
      while (socket.writable) {
        await request();
        requests += 1;
        await answered.opened;
        await send(hi);
      }
    });
    const first = exchange(narrow, post(server.origin));
    const late = new UpstreamError('sent', 'headers_timeout', { timedOut: true });

    const onAbort = (abort: (reason: Error) => void) => setImmediate(() => abort(late));
    const second = await exchange(narrow, post(server.origin, { onAbort }));
    answered.open();

    expect(second).toEqual({ stage: 'connect', reason: 'queue_timeout', timedOut: true });
    expect(await first).toMatchObject({ body: 'hi' });
    expect(await exchange(narrow, post(server.origin))).toMatchObject({ body: 'hi' });
    expect(requests).toBe(2);
    await narrow.close();
    await server.close();
  });
});

describe('a body', () => {
  const size = 8 * 1024 * 1024;

  /**
   * A server that sends 8 MiB as fast as possible; `sent` counts the bytes that the kernel took.
   */
  async function fastServer(): Promise<{
    server: Awaited<ReturnType<typeof rawServer>>;
    sent: () => number;
  }> {
    let sent = 0;
    const server = await rawServer(async ({ request, socket }) => {
      await request();
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`);
      const chunk = Buffer.alloc(64 * 1024, 'x');
      const closed = new Promise((resolve) => socket.once('close', resolve));
      for (let count = 0; count < size / chunk.length && !socket.destroyed; count += 1) {
        const written = new Promise((resolve) => socket.write(chunk, resolve));
        await Promise.race([written, closed]);
        sent += chunk.length;
      }
    });
    return { server, sent: () => sent };
  }

  it('that nobody reads is not taken from the socket', async () => {
    const { server, sent } = await fastServer();

    const { body } = await client.send(post(server.origin));
    await settled(sent);
    const unread = sent();

    expect(unread).toBeLessThan(size);
    expect(await read(body)).toHaveLength(size);
    await server.close();
  });

  it('that is paused waits, and arrives complete when resumed', async () => {
    const { server, sent } = await fastServer();
    const { body } = await client.send(post(server.origin));
    const begun = gate();
    let taken = 0;
    const whole = new Promise<void>((resolve, reject) => {
      body.start({
        write: (chunk) => {
          if (taken === 0) {
            body.pause();
            begun.open();
          }
          taken += chunk.length;
        },
        end: resolve,
        fail: reject,
      });
    });

    await begun.opened;
    await settled(sent);
    expect(taken).toBeLessThan(size / 2);
    body.resume();
    await whole;

    expect(taken).toBe(size);
    await server.close();
  });

  it('that was complete at the headers can be taken whole', async () => {
    const server = await rawServer(respondToAll);
    const { body } = await client.send(post(server.origin));
    const other = await client.send(post(server.origin));

    expect([body.takeWhole(1), body.takeWhole(2)?.toString()]).toEqual([undefined, 'hi']);
    expect((await read(other.body)).toString()).toBe('hi');
    await server.close();
  });

  it('that is aborted closes its connection and delivers nothing more', async () => {
    const closed = gate();
    const server = await rawServer(async ({ request, send, socket }) => {
      socket.once('close', closed.open);
      await request();
      await send('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi');
    });
    const { body } = await client.send(post(server.origin));
    const delivered: string[] = [];

    body.start({
      write: (chunk) => {
        delivered.push(chunk.toString());
        body.abort();
      },
      end: () => delivered.push('end'),
      fail: () => delivered.push('fail'),
    });
    await closed.opened;

    expect(delivered.join('')).toMatch(/^hi?$/);
    await server.close();
  });
});

describe('a call that is aborted', () => {
  const disconnect = (): UpstreamError => new UpstreamError('sent', 'caller_left');

  it('before it has a connection was never sent', async () => {
    const server = await rawServer(respondToAll);

    const outcome = await exchange(
      client,
      post(server.origin, { onAbort: (abort) => abort(disconnect()) }),
    );

    expect(outcome).toEqual({ stage: 'connect', reason: 'caller_left', timedOut: false });
    expect(await exchange(client, post(server.origin))).toMatchObject({ body: 'hi' });
    await server.close();
  });

  it('while it waits for the headers may have run', async () => {
    let abort: (reason: Error) => void = () => {};
    const closed = gate();
    const server = await rawServer(async ({ request, socket }) => {
      socket.once('close', closed.open);
      await request();
      abort(disconnect());
    });
    const onAbort = (abortCall: typeof abort): void => {
      abort = abortCall;
    };

    const outcome = await exchange(client, post(server.origin, { onAbort }));

    expect(outcome).toEqual({ stage: 'sent', reason: 'caller_left', timedOut: false });
    await closed.opened;
    await server.close();
  });

  it('in the middle of its body keeps its reason', async () => {
    let abort: (reason: Error) => void = () => {};
    const server = await rawServer(async ({ request, send }) => {
      await request();
      await send('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi');
    });
    const onAbort = (abortCall: typeof abort): void => {
      abort = abortCall;
    };
    const { body } = await client.send(post(server.origin, { onAbort }));
    const end = readFailing(body);

    abort(new UpstreamError('sent', 'total_timeout', { timedOut: true }));

    expect(await end).toEqual({ stage: 'body', reason: 'total_timeout', timedOut: true });
    await server.close();
  });
});

function readFailing(body: UpstreamResponse['body']): Promise<unknown> {
  return read(body).then(String, failure);
}

/** Waits until a count has not changed for many turns of the event loop. */
async function settled(count: () => number): Promise<void> {
  for (let still = 0, last = -1; still < 2_000; ) {
    await new Promise((resolve) => setImmediate(resolve));
    still = count() === last ? still + 1 : 0;
    last = count();
  }
}
