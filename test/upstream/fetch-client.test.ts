// suite: quick host
/** The upstream client over `fetch`: which failures count as not sent, and what `fetch` adds. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { UpstreamClient } from '../../src/ports/upstream-client.ts';
import { fetchUpstreamClient } from '../../src/upstream/fetch-client.ts';
import { closed, listening } from '../support/servers.ts';
import { type Conversation, rawServer } from './raw-server.ts';
import { exchange, failure, post, read } from './send-request.ts';

const response = 'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{"answer":1}';
const headBytes = response.indexOf('\r\n\r\n') + 4;

describe('a response that ends', () => {
  const cuts = Array.from(response, (_, bytes) => bytes);

  it.each(cuts)('after %d bytes is a failure of a call that was sent', async (bytes) => {
    const origin = await conversing(async ({ request, send, socket }) => {
      await request();
      await send(response.slice(0, bytes));
      socket.destroySoon();
    });

    const outcome = await exchange(client(), post(origin));

    expect(outcome).toMatchObject({ stage: bytes < headBytes ? 'sent' : 'body' });
  });

  it('after its last byte is complete', async () => {
    const origin = await conversing(async ({ request, send }) => {
      await request();
      await send(response);
    });

    expect(await exchange(client(), post(origin))).toMatchObject({ status: 200 });
  });
});

describe('a request that was not sent', () => {
  it.each([
    'expired',
    'elsewhere',
    'self-signed',
    'good',
  ])('to a server whose certificate is not trusted: %s', async (certificate) => {
    const received: Buffer[] = [];
    const tls = { key: pem('server-key'), cert: pem(certificate) };
    const server = createTlsServer(tls, (socket) =>
      socket.on('data', (part) => received.push(part)),
    );
    server.on('tlsClientError', () => {});
    onTestFinished(() => void server.close());
    const origin = (await listening(server)).replace('http:', 'https:');

    const outcome = await exchange(client(), post(origin));

    expect(outcome).toEqual({ stage: 'connect', reason: 'tls', timedOut: false });
    expect(received).toEqual([]);
  });

  it('to a host that does not exist', async () => {
    const outcome = await exchange(client(), post('http://upstream.invalid'));

    expect(outcome).toMatchObject({ stage: 'connect', reason: 'dns' });
  });

  it('after the client was closed', async () => {
    const closing = client();
    await closing.close();

    const outcome = await exchange(closing, post('http://upstream.invalid'));

    expect(outcome).toMatchObject({ stage: 'connect', reason: 'closed' });
  });
});

describe('an abort', () => {
  it.each([
    'before it is sent',
    'before the response',
    'in the body',
    'of a paused body',
  ])('%s ends the call with its reason', async (moment) => {
    const reached = promise();
    const origin = await upstream((request, res) => {
      request.resume();
      if (moment !== 'before the response') res.writeHead(200).write('{');
      reached.resolve();
    });
    let abort = (_reason: Error): void => {};
    const aborting = post(origin, {
      onAbort: (end) => {
        abort = end;
        if (moment === 'before it is sent') end(new Error('the caller left'));
      },
    });
    const answered = client().send(aborting);
    if (moment === 'before it is sent' || moment === 'before the response') {
      if (moment === 'before the response') await reached.resolved;
      abort(new Error('the caller left'));

      expect(await answered.catch(failure)).toMatchObject({ stage: 'sent' });
      return;
    }
    const { body } = await answered;
    const whole = read(body).catch(failure);
    if (moment === 'of a paused body') body.pause();
    abort(new Error('the caller left'));

    expect(await whole).toMatchObject({ stage: 'body' });
  });

  it('by close() ends running calls', async () => {
    const reached = promise();
    const origin = await upstream((request) => {
      request.resume();
      reached.resolve();
    });
    const closing = client();
    const answered = exchange(closing, post(origin));
    await reached.resolved;

    await closing.close();

    expect(await answered).toMatchObject({ stage: 'sent' });
  });
});

describe('a request', () => {
  it('in pieces has a length, and only a fresh one asks to close its connection', async () => {
    const seen: IncomingMessage['headers'][] = [];
    const origin = await upstream((request, res) => {
      seen.push(request.headers);
      request.resume().on('end', () => res.end('{}'));
    });
    const pieces = [Buffer.alloc(100_000, 'a'), Buffer.from('b')];

    await exchange(client(), post(origin, { body: pieces }));
    await exchange(client(), post(origin, { freshConnection: true }));

    expect(seen).toMatchObject([
      { 'content-length': '100001', connection: 'keep-alive' },
      { connection: 'close' },
    ]);
  });
});

describe('an encoded response', () => {
  it('is decoded, and says so', async () => {
    const origin = await upstream((request, res) => {
      request.resume();
      res.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' });
      res.end(gzipSync('{"answer":1}'));
    });

    const outcome = await exchange(client(), post(origin));

    expect(outcome).toMatchObject({ body: '{"answer":1}' });
    expect(outcome).not.toHaveProperty('headers.content-encoding');
  });

  it('in an encoding that fetch may not know is refused, and aborted', async () => {
    const aborted = promise();
    const origin = await upstream((request, res) => {
      request.resume();
      res.on('close', aborted.resolve);
      res.writeHead(200, { 'content-encoding': 'compress' }).write('{');
    });

    const outcome = await exchange(client(), post(origin));

    expect(outcome).toMatchObject({ stage: 'body', reason: 'encoded' });
    await aborted.resolved;
  });
});

function client(): UpstreamClient {
  const created = fetchUpstreamClient();
  onTestFinished(() => created.close());
  return created;
}

async function conversing(script: (conversation: Conversation) => Promise<void>): Promise<string> {
  const server = await rawServer(script);
  onTestFinished(() => server.close());
  return server.origin;
}

async function upstream(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => closed(server));
  return listening(server);
}

function pem(name: string): string {
  return readFileSync(`${import.meta.dirname}/tls/${name}.pem`, 'utf8');
}

function promise(): { readonly resolved: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const resolved = new Promise<void>((done) => {
    resolve = done;
  });
  return { resolved, resolve };
}
