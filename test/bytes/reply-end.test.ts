// suite: quick
/** The end of a pushed reply: the grace period of the upstream, and hosts' wrappers that throw. */
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Closing, pushedReply } from '../../src/bytes/body/reply.ts';
import { clean, controlledBody, pipe, recorder } from './reply-doubles.ts';

describe('a reply that ends before its upstream', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it('ends for its caller immediately, and lets the upstream end by itself', async () => {
    const { body, sink, calls } = controlledBody();
    const out = recorder();
    pushedReply(body, pipe({ closingIfOver: overAt(1) }), []).sendTo(out);

    sink().write(Buffer.from('a'));
    await out.whenClosed;
    sink().end();

    expect(out.log).toEqual(['a', 'end']);
    expect(calls).toEqual(['start', 'resume']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('aborts an upstream that does not end within a second', async () => {
    const { body, sink, calls } = controlledBody();
    const out = recorder();
    pushedReply(body, pipe({ closingIfOver: overAt(1) }), []).sendTo(out);
    sink().write(Buffer.from('a'));
    await out.whenClosed;

    vi.advanceTimersByTime(999);
    const before = [...calls];
    vi.advanceTimersByTime(1);

    expect(before).toEqual(['start', 'resume']);
    expect(calls).toEqual(['start', 'resume', 'abort']);
  });

  it('passes on neither later bytes nor a later failure', async () => {
    const { body, sink } = controlledBody();
    const out = recorder();
    const requested: string[] = [];
    const note = (name: string) => (): Closing => {
      requested.push(name);
      return clean;
    };
    pushedReply(
      body,
      pipe({ closingIfOver: overAt(1), end: note('end'), fail: note('fail') }),
      [],
    ).sendTo(out);

    sink().write(Buffer.from('a'));
    await out.whenClosed;
    sink().write(Buffer.from('b'));
    await setImmediate();
    sink().fail(new Error('reset'));

    expect(out.log).toEqual(['a', 'end']);
    expect(requested).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('aborts an upstream that keeps sending after it', async () => {
    const { body, sink, calls } = controlledBody();
    const out = recorder();
    pushedReply(body, pipe({ closingIfOver: overAt(1) }), []).sendTo(out);
    sink().write(Buffer.from('a'));
    await out.whenClosed;

    sink().write(Buffer.alloc(64 * 1024));
    const before = [...calls];
    sink().write(Buffer.alloc(1));
    sink().write(Buffer.alloc(1));

    expect(before).not.toContain('abort');
    expect(calls).toEqual(['start', 'resume', 'abort']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('with its beginning still reads the upstream to its end', async () => {
    const { body, sink, calls } = controlledBody();
    const out = recorder();
    pushedReply(body, pipe({ closingIfOver: () => clean }), [Buffer.from('0')]).sendTo(out);

    await out.whenClosed;
    sink().end();

    expect(out.log).toEqual(['0', 'end']);
    expect(calls).toEqual(['start']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('together with its upstream needs no grace period', async () => {
    const { body, sink, calls } = controlledBody();
    const out = recorder();
    pushedReply(body, pipe({ closingIfOver: overAt(1) }), []).sendTo(out);

    sink().write(Buffer.from('a'));
    sink().end();
    await out.whenClosed;

    expect(out.log).toEqual(['a', 'end']);
    expect(calls).not.toContain('abort');
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('an exception', () => {
  it('in the pipe aborts the upstream and ends the reply', async () => {
    const { body, sink, calls } = controlledBody();
    const out = recorder();
    pushedReply(body, pipe({ write: throwing('too large') }), []).sendTo(out);

    sink().write(Buffer.from('a'));
    await out.whenClosed;

    expect(out.log).toEqual(['failed: too large', 'end']);
    expect(calls).toEqual(['start', 'abort']);
  });

  it.each([
    ['over', { closingIfOver: throwing('odd') }],
    ['end', { end: throwing('odd') }],
  ])('in the pipe method %s ends the reply as a failure does', async (_asked, change) => {
    const { body, sink } = controlledBody();
    const out = recorder();
    pushedReply(body, pipe(change), []).sendTo(out);
    if (!out.writableEnded) sink().end();

    await out.whenClosed;

    expect(out.log).toEqual(['failed: odd', 'end']);
  });

  it.each([
    ['the first write', 1],
    ['a later write', 2],
  ])('in %s of a host’s wrapper cuts the reply, as a disconnect does', async (_which, from) => {
    const { body, sink, calls } = controlledBody();
    const log: string[] = [];
    const fail = (): Closing => {
      log.push('failed');
      return { writes: [], cut: true };
    };
    const onDisconnect = (reason: string): 'abort' => {
      log.push(reason);
      return 'abort';
    };
    const { out, closed } = wrapped(from);
    pushedReply(body, pipe({ fail, disconnected: onDisconnect }), [Buffer.from('0')]).sendTo(out);

    if (from > 1) sink().write(Buffer.from('a'));
    await closed;

    expect(log).toEqual(['caller_left']);
    expect(calls).toContain('abort');
    expect(out.writableFinished).toBe(false);
  });

  it('in the last writes of a host’s wrapper cuts the reply', async () => {
    const { body, sink } = controlledBody();
    const { out, closed } = wrapped(2);
    const writes = ['x', 'y', 'z'].map((text) => Buffer.from(text));
    pushedReply(body, pipe({ end: () => ({ writes, cut: false }) }), []).sendTo(out);

    sink().end();
    await closed;

    expect(out.writableFinished).toBe(false);
  });

  it('in the end of a host’s wrapper cuts the reply', async () => {
    const { body, sink } = controlledBody();
    const out = recorder();
    out.end = throwing('host');
    pushedReply(body, pipe(), []).sendTo(out);

    sink().end();
    await out.whenClosed;

    expect(out.log).toEqual([]);
  });
});

/** Reports the end from this call on; 0 is the call before the body starts. */
function overAt(number: number): () => Closing | undefined {
  let requestCount = 0;
  return () => {
    requestCount += 1;
    return requestCount > number ? clean : undefined;
  };
}

function throwing(message: string): () => never {
  return () => {
    throw new Error(message);
  };
}

/** A response whose `write` was replaced by a host, and throws from the given call on. */
function wrapped(from: number): { readonly out: Writable; readonly closed: Promise<void> } {
  const out = new Writable({ write: (_chunk, _encoding, done) => done() });
  const closed = new Promise<void>((resolve) => {
    out.once('close', resolve);
  });
  let written = 0;
  const write = (): boolean => {
    written += 1;
    if (written >= from) throw new Error('host');
    return true;
  };
  return { out: Object.assign(out, { write }), closed };
}
