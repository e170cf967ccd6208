// suite: quick
/** How long an upstream may be silent, before and after its head, by the gateway's one timer. */
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway-options.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import {
  bodyPaused,
  bodyResumed,
  headReceived,
  overdueAction,
  watchProgress as streamOf,
  watchAttempt,
} from '../../../src/upstream/watch-attempt.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import {
  type CallInProgress,
  gatewayInProcess,
  type InProcessGateway,
  untouched,
} from '../../support/gateway-in-process.ts';
import {
  channel,
  completeReply,
  defaultModels,
  headersOf,
  type Kind,
  kinds,
  model,
  replies,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';
import { pass, turns } from '../ports/failing.ts';

const isStream = (kind: Kind): boolean => kind.endsWith('Stream');
const streams = ['chatStream', 'nativeStream'] as const;

/** A running call, and the upstream's side of it. */
interface Underway extends InProcessGateway {
  readonly up: DrivenCall;
  readonly calling: CallInProgress;
}

async function underway(
  kind: Kind,
  setup: { readonly models?: readonly Model[]; readonly options?: Partial<GatewayOptions> } = {},
): Promise<Underway> {
  const harness = gatewayInProcess(setup);
  const calling = harness.start(sampleRequests[kind]);
  return { ...harness, calling, up: await harness.upstream.next() };
}

/** The same, after the upstream has sent this much. */
async function answering(
  kind: Kind,
  text: string,
  setup: Parameters<typeof underway>[1] = {},
): Promise<Underway> {
  const set = await underway(kind, setup);
  set.up.respond(200, headersOf(kind));
  set.up.write(text);
  await turns();
  return set;
}

/** Advances the clock in one step and runs what is due. */
async function later({ clock }: InProcessGateway, ms: number): Promise<void> {
  clock.advance(ms);
  await turns();
}

describe('the timeout for the head', () => {
  it.each(kinds)('ends the call: %s', async (kind) => {
    const set = await underway(kind);
    const waitMs = isStream(kind) ? 120_000 : 300_000;

    await later(set, waitMs - 1_000);
    const reasonBefore = set.up.abortReason;
    await later(set, 1_000);

    expect(reasonBefore).toBeUndefined();
    expect((await set.calling.reply).status).toBe(504);
    expect(await set.nextRecord()).toMatchObject({ outcome: 'unknown', reason: 'headers_timeout' });
    expect(set.up.abortReason).toBe('headers_timeout');
  });

  it('is over once the head has arrived', async () => {
    const set = await underway('chat', { options: { timeouts: { firstByteMs: 5_000 } } });
    await later(set, 4_000);
    set.up.respond(200, headersOf('chat'));
    await later(set, 100_000);

    set.up.write(replies.chat);
    set.up.end();

    expect((await set.calling.reply).status).toBe(200);
  });

  it('of a call that got no socket does not end it: another channel is tried', async () => {
    const brief = channel({ timeouts: { firstByteMs: 5_000 } });
    const other = channel({ id: 'openai-b', priority: 1 });
    const harness = gatewayInProcess({
      models: [model({ channels: [brief, other] })],
      handlers: [(up) => up.dial(), completeReply('chat')],
    });
    const calling = harness.start(sampleRequests.chat);
    await harness.upstream.next();

    await later(harness, 5_000);

    expect((await calling.reply).status).toBe(200);
    expect((await harness.nextRecord()).attempts).toMatchObject([
      { channelId: 'openai-a', reason: 'headers_timeout' },
      { channelId: 'openai-b', reason: undefined },
    ]);
    expect(harness.eventTypes()).toEqual(['channel_changed', 'attempt_ended', 'call_ended']);
  });
});

describe('the timeout for the next chunk', () => {
  it.each(streams)('ends a stream with an error: %s', async (kind) => {
    const set = await answering(kind, streamBeginnings[kind]);
    await later(set, 119_000);
    set.up.write(streamBeginnings[kind]);
    await later(set, 119_000);
    const reasonBefore = set.up.abortReason;

    await later(set, 1_000);

    expect(reasonBefore).toBeUndefined();
    const { text, isCut } = await set.calling.reply;
    expect(text).toContain('did not answer in time');
    expect(isCut).toBe(false);
    expect(await set.nextRecord()).toMatchObject({ outcome: 'broken', reason: 'idle_timeout' });
  });

  it.each([
    'chat',
    'native',
    'image',
  ] as const)('ends a document, of which nobody has seen a byte: %s', async (kind) => {
    const set = await answering(kind, replies[kind].slice(0, -5));

    await later(set, 120_000);

    expect((await set.calling.reply).status).toBe(504);
    expect(await set.nextRecord()).toMatchObject({ reason: 'idle_timeout' });
  });

  it('ends an error response whose body never arrives; its status is known', async () => {
    const set = await underway('chat');
    set.up.respond(400, headersOf('chat'));
    await turns();

    await later(set, 120_000);

    expect((await set.calling.reply).status).toBe(400);
    expect(await set.state()).toEqual(untouched);
  });
});

/** Events without content that keep a stream alive, in each dialect. */
const pings = {
  comment: ': ping\n\n',
  longComment: ': still working on it, please wait for this upstream and its data\n\n',
  anthropic: 'event: ping\ndata: {"type": "ping"}\n\n',
};

describe('the timeout for an event with content', () => {
  it.each([
    ['chatStream', pings.comment],
    ['chatStream', pings.longComment],
    ['nativeStream', pings.comment],
  ] as const)('ends a relayed stream that only pings: %s', async (kind, ping) => {
    const set = await answering(kind, ping);

    for (let minute = 0; minute < 4; minute += 1) await pinged(set, ping);
    const reasonBefore = set.up.abortReason;
    await pinged(set, ping);

    expect(reasonBefore).toBeUndefined();
    const { status, text } = await set.calling.reply;
    expect(text).toContain('did not answer in time');
    // The status line waits for `quietMs` at most.
    expect(status).toBe(200);
    expect(await set.nextRecord()).toMatchObject({ reason: 'silent_stream' });
  });

  it('ends a translated stream that only pings', async () => {
    const { anthropic } = pings;
    const translating = channel({ dialect: 'anthropic' });
    const setup = { models: [model({ channels: [translating] })] };
    const set = await answering('chatStream', anthropic, setup);

    for (let minute = 0; minute < 5; minute += 1) await pinged(set, anthropic);

    expect((await set.calling.reply).text).toContain('did not answer in time');
    expect(await set.nextRecord()).toMatchObject({ reason: 'silent_stream', chargeNanos: 0n });
  });

  it.each(streams)('restarts with every event: %s', async (kind) => {
    const set = await answering(kind, streamBeginnings[kind]);
    for (let minute = 0; minute < 4; minute += 1) await pinged(set, pings.comment);
    set.up.write(streamBeginnings[kind]);
    await turns();

    for (let minute = 0; minute < 4; minute += 1) await pinged(set, pings.comment);
    const reasonBefore = set.up.abortReason;
    for (let minute = 0; minute < 2; minute += 1) await pinged(set, pings.comment);

    expect(reasonBefore).toBeUndefined();
    expect((await set.calling.reply).text).toContain('did not answer in time');
    expect(await set.nextRecord()).toMatchObject({ outcome: 'broken', reason: 'silent_stream' });
  });

  it('does not apply to documents: white space may arrive until the total timeout', async () => {
    const set = await answering('chat', ' ');
    for (let minute = 0; minute < 10; minute += 1) await pinged(set, ' ');

    set.up.write(replies.chat);
    set.up.end();

    expect((await set.calling.reply).status).toBe(200);
  });

  async function pinged(set: Underway, ping: string): Promise<void> {
    await later(set, 60_000);
    set.up.write(ping);
  }
});

it('a channel’s timeouts override the model’s, which override the gateway’s', async () => {
  const silent = async (timeouts: Model['timeouts'], ofChannel: Model['timeouts']) => {
    const set = await answering('chatStream', streamBeginnings.chatStream, {
      options: { timeouts: { connectMs: 1_000, idleMs: 2_000, totalMs: 60_000 } },
      models: [
        model({
          ...(timeouts === undefined ? {} : { timeouts }),
          channels: [channel(ofChannel === undefined ? {} : { timeouts: ofChannel })],
        }),
      ],
    });
    const startedMs = set.clock.monotonicMs();
    while (set.up.abortReason === undefined) await pass(set.clock, 1_000);
    return set.clock.monotonicMs() - startedMs;
  };

  expect(await silent(undefined, undefined)).toBe(2_000);
  expect(await silent({ idleMs: 3_000 }, undefined)).toBe(3_000);
  expect(await silent({ idleMs: 3_000 }, { idleMs: 4_000 })).toBe(4_000);
  expect(await silent({ idleMs: 3_000 }, { connectMs: 1 })).toBe(3_000);
});

it('a call that has ended has no timeouts any more', async () => {
  const harness = gatewayInProcess({ models: defaultModels(), handlers: [completeReply('chat')] });
  await harness.call(sampleRequests.chat);

  await later(harness, 900_000);

  expect(harness.records).toHaveLength(1);
  expect(harness.upstream.calls[0]?.abortReason).toBeUndefined();
});

it('a caller that is always slow does not excuse an upstream that sends nothing', () => {
  const clock = fakeClock();
  let ended: string | undefined;
  const watch = watchAttempt({
    timeouts: { firstByteMs: 1, idleMs: 60_000, firstTokenMs: 10_000, quietMs: 60_000, totalMs: 1 },
    callerStallMs: 60_000,
    clock,
    caller: {
      endAttempt: ({ reason }) => {
        ended = reason;
      },
    },
  });
  headReceived(watch);
  streamOf(watch, () => 0);

  // It is paused for its caller for four seconds of five.
  for (let second = 0; second < 60 && ended === undefined; second += 1) {
    if (second % 5 === 0) bodyResumed(watch);
    clock.advance(1_000);
    overdueAction(watch, clock.monotonicMs())?.();
    if (second % 5 === 0) bodyPaused(watch);
  }

  expect(ended).toBe('silent_stream');
});
