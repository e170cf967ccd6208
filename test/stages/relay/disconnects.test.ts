// suite: quick
/**
 * Callers that disconnect, at every stage and on every protocol: the call is ended exactly once.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { gate } from '../../../src/testing/providers/scripts.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import { gatewayInProcess, requestOf, untouched } from '../../support/gateway-in-process.ts';
import {
  headersOf,
  heldNanos,
  kinds,
  replies,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';

const cheap = kinds.filter((kind) => kind !== 'image');
/** 0.25 tokens per byte, at most what was held for the prompt. */
const promptNanos = Object.fromEntries(
  kinds.map((kind) => [kind, kind.startsWith('native') ? 10n : 11n]),
);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a caller that disconnects', () => {
  it.each(kinds)('before anything is sent is charged nothing: %s', async (kind) => {
    const received = gate();
    const answered = gate();
    const plain = gatewayInProcess();
    const slow = gatewayInProcess({
      options: {
        quota: {
          ...plain.quota,
          reserve: async (input) => {
            received.open();
            await answered.opened;
            return plain.quota.reserve(input);
          },
        },
      },
    });

    const calling = slow.start(sampleRequests[kind]);
    await received.opened;
    calling.disconnect();
    answered.open();
    await calling.reply;

    expect(await slow.nextRecord()).toMatchObject({
      status: 499,
      outcome: 'not_run',
      reason: 'caller_left',
      chargeNanos: 0n,
      attempts: [],
    });
    expect(slow.upstream.calls).toEqual([]);
    expect(await plain.state()).toEqual(untouched);
  });

  it.each(cheap)('while a channel is connecting is charged nothing: %s', async (kind) => {
    const { start, upstream, nextRecord, state } = gatewayInProcess({
      handlers: [(up) => up.dial()],
    });

    const calling = start(sampleRequests[kind]);
    await upstream.next();
    calling.disconnect();
    await calling.reply;

    expect(await nextRecord()).toMatchObject({ status: 499, outcome: 'not_run', chargeNanos: 0n });
    expect(await state()).toEqual(untouched);
  });

  it('in the turn in which a stream began is not a broken stream', async () => {
    const result = gate();
    const { start, nextRecord } = gatewayInProcess({
      handlers: [
        (up) => {
          up.respond(200, headersOf('chatStream'));
          up.write(streamBeginnings.chatStream);
          result.open();
        },
      ],
    });

    const calling = start(sampleRequests.chatStream);
    await result.opened;
    calling.disconnect();
    await calling.reply;

    expect(await nextRecord()).toMatchObject({ status: 499, outcome: 'caller_left' });
  });

  it('between the head and the first event of a stream is charged for the prompt', async () => {
    const headed = gate();
    const { start, nextRecord, upstream } = gatewayInProcess({
      handlers: [
        (up) => {
          up.respond(200, headersOf('chatStream'));
          headed.open();
        },
      ],
    });

    const calling = start(sampleRequests.chatStream);
    await headed.opened;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    calling.disconnect();
    await calling.reply;

    const record = await nextRecord();
    expect(record).toMatchObject({ status: 499, outcome: 'caller_left', basis: 'estimate' });
    expect(record.chargeNanos).toBe(heldNanos.chatStream - 200n);
    expect(upstream.calls[0]?.abortReason).toBeDefined();
  });

  it.each(
    cheap,
  )('before the headers aborts the upstream, and is charged for the prompt: %s', async (kind) => {
    const { start, upstream, nextRecord, state, eventTypes } = gatewayInProcess();

    const calling = start(sampleRequests[kind]);
    const up = await upstream.next();
    calling.disconnect();

    expect(up.abortReason).toBe('caller_left');
    expect(await nextRecord()).toMatchObject({
      status: 499,
      outcome: 'caller_left',
      reason: 'caller_left',
      basis: 'estimate',
      chargeNanos: promptNanos[kind],
      attempts: [{ reason: 'caller_left' }],
    });
    expect(await state()).toEqual({ held: 0n, used: promptNanos[kind], inFlight: 0 });
    expect(eventTypes()).toEqual(['call_ended']);
    expect(upstream.calls).toHaveLength(1);
  });

  it.each([
    'chatStream',
    'nativeStream',
  ] as const)('mid-stream aborts the upstream and pays for what came: %s', async (kind) => {
    const { start, upstream, nextRecord, state } = gatewayInProcess();

    const calling = start(sampleRequests[kind]);
    const up = await upstream.next();
    up.respond(200, headersOf(kind));
    up.write(streamBeginnings[kind]);
    await calling.firstBytes;
    calling.disconnect();
    await calling.reply;
    expect(up.abortReason).toBeUndefined();
    // Its usage may still arrive in this time.
    await vi.advanceTimersByTimeAsync(2_000);

    expect(up.abortReason).toBe('aborted');
    const record = await nextRecord();
    // Gemini reports usage with every event: 10 and 5 tokens. OpenAI's tokens are counted.
    const charge = kind === 'nativeStream' ? 20n : 11n + 4n;
    expect(record).toMatchObject({ status: 499, outcome: 'caller_left', chargeNanos: charge });
    expect(record.basis).toBe(kind === 'nativeStream' ? 'usage' : 'counted');
    expect(await state()).toEqual({ held: 0n, used: charge, inFlight: 0 });
  });
});

