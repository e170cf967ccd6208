// suite: quick
/**
 * The charge of a caller that disconnects: a stream is read on for its usage, a prompt is paid for,
 * and an account that keeps its callers waiting is not.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { freeDisconnects } from '../../../src/stages/relay/free-disconnects.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { headReceived, watchAttempt } from '../../../src/upstream/watch-attempt.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import { channel, chat, events, model, sampleRequests } from '../../support/models.ts';

const stream = { 'content-type': 'text/event-stream' };
const text = (content: string) => events({ choices: [{ index: 0, delta: { content } }] });
const finish = events({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const usage = (prompt: number, completion: number) =>
  events({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a stream whose caller has disconnected', () => {
  const onDisconnect = async (): Promise<{
    readonly set: InProcessGateway;
    readonly up: DrivenCall;
  }> => {
    const harness = gatewayInProcess();
    const calling = harness.start(sampleRequests.chatStream);
    const up = await harness.upstream.next();
    up.respond(200, stream);
    up.write(text('Once'));
    await calling.firstBytes;
    calling.disconnect();
    await calling.reply;
    return { set: harness, up };
  };

  it('is charged the usage that comes within 2 s', async () => {
    const { set: harness, up } = await onDisconnect();
    await vi.advanceTimersByTimeAsync(1_900);
    up.write(finish + usage(10, 70) + events('[DONE]'));
    await turn();

    expect(await harness.nextRecord()).toMatchObject({
      status: 499,
      outcome: 'caller_left',
      basis: 'usage',
      chargeNanos: 10n + 140n,
    });
  });

  it('is aborted after 2 s, and charged for what arrived', async () => {
    const { set: harness, up } = await onDisconnect();
    up.write(text('upon'));
    await turn();
    expect(up.abortReason).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2_000);

    expect(up.abortReason).toBe('aborted');
    expect(await harness.nextRecord()).toMatchObject({ basis: 'counted', chargeNanos: 11n + 8n });
  });

  it('is aborted after 64 KiB', async () => {
    const { set: harness, up } = await onDisconnect();
    for (let at = 0; at < 9; at += 1) {
      up.write(text('x'.repeat(8_192)));
      await turn();
    }

    expect(up.abortReason).toBe('aborted');
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'caller_left' });
  });

  it('is settled if its upstream breaks off meanwhile, and nothing stays held', async () => {
    const { set: harness, up } = await onDisconnect();
    up.breakOff('reset');

    expect(await harness.nextRecord()).toMatchObject({ status: 499, outcome: 'caller_left' });
    expect(await harness.state()).toMatchObject({ held: 0n, inFlight: 0 });
  });
});

describe('a caller that disconnects before the status line', () => {
  const leaveAfter = async (harness: InProcessGateway, seconds: number): Promise<bigint> => {
    const calling = harness.start(sampleRequests.chat);
    await harness.upstream.next();
    harness.clock.advance(seconds * 1_000);
    calling.disconnect();
    await calling.reply;
    return (await harness.nextRecord()).chargeNanos;
  };

  it('pays for the prompt, but nothing if the account was silent for 10 s', async () => {
    expect(await leaveAfter(gatewayInProcess(), 9)).toBe(11n);
    expect(await leaveAfter(gatewayInProcess(), 10)).toBe(0n);
  });

  it('pays nothing for a silent account three times an hour, counted for each key', () => {
    const clock = fakeClock();
    const tracker = freeDisconnects(clock);
    const waits = { firstByteMs: 1, idleMs: 1, firstTokenMs: 1, quietMs: 1, totalMs: 1 };
    const deps = { timeouts: waits, callerStallMs: 1, clock, caller: { endAttempt: () => {} } };
    const attempt = watchAttempt(deps, tracker.lastActivity('a'));
    const leave = (key: string) => tracker.isFree(key, { watch: attempt, attemptCount: 1 });

    expect(leave('one')).toBe(false);
    clock.advance(10_000);
    expect(Array.from({ length: 5 }, () => leave('one'))).toEqual([true, true, true, false, false]);
    expect(leave('two')).toBe(true);
    clock.advance(3_600_000);
    expect(leave('one')).toBe(true);
    headReceived(watchAttempt(deps, tracker.lastActivity('a')));
    expect(leave('one')).toBe(false);
    expect(tracker.isFree('one', { watch: attempt, attemptCount: 2 })).toBe(true);
  });

  it('pays if the account sent something to another call meanwhile', async () => {
    const harness = gatewayInProcess();
    const calling = harness.start(sampleRequests.chat);
    await harness.upstream.next();
    harness.clock.advance(8_000);
    const other = harness.start(sampleRequests.chatStream);
    const up = await harness.upstream.next();
    up.respond(200, stream);
    up.write(text('Once'));
    await other.firstBytes;
    harness.clock.advance(4_000);
    calling.disconnect();
    await calling.reply;

    expect(await harness.nextRecord()).toMatchObject({ status: 499, chargeNanos: 11n });
    other.disconnect();
  });

  it('pays nothing after the status line if nothing arrived for 10 s', async () => {
    for (const [seconds, nanos] of [
      [16, 0n],
      [23, 0n],
    ] as const) {
      const harness = gatewayInProcess();
      const calling = harness.start(sampleRequests.chatStream);
      const up = await harness.upstream.next();
      up.respond(200, stream);
      for (let second = 0; second < seconds; second += 1) {
        harness.clock.advance(1_000);
        await turn();
      }
      await calling.firstBytes;
      calling.disconnect();
      await calling.reply;
      await vi.advanceTimersByTimeAsync(2_000);

      expect(await harness.nextRecord()).toMatchObject({ status: 499, chargeNanos: nanos });
    }
  });

  it('pays nothing if another channel had failed before', async () => {
    const channels = ['a', 'b'].map((id, at) => channel({ id, priority: -at }));
    const harness = gatewayInProcess({ models: [model({ channels })] });
    const calling = harness.start(sampleRequests.chat);
    (await harness.upstream.next()).answer(500, { error: { message: 'down' } });
    await harness.upstream.next();
    calling.disconnect();
    await calling.reply;

    expect(await harness.nextRecord()).toMatchObject({ status: 499, chargeNanos: 0n });
  });
});

describe('usage of a stream', () => {
  const charge = async (...pieces: readonly string[]): Promise<bigint> => {
    const harness = gatewayInProcess();
    const calling = harness.start(sampleRequests.chatStream);
    const up = await harness.upstream.next();
    up.respond(200, stream);
    for (const piece of pieces) {
      up.write(piece);
      await turn();
    }
    up.end();
    await calling.reply;
    return (await harness.nextRecord()).chargeNanos;
  };
  const long = text('x'.repeat(50));

  it.each([
    ['that come last count', 30n, [long, finish, usage(10, 10), events('[DONE]')]],
    ['all zero after others are ignored', 30n, [long, finish, usage(10, 10), usage(0, 0)]],
    ['before what was made are a floor', 10n + 40n, [usage(10, 0), long, long.slice(0, 9)]],
    ['in the midst are one, too', 10n + 40n + 2n * 20n, [long, usage(10, 20), long]],
  ])('%s, however the stream is chunked', async (_, nanos, pieces) => {
    expect(await charge(...pieces)).toBe(nanos);
    expect(await charge(pieces.join(''))).toBe(nanos);
    expect(await charge(...pieces.join(''))).toBe(nanos);
  });

  it('inside an error counts, however the stream is chunked', async () => {
    const error = events({
      error: { code: 400, message: 'Provider failed.' },
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
      usage: { prompt_tokens: 10, completion_tokens: 12 },
    });
    for (const pieces of [[long, error], [long + error], [...(long + error)]]) {
      expect(await charge(...pieces)).toBe(10n + 24n);
    }
    // A reply without content costs nothing.
    expect(await charge(error)).toBe(0n);
  });

  it('of a finished stream makes it complete although its connection breaks', async () => {
    const harness = gatewayInProcess();
    const calling = harness.start(chat({ stream: true, stream_options: { include_usage: true } }));
    const up = await harness.upstream.next();
    up.respond(200, stream);
    up.write(text('Once') + finish + usage(10, 5));
    up.breakOff('reset');

    expect((await calling.reply).text).not.toContain('error');
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'complete', chargeNanos: 20n });
  });
});

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
