// suite: quick
/**
 * Pushing a reply from socket to socket: chunks joined per turn, back-pressure, exactly one end.
 */
import { Readable, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { pushedReply } from '../../src/bytes/body/reply.ts';
import { emptyBytes } from '../../src/bytes/sse.ts';
import type { UpstreamBody } from '../../src/ports/upstream-client.ts';
import { controlledBody, pipe, recorder } from './reply-doubles.ts';

describe('a pushed reply', () => {
  it('joins the chunks of one turn into one write', async () => {
    const { body, sink } = controlledBody();
    const out = recorder();
    pushedReply(body, pipe(), [Buffer.from('0')]).sendTo(out);

    for (const chunk of ['a', 'b', 'c']) sink().write(Buffer.from(chunk));
    await setImmediate();
    sink().write(Buffer.from('d'));
    sink().end();
    await out.whenClosed;

    expect(out.log).toEqual(['0', 'abc', 'd', 'end']);
  });

  it('passes on a full socket read immediately, without copying it', () => {
    const { body, sink } = controlledBody();
    const seen: unknown[] = [];
    const out = new Writable({
      write: (chunk, _encoding, taken) => {
        seen.push(chunk);
        taken();
      },
    });
    const begun = [Buffer.alloc(65_000, 'a'), Buffer.alloc(65_100, 'b')];
    pushedReply(body, pipe(), begun).sendTo(out);
    const pieces = [65_200, 9, 65_536].map((size) => Buffer.alloc(size, 'c'));

    for (const piece of pieces) sink().write(piece);

    const all = [...begun, ...pieces];
    expect(seen).toHaveLength(all.length);
    expect(all.every((piece, index) => piece === seen[index])).toBe(true);
  });

  it('gathers at most 60 KiB before the caller’s socket can report that it is full', () => {
    const { body, sink, calls } = controlledBody();
    const slow = new Writable({ highWaterMark: 4, write: () => {} });
    pushedReply(body, pipe(), []).sendTo(slow);

    for (let piece = 0; piece < 3; piece += 1) sink().write(Buffer.alloc(32 * 1024, 'a'));

    expect(calls).toEqual(['start', 'pause']);
  });

  it('writes chunks that have already arrived in the turn of its beginning', () => {
    const out = recorder();
    const { body } = controlledBody();
    const early: UpstreamBody = {
      ...body,
      start: (sink) => {
        for (const chunk of ['a', 'b']) sink.write(Buffer.from(chunk));
      },
    };

    pushedReply(early, pipe(), [Buffer.from('0')]).sendTo(out);

    expect(out.log).toEqual(['0', 'ab']);
  });

  it('writes the output of the pipe, and nothing if there is none', async () => {
    const { body, sink } = controlledBody();
    const out = recorder();
    const upper = (chunk: Uint8Array) =>
      chunk[0] === 0x61 ? emptyBytes : Buffer.from(Buffer.from(chunk).toString().toUpperCase());
    pushedReply(body, pipe({ write: upper }), []).sendTo(out);

    sink().write(Buffer.from('a'));
    await setImmediate();
    sink().write(Buffer.from('b'));
    sink().end();
    await out.whenClosed;

    expect(out.log).toEqual(['B', 'end']);
  });

  it('writes each of the last chunks in a separate turn', async () => {
    const { body, sink } = controlledBody();
    const out = recorder();
    const writes = ['x', 'y', 'z'].map((text) => Buffer.from(text));
    pushedReply(body, pipe({ end: () => ({ writes, cut: false }) }), []).sendTo(out);
    sink().end();
    const turns: string[][] = [];

    for (let turn = 0; turn < 3; turn += 1) {
      turns.push([...out.log]);
      await setImmediate();
    }

    await out.whenClosed;
    expect(turns).toEqual([['x'], ['x', 'y'], ['x', 'y', 'z', 'end']]);
  });

  it('that is cut does not end cleanly', async () => {
    const { body, sink } = controlledBody();
    const out = recorder();
    const writes = [Buffer.from('x')];
    pushedReply(body, pipe({ fail: () => ({ writes, cut: true }) }), []).sendTo(out);

    sink().fail(new Error('reset'));
    await out.whenClosed;

    expect(out.log).toEqual(['x']);
  });

  it('reports a failure to the pipe only after the chunks before it', async () => {
    const { body, sink } = controlledBody();
    const out = recorder();
    pushedReply(body, pipe(), []).sendTo(out);

    sink().write(Buffer.from('a'));
    sink().fail(new Error('reset'));
    await out.whenClosed;

    expect(out.log).toEqual(['a', 'failed: reset', 'end']);
  });

  it('pauses the upstream while the caller does not read', async () => {
    const { body, sink, calls } = controlledBody();
    const waiting: (() => void)[] = [];
    const slow = new Writable({
      highWaterMark: 4,
      write: (_chunk, _encoding, done) => {
        waiting.push(done);
      },
    });
    pushedReply(body, pipe(), []).sendTo(slow);

    sink().write(Buffer.from('12345'));
    await setImmediate();
    const paused = [...calls];
    waiting.shift()?.();
    await setImmediate();

    expect(paused).toEqual(['start', 'pause']);
    expect(calls).toEqual(['start', 'pause', 'resume']);
  });

  it('aborts the upstream when the caller disconnects', async () => {
    const { body, calls } = controlledBody();
    const out = recorder();
    pushedReply(body, pipe(), []).sendTo(out);

    out.destroy();
    await out.whenClosed;

    expect(calls).toEqual(['start', 'abort']);
  });

  it('passes received chunks through the pipe before it reports a disconnect', async () => {
    const { body, sink } = controlledBody();
    const out = recorder();
    const log: string[] = [];
    const write = (chunk: Uint8Array) => {
      log.push(String(chunk));
      return chunk;
    };
    const onDisconnect = (): 'abort' => {
      log.push('left');
      return 'abort';
    };
    pushedReply(body, pipe({ write, disconnected: onDisconnect }), []).sendTo(out);

    sink().write(Buffer.from('last'));
    out.emit('close');
    out.destroy();
    await out.whenClosed;

    expect(log).toEqual(['last', 'left']);
  });

  it('never starts for a caller that has already disconnected', () => {
    const { body, calls } = controlledBody();
    const out = recorder();
    out.destroy();

    pushedReply(body, pipe(), []).sendTo(out);

    expect(calls).toEqual(['abort']);
  });

  it('is read to its end after a disconnect if the pipe asks for it', async () => {
    const { body, sink, calls } = controlledBody();
    const out = recorder();
    const seen: string[] = [];
    const write = (chunk: Uint8Array) => {
      seen.push(Buffer.from(chunk).toString());
      return chunk;
    };
    pushedReply(body, pipe({ disconnected: () => 'drain', write }), []).sendTo(out);

    out.destroy();
    await out.whenClosed;
    sink().write(Buffer.from('a'));
    sink().end();

    expect(seen).toEqual(['a']);
    expect(calls).toEqual(['start', 'resume']);
  });

  it('is the same when read as a Readable', async () => {
    const { body, sink } = controlledBody();
    const stream = pushedReply(body, pipe(), [Buffer.from('0')]).readable();

    sink().write(Buffer.from('a'));
    sink().end();
    const chunks = await stream.toArray();

    expect(stream).toBeInstanceOf(Readable);
    expect(Buffer.concat(chunks).toString()).toBe('0a');
  });

  it('fails as a Readable when cut, and aborts when the Readable is destroyed', async () => {
    const broken = controlledBody();
    const cut = pushedReply(broken.body, pipe({ fail: () => ({ writes: [], cut: true }) }), []);
    const stream = cut.readable();
    broken.sink().fail(new Error('reset'));
    const disconnecting = controlledBody();
    const other = pushedReply(disconnecting.body, pipe(), []).readable();
    other.destroy();

    await expect(stream.toArray()).rejects.toThrow();
    await setImmediate();
    expect(disconnecting.calls).toContain('abort');
  });
});