describe('an image whose caller disconnects', () => {
  it('before the call is sent is not bought', async () => {
    const { gateway, upstream, state } = gatewayInProcess();

    const { status } = await gateway.handle({
      ...requestOf(sampleRequests.image, []),
      // As adapters report a response that is closed already.
      onClose: (listener) => queueMicrotask(listener),
    });

    expect(status).toBe(500);
    expect(upstream.calls).toEqual([]);
    expect(await state()).toEqual(untouched);
  });

  const moments: readonly (readonly [string, CallHandler])[] = [
    ['before the headers', () => {}],
    ['after the headers', (up) => up.respond(200, headersOf('image'))],
  ];

  it.each(
    moments,
  )('%s runs to its end, is charged, and keeps its call slot', async (_moment, handler) => {
    const { start, call, upstream, nextRecord, state } = gatewayInProcess({
      handlers: [handler],
      options: { maxConcurrentCalls: 1 },
    });

    const calling = start(sampleRequests.image);
    const up = await upstream.next();
    calling.disconnect();
    expect(up.abortReason).toBeUndefined();
    expect((await call(sampleRequests.chat)).status).toBe(503);
    expect(await state()).toEqual({ held: heldNanos.image, used: 0n, inFlight: 1 });
    up.answer(200, replies.image);

    expect(await nextRecord()).toMatchObject({ outcome: 'complete', chargeNanos: 500n });
    expect(await state()).toEqual({ held: 0n, used: 500n, inFlight: 0 });
    await calling.reply;
    expect((await call({ ...sampleRequests.chat, body: {} })).status).toBe(400);
  });

  it('in the middle of a large reply is charged when the rest has arrived', async () => {
    const { start, upstream, nextRecord, state } = gatewayInProcess();
    const picture = 'A'.repeat(100_000);

    const calling = start(sampleRequests.image);
    const up = await upstream.next();
    up.respond(200, headersOf('image'));
    up.write(`{"created":1,"data":[{"b64_json":"${picture}`);
    await calling.firstBytes;
    calling.disconnect();
    await calling.reply;
    expect(up.abortReason).toBeUndefined();
    up.write('AAAA"}]}');
    up.end();

    expect(await nextRecord()).toMatchObject({ outcome: 'complete', chargeNanos: 500n });
    expect(await state()).toEqual({ held: 0n, used: 500n, inFlight: 0 });
  });
});

it('a settled reply is not ended again by a caller that disconnects afterwards', async () => {
  const { start, nextRecord, records, state } = gatewayInProcess({
    handlers: [(up) => up.answer(200, replies.chatStream, headersOf('chatStream'))],
  });

  const calling = start(sampleRequests.chatStream);
  await calling.reply;
  await nextRecord();
  calling.disconnect();

  expect(records).toHaveLength(1);
  expect(await state()).toEqual({ held: 0n, used: 20n, inFlight: 0 });
});
