// suite: quick
/** Streams that break off: what the caller reads, and what it is charged. */
import { describe, expect, it } from 'vitest';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import { chat, events, headersOf, sampleRequests, streamBeginnings } from '../../support/models.ts';

type Streamed = 'chatStream' | 'nativeStream';
const streamed: readonly Streamed[] = ['chatStream', 'nativeStream'];

interface Row {
  readonly fault: string;
  readonly happens: (up: DrivenCall, harness: InProcessGateway) => void;
  readonly outcome: string;
  readonly reason: string;
  readonly status: number;
  readonly sentence: RegExp;
}

const rows: readonly Row[] = [
  {
    fault: 'an end without a final event',
    happens: (up) => up.end(),
    outcome: 'broken',
    reason: 'upstream_stream_truncated',
    status: 502,
    sentence: /upstream failed/,
  },
  {
    fault: 'a reset',
    happens: (up) => up.breakOff('reset'),
    outcome: 'broken',
    reason: 'reset',
    status: 502,
    sentence: /upstream failed/,
  },
  {
    fault: 'a silence',
    happens: (up) => up.breakOff('idle_timeout', { timedOut: true }),
    outcome: 'broken',
    reason: 'idle_timeout',
    status: 504,
    sentence: /did not answer in time/,
  },
  {
    fault: 'an error event',
    happens: (up) => up.write(events({ error: { code: 500, message: 'secret', type: 'x' } })),
    outcome: 'broken',
    reason: 'upstream_error',
    status: 502,
    sentence: /upstream failed/,
  },
  {
    fault: 'the total timeout',
    happens: (_up, { clock }) => clock.advance(900_000),
    outcome: 'cut',
    reason: 'total_timeout',
    status: 504,
    sentence: /did not answer in time/,
  },
  {
    fault: 'a shutdown',
    happens: (_up, { gateway, clock }) => {
      void gateway.close({ drainMs: 1 });
      clock.advance(1);
    },
    outcome: 'cut',
    reason: 'draining',
    status: 503,
    sentence: /shutting down/,
  },
];

describe.each(rows)('$fault', ({ happens, outcome, reason, status, sentence }) => {
  it.each(streamed)('%s', async (kind) => {
    const harness = gatewayInProcess();
    const calling = harness.start(sampleRequests[kind]);
    const up = await harness.upstream.next();
    up.respond(200, headersOf(kind));
    up.write(streamBeginnings[kind]);
    await calling.firstBytes;

    happens(up, harness);
    const reply = await calling.reply;

    const { error } = lastError(reply.text);
    expect(reply.isCut).toBe(false);
    expect(reply.text.startsWith(streamBeginnings[kind].slice(0, 20))).toBe(true);
    expect(error.message).toMatch(sentence);
    if (kind === 'nativeStream') expect(error.code).toBe(status);
    const charge = kind === 'nativeStream' ? 20n : 11n + 4n;
    const basis = kind === 'nativeStream' ? 'usage' : 'counted';
    expect(await harness.nextRecord()).toMatchObject({
      status: 200,
      outcome,
      reason,
      basis,
      chargeNanos: charge,
    });
    expect(await harness.state()).toEqual({ held: 0n, used: charge, inFlight: 0 });
    expect(harness.records).toHaveLength(1);
  });
});

it('the total timeout ends a call that has no headers yet, without a charge', async () => {
  const { start, upstream, clock, nextRecord, state } = gatewayInProcess();

  const calling = start(sampleRequests.chat);
  await upstream.next();
  clock.advance(900_000);

  expect((await calling.reply).status).toBe(504);
  expect(await nextRecord()).toMatchObject({
    outcome: 'unknown',
    reason: 'total_timeout',
    chargeNanos: 0n,
  });
  expect(await state()).toEqual({ held: 0n, used: 0n, inFlight: 0 });
  expect(upstream.calls).toHaveLength(1);
});

it('an image that times out stays in doubt, and its caller is told to check', async () => {
  const { start, upstream, clock, nextRecord, state } = gatewayInProcess();

  const calling = start(sampleRequests.image);
  await upstream.next();
  clock.advance(900_000);
  const reply = await calling.reply;

  expect(reply.status).toBe(504);
  expect(reply.text).toContain('may have been made');
  expect(await nextRecord()).toMatchObject({ outcome: 'unknown', reason: 'total_timeout' });
  expect(await state()).toEqual({ held: 500n, used: 0n, inFlight: 0 });
});

