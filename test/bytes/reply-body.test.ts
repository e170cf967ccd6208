/** A reply is pushed from socket to socket: joined by tick, held back by who reads, ended once. */
import { Readable, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { pushedReply } from '../../src/bytes/body/reply.ts';
import { noBytes } from '../../src/bytes/sse.ts';
import type { UpstreamBody } from '../../src/ports/upstream-client.ts';
import { handBody, pipe, recorder } from './pushing.ts';

describe('a pushed reply', () => {
  it('joins the chunks of one tick into one write', async () => {
    const { body, sink } = handBody();
    const out = recorder();
    pushedReply(body, pipe(), Buffer.from('0')).sendTo(out);

    for (const chunk of ['a', 'b', 'c']) sink().write(Buffer.from(chunk));
    await setImmediate();
    sink().write(Buffer.from('d'));
    sink().end();
    await out.gone;

    expect(out.log).toEqual(['0', 'abc', 'd', 'end']);
  });

  it('passes a piece as large as a socket gives on at once, and does not copy it', () => {
    const { body, sink } = handBody();
    const seen: unknown[] = [];
    const out = new Writable({
      write: (chunk, _encoding, taken) => {
        seen.push(chunk);
        taken();
      },
    });
    pushedReply(body, pipe(), noBytes).sendTo(out);
    const pieces = [Buffer.alloc(65_200, 'a'), Buffer.alloc(65_536, 'b')];

    for (const piece of pieces) sink().write(piece);

    expect(seen).toHaveLength(2);
    expect(pieces.every((piece, index) => piece === seen[index])).toBe(true);
  });

  it('does not gather more than 60 KiB before the caller’s socket can say that it is full', () => {
    const { body, sink, calls } = handBody();
    const slow = new Writable({ highWaterMark: 4, write: () => {} });
    pushedReply(body, pipe(), noBytes).sendTo(slow);

    for (let piece = 0; piece < 3; piece += 1) sink().write(Buffer.alloc(32 * 1024, 'a'));

    expect(calls).toEqual(['start', 'pause']);
  });

  it('writes what has come already in the turn of its beginning', () => {
    const out = recorder();
    const { body } = handBody();
    const early: UpstreamBody = {
      ...body,
      start: (sink) => {
        for (const chunk of ['a', 'b']) sink.write(Buffer.from(chunk));
      },
    };

    pushedReply(early, pipe(), Buffer.from('0')).sendTo(out);

    expect(out.log).toEqual(['0', 'ab']);
  });

  it('writes what the pipe makes of it, and nothing where it makes nothing', async () => {
    const { body, sink } = handBody();
    const out = recorder();
    const upper = (chunk: Uint8Array) =>
      chunk[0] === 0x61 ? noBytes : Buffer.from(Buffer.from(chunk).toString().toUpperCase());
    pushedReply(body, pipe({ write: upper }), noBytes).sendTo(out);

    sink().write(Buffer.from('a'));
    await setImmediate();
    sink().write(Buffer.from('b'));
    sink().end();
    await out.gone;

    expect(out.log).toEqual(['B', 'end']);
  });

  it('writes each of the last pieces in a turn of its own', async () => {
    const { body, sink } = handBody();
    const out = recorder();
    const writes = ['x', 'y', 'z'].map((text) => Buffer.from(text));
    pushedReply(body, pipe({ end: () => ({ writes, cut: false }) }), noBytes).sendTo(out);
    sink().end();
    const turns: string[][] = [];

    for (let turn = 0; turn < 3; turn += 1) {
      turns.push([...out.log]);
      await setImmediate();
    }

    await out.gone;
    expect(turns).toEqual([['x'], ['x', 'y'], ['x', 'y', 'z', 'end']]);
  });

  it('that is cut ends without an end', async () => {
    const { body, sink } = handBody();
    const out = recorder();
    const writes = [Buffer.from('x')];
    pushedReply(body, pipe({ fail: () => ({ writes, cut: true }) }), noBytes).sendTo(out);

    sink().fail(new Error('reset'));
    await out.gone;

    expect(out.log).toEqual(['x']);
  });

  it('tells the pipe of what broke off only after the chunks that came before', async () => {
    const { body, sink } = handBody();
    const out = recorder();
    pushedReply(body, pipe(), noBytes).sendTo(out);

    sink().write(Buffer.from('a'));
    sink().fail(new Error('reset'));
    await out.gone;

    expect(out.log).toEqual(['a', 'failed: reset', 'end']);
  });

  it('pauses the upstream while the caller does not read, and resumes it then', async () => {
    const { body, sink, calls } = handBody();
    const waiting: (() => void)[] = [];
    const slow = new Writable({
      highWaterMark: 4,
      write: (_chunk, _encoding, done) => {
        waiting.push(done);
      },
    });
    pushedReply(body, pipe(), noBytes).sendTo(slow);

    sink().write(Buffer.from('12345'));
    await setImmediate();
    const paused = [...calls];
    waiting.shift()?.();
    await setImmediate();

    expect(paused).toEqual(['start', 'pause']);
    expect(calls).toEqual(['start', 'pause', 'resume']);
  });

  it('aborts the upstream once the caller has left', async () => {
    const { body, calls } = handBody();
    const out = recorder();
    pushedReply(body, pipe(), noBytes).sendTo(out);

    out.destroy();
    await out.gone;

    expect(calls).toEqual(['start', 'abort']);
  });

  it('takes in what has come before it says how far it was for a caller who left', async () => {
    const { body, sink } = handBody();
    const out = recorder();
    const told: string[] = [];
    const write = (chunk: Uint8Array) => {
      told.push(String(chunk));
      return chunk;
    };
    const left = (): 'abort' => {
      told.push('left');
      return 'abort';
    };
    pushedReply(body, pipe({ write, left }), noBytes).sendTo(out);

    sink().write(Buffer.from('last'));
    out.emit('close');
    out.destroy();
    await out.gone;

    expect(told).toEqual(['last', 'left']);
  });

  it('never starts for a caller who has left before', () => {
    const { body, calls } = handBody();
    const out = recorder();
    out.destroy();

    pushedReply(body, pipe(), noBytes).sendTo(out);

    expect(calls).toEqual(['abort']);
  });

  it('is read to its end for nobody where the pipe wants it', async () => {
    const { body, sink, calls } = handBody();
    const out = recorder();
    const seen: string[] = [];
    const write = (chunk: Uint8Array) => {
      seen.push(Buffer.from(chunk).toString());
      return chunk;
    };
    pushedReply(body, pipe({ left: () => 'drain', write }), noBytes).sendTo(out);

    out.destroy();
    await out.gone;
    sink().write(Buffer.from('a'));
    sink().end();

    expect(seen).toEqual(['a']);
    expect(calls).toEqual(['start', 'resume']);
  });

  it('is the same as a Readable', async () => {
    const { body, sink } = handBody();
    const stream = pushedReply(body, pipe(), Buffer.from('0')).readable();

    sink().write(Buffer.from('a'));
    sink().end();
    const chunks = await stream.toArray();

    expect(stream).toBeInstanceOf(Readable);
    expect(Buffer.concat(chunks).toString()).toBe('0a');
  });

  it('as a Readable says that it was cut, and aborts where it is destroyed', async () => {
    const broken = handBody();
    const cut = pushedReply(
      broken.body,
      pipe({ fail: () => ({ writes: [], cut: true }) }),
      noBytes,
    );
    const stream = cut.readable();
    broken.sink().fail(new Error('reset'));
    const left = handBody();
    const other = pushedReply(left.body, pipe(), noBytes).readable();
    other.destroy();

    await expect(stream.toArray()).rejects.toThrow();
    await setImmediate();
    expect(left.calls).toContain('abort');
  });
});
