// suite: quick host
/** Reading a request body: size limits, memory budget, slow bodies, and callers that disconnect. */
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../src/bytes/body/body.ts';
import { readBody } from '../../src/bytes/body/read.ts';
import { isGatewayError } from '../../src/errors.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { byteBudget, listenersOf, pushable, reading } from './body-reading.ts';
import { often } from './json-arbitrary.ts';

describe('a body that arrives', () => {
  it('in one chunk is not copied', async () => {
    const chunk = Buffer.from('{"a":1}');

    const { result } = reading(Readable.from([chunk]));

    expect(isSame(await result, chunk)).toBe(true);
  });

  it('in chunks of any size is joined', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(9000), { minLength: 1, maxLength: 30 }), async (sizes) => {
        const chunks = sizes.map((size, index) => Buffer.alloc(size, index + 1));

        const { result, budget } = reading(Readable.from(chunks), { maxBytes: 1e6 });

        expect(Buffer.concat(chunks).equals(await result)).toBe(true);
        expect(budget.heldBytes()).toBe(Buffer.concat(chunks).length);
      }),
      { ...often, numRuns: 100 },
    );
  });

  it('byte by byte is joined', async () => {
    const chunks = Array.from({ length: 40_000 }, (_, index) => Buffer.of(index % 251));

    const { result } = reading(Readable.from(chunks), { maxBytes: 1e6 });

    expect(Buffer.concat(chunks).equals(await result)).toBe(true);
  });

  it('as text is encoded as UTF-8', async () => {
    const stream = Readable.from([Buffer.from('{"a":"é"}')], { objectMode: false });
    stream.setEncoding('utf8');

    expect(Buffer.from(await reading(stream).result).toString()).toBe('{"a":"é"}');
  });

  it('in a stream that the host has paused is read nonetheless', async () => {
    const stream = Readable.from([Buffer.from('{"a":1}')]);
    stream.pause();

    const { result } = reading(stream);

    expect(Buffer.from(await result).toString()).toBe('{"a":1}');
  });

  it('without bytes is empty', async () => {
    expect(await reading(Readable.from([])).result).toHaveLength(0);
  });

  it('already read by the host is used unchanged, whatever its content-encoding', async () => {
    const body = Buffer.from('{}');

    const { result, budget } = reading(body, {
      headers: { 'content-encoding': 'gzip', 'content-length': '99999' },
    });

    expect(isSame(await result, body)).toBe(true);
    expect(budget.heldBytes()).toBe(2);
  });

  it('leaves no listener and no timer behind', async () => {
    const stream = pushable();
    const { result, clock } = reading(stream);
    await turn();
    stream.push('{}');
    stream.push(null);
    await result;

    expect(listenersOf(stream)).toEqual([]);
    expect(clock.running()).toBe(0);
  });

  it('with its head needs no timer', async () => {
    const { result, clock } = reading(Readable.from([Buffer.from('{}')]));
    await result;
    await turn();

    expect(clock.started()).toBe(0);
  });

  it('is unaffected by a caller that disconnects afterwards', async () => {
    const { result, budget, disconnect } = reading(Readable.from([Buffer.from('{}')]));
    await result;
    disconnect();

    expect(budget.heldBytes()).toBe(2);
  });
});

describe('a body that arrived with its head', () => {
  const body = Buffer.from('{"a":1}');

  it('is read synchronously, without a listener', async () => {
    await posted(body, async (incoming) => {
      const taken = readBody(
        { headers: incoming.headers, body: incoming, onClose: () => {} },
        { maxBytes: 100, announcedBytes: body.length, budget: byteBudget(100), clock: fakeClock() },
      );

      expect(taken).toEqual(wholeBody(body));
      expect(listenersOf(incoming)).toEqual([]);
      await once(incoming, 'end');
      expect(incoming.readableEnded).toBe(true);
    });
  });

  it('stays unread if the budget is exhausted', async () => {
    await posted(body, async (incoming) => {
      const { result } = reading(incoming, {
        headers: incoming.headers,
        budget: byteBudget(body.length - 1),
      });

      await expect(result).rejects.toMatchObject({ code: 'overloaded' });
      expect(incoming.readableLength).toBe(body.length);
    });
  });

  it('is read by events if the host set an encoding', async () => {
    await posted(body, async (incoming) => {
      incoming.setEncoding('utf8');

      const { result } = reading(incoming, { headers: incoming.headers });

      expect(Buffer.from(await result).toString()).toBe('{"a":1}');
    });
  });
});

describe('a body that is too large', () => {
  it('by its content-length is refused before a byte is read', async () => {
    const stream = pushable();
    stream.push('{}');

    const { result } = reading(stream, { headers: { 'content-length': '1001' } });

    await expect(result).rejects.toMatchObject({ code: 'body_too_large' });
    expect(stream.readableFlowing).toBeNull();
    expect(stream.readableLength).toBe(2);
  });

  it.each([
    undefined,
    '10',
    'x',
    '',
  ])('is refused one byte above the limit: content-length %s', async (length) => {
    const stream = Readable.from([Buffer.alloc(600), Buffer.alloc(401), Buffer.alloc(600)]);

    const { result, budget } = reading(stream, { headers: { 'content-length': length } });

    await expect(result).rejects.toMatchObject({ code: 'body_too_large' });
    expect(stream.isPaused()).toBe(true);
    expect(listenersOf(stream)).toEqual([]);
    expect(budget.heldBytes()).toBe(0);
  });

  it('by one byte is refused, and at the limit it is accepted', async () => {
    expect(await reading(Readable.from([Buffer.alloc(1000)])).result).toHaveLength(1000);
    await expect(reading(Readable.from([Buffer.alloc(1001)])).result).rejects.toMatchObject({
      code: 'body_too_large',
    });
    await expect(reading(Buffer.alloc(1001)).result).rejects.toMatchObject({
      code: 'body_too_large',
    });
  });
});