it('a large document that breaks off is cut, never ended', async () => {
  const { start, upstream, nextRecord, state } = gatewayInProcess();

  const calling = start(sampleRequests.chat);
  const up = await upstream.next();
  up.respond(200, headersOf('chat'));
  up.write(`{"choices":[{"message":{"content":"${'x'.repeat(70_000)}`);
  await calling.firstBytes;
  up.breakOff('reset');
  const reply = await calling.reply;

  expect(reply.isCut).toBe(true);
  // By its bytes it would cost more than was held: the hold caps the charge.
  expect(await nextRecord()).toMatchObject({ outcome: 'broken', chargeNanos: 211n });
  expect(await state()).toEqual({ held: 0n, used: 211n, inFlight: 0 });
});

describe('a stream without a stated maximum', () => {
  const held = 11n + 2n * 16_384n;
  const request = chat({ model: 'open', stream: true });
  /** Some 13,000 counted tokens: 80 % of the hold. */
  const long = events({ choices: [{ index: 0, delta: { content: 'x'.repeat(40_000) } }] });

  async function running(limitNanos: bigint): Promise<{
    set: InProcessGateway;
    up: DrivenCall;
    calling: ReturnType<InProcessGateway['start']>;
  }> {
    const harness = gatewayInProcess({
      key: { quota: [{ id: 'caller', period: 'total', limitNanos }] },
    });
    const calling = harness.start(request);
    const up = await harness.upstream.next();
    up.respond(200, headersOf('chatStream'));
    up.write(streamBeginnings.chatStream);
    await calling.firstBytes;
    up.write(long);
    return { set: harness, up, calling };
  }

  it('grows its hold by the initial amount as soon as 60 % is used', async () => {
    const { set: harness, up, calling } = await running(10n * held);
    await turn();

    expect((await harness.state()).held).toBe(2n * held);
    up.write('data: [DONE]\n\n');
    await calling.reply;

    const { heldNanos, chargeNanos } = await harness.nextRecord();
    expect(heldNanos).toBe(2n * held);
    expect(chargeNanos).toBeGreaterThan((held * 6n) / 10n);
    expect(await harness.state()).toEqual({ held: 0n, used: chargeNanos, inFlight: 0 });
  });

  it('that may not grow its hold uses it up, then is cut and charged', async () => {
    const { set: harness, up, calling } = await running(held);
    await turn();
    harness.clock.advance(10_000);
    await turn();
    harness.clock.advance(1_000);
    expect(up.abortReason).toBeUndefined();

    up.write(long);
    await turn();
    harness.clock.advance(1_000);
    const reply = await calling.reply;

    expect(up.abortReason).toBe('hold_used_up');
    expect(lastError(reply.text).error.message).toMatch(/quota of this key ran out/);
    expect(await harness.nextRecord()).toMatchObject({
      outcome: 'cut',
      reason: 'hold_used_up',
      chargeNanos: held,
    });
    expect(await harness.state()).toEqual({ held: 0n, used: held, inFlight: 0 });
  });

  it('is never cut for its hold if the caller states a maximum', async () => {
    const limitNanos = 11n + 2n * 100n;
    const harness = gatewayInProcess({
      key: { quota: [{ id: 'caller', period: 'total', limitNanos }] },
    });
    const calling = harness.start(chat({ model: 'open', stream: true, max_tokens: 100 }));
    const up = await harness.upstream.next();
    up.respond(200, headersOf('chatStream'));
    up.write(streamBeginnings.chatStream);
    await calling.firstBytes;
    up.write(long);
    await turn();

    harness.clock.advance(60_000);
    await turn();
    harness.clock.advance(1_000);
    up.write('data: [DONE]\n\n');
    await calling.reply;

    expect(await harness.nextRecord()).toMatchObject({
      outcome: 'complete',
      heldNanos: limitNanos,
    });
  });
});

/** One turn of the event loop, in which everything that was pushed is passed on. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The error that ends the text: as an event, or unframed, as Google's clients get it. */
function lastError(text: string): { error: { message: string; code: unknown } } {
  return JSON.parse(text.slice(text.lastIndexOf('{"error"')).trim());
}