describe('the byte budget', () => {
  it('refuses a body that would exceed it, and is restored afterwards', async () => {
    const budget = byteBudget(1500);
    const held = await reading(Readable.from([Buffer.alloc(1000)]), { budget }).result;

    const second = reading(Readable.from([Buffer.alloc(400), Buffer.alloc(101)]), { budget });

    await expect(second.result).rejects.toMatchObject({ code: 'overloaded', retryAfterMs: 1000 });
    expect(budget.take(501)).toBe(false);
    budget.give(held.length);
    expect(budget.take(1500)).toBe(true);
  });

  it('counts bodies the host read', async () => {
    const budget = byteBudget(10);

    await expect(reading(Buffer.alloc(11), { budget }).result).rejects.toMatchObject({
      code: 'overloaded',
    });
    expect(budget.take(10)).toBe(true);
  });
});

describe('a slow body', () => {
  it('without any bytes is refused after 10 seconds', async () => {
    const stream = pushable();
    const { result, clock, budget } = reading(stream);
    await turn();
    stream.push('{');
    await turn();

    clock.advance(10_000);
    expect(clock.running()).toBe(1);
    clock.advance(1000);

    await expect(result).rejects.toMatchObject({
      code: 'invalid_request',
      reason: 'body_timeout',
    });
    expect(budget.heldBytes()).toBe(0);
    expect(clock.running()).toBe(0);
    expect(listenersOf(stream)).toEqual([]);
  });

  it('gets another second for every 64 KiB', async () => {
    const stream = pushable();
    const { result, clock } = reading(stream, { maxBytes: 1e6 });
    stream.push(Buffer.alloc(3 * 65_536));
    await turn();

    clock.advance(13_000);
    expect(clock.running()).toBe(1);
    stream.push(null);

    expect(await result).toHaveLength(3 * 65_536);
  });

  it('gets at most a minute', async () => {
    const stream = pushable();
    const { result, clock } = reading(stream, { maxBytes: 1e7 });
    stream.push(Buffer.alloc(100 * 65_536));
    await turn();

    clock.advance(61_000);

    await expect(result).rejects.toMatchObject({ reason: 'body_timeout' });
  });
});

describe('a body that is never completed', () => {
  it.each<readonly [string, (stream: Readable) => void]>([
    ['an error', (stream) => stream.destroy(new Error('reset'))],
    ['a close', (stream) => stream.destroy()],
  ])('reports a disconnect after %s of its stream', async (_how, end) => {
    const stream = pushable();
    const { result, budget } = reading(stream);
    stream.push('{"a"');
    await turn();
    end(stream);

    await expect(result).rejects.toMatchObject({ code: 'invalid_request', reason: 'caller_left' });
    expect(budget.heldBytes()).toBe(0);
    expect(listenersOf(stream)).toEqual([]);
  });

  it('is not awaited after the caller has disconnected', async () => {
    const { result, disconnect } = reading(pushable());
    disconnect();

    await expect(result).rejects.toMatchObject({ reason: 'caller_left' });
  });

  it('is refused immediately if its stream is already destroyed', async () => {
    const stream = pushable();
    stream.destroy();

    await expect(reading(stream).result).rejects.toMatchObject({ reason: 'caller_left' });
  });

  it('reports a disconnect if HTTP/2 ended the stream of a cancelled request', async () => {
    const cancelled = Object.assign(Readable.from([Buffer.from('{}')]), { aborted: true });
    await once(cancelled.resume(), 'end');

    await expect(reading(cancelled).result).rejects.toMatchObject({ reason: 'caller_left' });
  });

  it('is an error of the host if the host consumed it', async () => {
    const read = Readable.from([Buffer.from('{}')]);
    await once(read.resume(), 'end');

    for (const body of [undefined, read]) {
      await expect(reading(body).result).rejects.toMatchObject({
        code: 'internal_error',
        reason: 'body_consumed',
      });
    }
  });

  it('is distinguished from a complete body over a real connection', async () => {
    const reasons: (string | undefined)[] = [];
    const server = createServer((incoming, response) => {
      reading(incoming, { headers: incoming.headers }).result.then(
        (body) => response.end(body),
        (error) => {
          reasons.push(isGatewayError(error) ? error.reason : 'other');
          server.emit('refused');
        },
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const to = { port: address.port, host: '127.0.0.1', method: 'POST' };

    const whole = httpRequest(to).end('{"a":1}');
    const [response] = await once(whole, 'response');
    expect(await response.setEncoding('utf8').toArray()).toEqual(['{"a":1}']);

    const half = httpRequest({ ...to, headers: { 'content-length': '50' } });
    half.on('error', () => {});
    half.write('{"a"');
    await once(server, 'request');
    half.destroy();
    await once(server, 'refused');
    expect(reasons).toEqual(['caller_left']);

    server.closeAllConnections();
    server.close();
  });
});

/** Posts a body to a server whose handler reads it one turn later. */
async function posted(
  body: Uint8Array,
  handle: (incoming: IncomingMessage) => Promise<void>,
): Promise<void> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const sent = httpRequest({ port: address.port, host: '127.0.0.1', method: 'POST' });
  sent.on('error', () => {}).end(body);

  try {
    const [incoming] = await once(server, 'request');
    await turn();
    await handle(incoming);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Whether both are views of the same memory. */
function isSame(one: Uint8Array, other: Uint8Array): boolean {
  const isThere = one.buffer === other.buffer && one.byteOffset === other.byteOffset;
  return isThere && one.length === other.length;
}
