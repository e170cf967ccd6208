// suite: quick
/** How channels cool down, recover and are switched off, as callers and hosts see it. */

import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import type { GatewayEvent } from '../../../src/events/events.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { isFailedAttempt } from '../../support/laws/event-checks.ts';
import {
  channel,
  completeReply,
  headersOf,
  model,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';

const refuses =
  (status: number, headers: Readonly<Record<string, string>> = {}, code?: string): CallHandler =>
  (up) =>
    up.answer(status, { error: { message: 'No.', code } }, headers);
const image = { per: 'image', rows: [{ nanos: 500n }] } as const;

/** Channels a, b, … in this order, for chat and images. */
function channels(
  handlers: readonly CallHandler[],
  ...changes: readonly Partial<Channel>[]
): InProcessGateway {
  return gatewayInProcess({ handlers, models: modelsOf(changes) });
}

function modelsOf(changes: readonly Partial<Channel>[]): NonNullable<GatewaySetup['models']> {
  const list = changes.map((change, priority) => {
    const id = 'abcd'[priority] ?? '';
    return channel({ id, priority, baseUrl: `https://${id}.example/v1`, ...change });
  });
  return [
    model({ channels: list }),
    model({ id: 'image', protocols: ['images'], price: image, channels: list }),
  ];
}

/** The channels that calls were sent to so far. */
function calledChannels({ upstream }: InProcessGateway): string {
  return upstream.calls.map(({ request }) => request.origin.slice(8, 9)).join('');
}

function eventsOf<T extends GatewayEvent['type']>(
  { events }: InProcessGateway,
  type: T,
): readonly Extract<GatewayEvent, { readonly type: T }>[] {
  const isOne = (event: GatewayEvent): event is Extract<GatewayEvent, { readonly type: T }> =>
    event.type === type;
  return events.filter(isOne);
}

describe('a channel that asks for a pause', () => {
  it('cools down, and the next calls use other channels meanwhile', async () => {
    const good = completeReply('chat');
    const harness = channels([refuses(429, { 'retry-after': '20' }), good, good, good], {}, {});

    await harness.call(sampleRequests.chat);
    await harness.call(sampleRequests.chat);
    harness.clock.advance(20_000);
    await harness.call(sampleRequests.chat);

    expect(calledChannels(harness)).toBe('abba');
    expect(eventsOf(harness, 'channel_changed').map(({ state }) => state)).toEqual([
      'cooling_down',
      'ready',
    ]);
  });

  it.each([
    302, 405, 409, 418, 451,
  ])('that returns %i is used for no more than five calls', async (status) => {
    const odd = refuses(status);
    const good = completeReply('chat');
    const handlers = [...Array.from({ length: 5 }, () => [odd, good]).flat(), good];
    const harness = channels(handlers, {}, {});

    for (let made = 0; made < 6; made += 1)
      expect((await harness.call(sampleRequests.chat)).status).toBe(200);

    expect(calledChannels(harness)).toBe('ababababab' + 'b');
    expect(eventsOf(harness, 'channel_changed').map(({ state }) => state)).toEqual(['open']);
  });

  it('is still used if it is the last one, and its own error is passed on', async () => {
    const limited = refuses(429, { 'retry-after': '20' });
    const harness = channels([limited, limited], {});

    await harness.call(sampleRequests.chat);
    const { status, headers } = await harness.call(sampleRequests.chat);

    expect([status, headers['retry-after']]).toEqual([429, '20']);
    expect(calledChannels(harness)).toBe('aa');
  });

  it('is reported in preference to another channel’s failure', async () => {
    const harness = channels(
      [refuses(429, { 'retry-after': '7' }), (up) => up.breakOff('dns', { stage: 'connect' })],
      {},
      {},
    );

    const { status, headers } = await harness.call(sampleRequests.chat);

    expect([status, headers['retry-after']]).toEqual([429, '7']);
    expect((await harness.nextRecord()).attempts).toMatchObject([
      { channelId: 'a', status: 429, mayHaveRun: false },
      { channelId: 'b', reason: 'dns', mayHaveRun: false },
    ]);
    expect(harness.events.filter(isFailedAttempt).map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('cools down for an hour when its own quota is used up, even as the last one', async () => {
    const harness = channels([refuses(429, { 'retry-after': '1' }, 'insufficient_quota')], {});

    await harness.call(sampleRequests.chat);
    const { status, headers } = await harness.call(sampleRequests.chat);

    expect([status, headers['retry-after']]).toEqual([503, '3600']);
    expect(calledChannels(harness)).toBe('a');
  });
});

describe('no available accounts', () => {
  it('tells the caller when to come back, and the host why', async () => {
    const harness = channels([refuses(402), refuses(402)], {}, {});
    await harness.call(sampleRequests.chat);
    harness.clock.advance(60_000);
    await harness.nextRecord();

    const { status, headers, text } = await harness.call(sampleRequests.chat);

    expect([status, headers['retry-after']]).toEqual([503, '3540']);
    expect(JSON.parse(text).error.message).toBe('No available Acme accounts');
    expect(await harness.nextRecord()).toMatchObject({
      reason: 'cooling_down',
      outcome: 'not_run',
    });
    expect(eventsOf(harness, 'no_channel')).toMatchObject([
      { reason: 'cooling_down', retryAfterMs: 3_540_000 },
    ]);
  });

  it.each<[string, Partial<Channel>]>([
    ['none_configured', { weight: 0 }],
    ['group_restriction', { groups: ['others'] }],
    ['price_restriction', { maxPriceNanos: 1n }],
  ])('has a reason that only event and record show: %s', async (reason, change) => {
    const harness = channels([], change);

    const { status, text } = await harness.call(sampleRequests.chat);

    expect([status, JSON.parse(text).error.message]).toEqual([503, 'No available Acme accounts']);
    expect(await harness.nextRecord()).toMatchObject({ reason });
    expect(eventsOf(harness, 'no_channel')).toMatchObject([{ reason }]);
  });
});

describe('a channel whose credential is not accepted', () => {
  it('is out until the host provides another catalog', async () => {
    const harness = channels([refuses(401), completeReply('chat')], {});
    const first = await harness.call(sampleRequests.chat);
    const second = await harness.call(sampleRequests.chat);

    harness.gateway.update({ catalog: staticCatalog(modelsOf([{}])) });
    const third = await harness.call(sampleRequests.chat);

    expect([first.status, second.status, third.status]).toEqual([502, 503, 200]);
    expect(eventsOf(harness, 'channel_changed')).toMatchObject([
      { channelId: 'a', state: 'refused', reason: 'upstream_auth_error', untilMs: undefined },
      { channelId: 'a', state: 'ready' },
    ]);
  });

  it('is back with another credential', async () => {
    const harness = channels([refuses(401), completeReply('chat')], {});
    await harness.call(sampleRequests.chat);

    harness.gateway.update({
      catalog: { ...staticCatalog(modelsOf([{ credential: 'new' }])) },
    });

    expect((await harness.call(sampleRequests.chat)).status).toBe(200);
    expect(harness.gateway.channels()).toMatchObject([{ channelId: 'a', state: 'ready' }]);
  });
});

describe('a channel that fails five times in a row', () => {
  const fails = refuses(500);

  it('is out for half a minute, and then one trial call is sent to it', async () => {
    const good = completeReply('chat');
    const harness = channels([...Array(5).fill([fails, good]).flat(), good, good, good], {}, {});
    for (let count = 0; count < 6; count += 1) await harness.call(sampleRequests.chat);
    expect(calledChannels(harness)).toBe('abababababb');

    harness.clock.advance(30_000);
    await harness.call(sampleRequests.chat);
    await harness.call(sampleRequests.chat);

    expect(calledChannels(harness)).toBe('abababababbaa');
    expect(eventsOf(harness, 'channel_changed').map(({ state }) => state)).toEqual([
      'open',
      'half_open',
      'ready',
    ]);
  });

  it('is also out if it fails in the middle of streams', async () => {
    const breaks: CallHandler = (up) => {
      up.respond(200, headersOf('chatStream'));
      up.write(streamBeginnings.chatStream);
      up.breakOff('reset');
    };
    const harness = channels(
      [breaks, breaks, breaks, breaks, breaks, completeReply('chatStream')],
      {},
      {},
    );

    for (let count = 0; count < 6; count += 1) await harness.call(sampleRequests.chatStream);

    expect(calledChannels(harness)).toBe('aaaaab');
  });

  it('does not count callers that disconnect or send bad requests', async () => {
    const harness = channels(Array(9).fill(refuses(400)), {}, {});
    for (let count = 0; count < 6; count += 1) await harness.call(sampleRequests.chat);
    for (let count = 0; count < 6; count += 1) {
      const calling = harness.start(sampleRequests.chat);
      if (count > 2) await harness.upstream.next();
      await turn();
      calling.disconnect();
      await calling.reply;
    }

    expect(calledChannels(harness)).toMatch(/^a+$/);
    expect(harness.gateway.channels()).toMatchObject([{ state: 'ready', models: [] }]);
  });
});

describe('a host', () => {
  it('switches a channel off and on', async () => {
    const harness = channels([completeReply('chat')], {});

    harness.gateway.disableChannel('a');
    const off = await harness.call(sampleRequests.chat);
    harness.gateway.enableChannel('a');
    const on = await harness.call(sampleRequests.chat);

    expect([off.status, on.status]).toEqual([503, 200]);
    expect(await harness.nextRecord()).toMatchObject({ reason: 'switched_off' });
    expect(eventsOf(harness, 'channel_changed').map(({ state }) => state)).toEqual([
      'off',
      'ready',
    ]);
  });

  it('reads how many calls run through a channel, until each is over', async () => {
    const harness = channels([], {});
    const inFlight = (): number | undefined => harness.gateway.channels()[0]?.inFlight;
    const stream = harness.start(sampleRequests.chatStream);
    const up = await harness.upstream.next();
    up.respond(200, headersOf('chatStream'));
    up.write(streamBeginnings.chatStream);
    await stream.firstBytes;
    const leaver = harness.start(sampleRequests.chat);
    await harness.upstream.next();
    expect(inFlight()).toBe(2);

    leaver.disconnect();
    await leaver.reply;
    expect(inFlight()).toBe(1);
    up.write('data: [DONE]\n\n');
    up.end();
    await stream.reply;

    expect(inFlight()).toBe(0);
  });
});

describe('a limit of concurrent calls', () => {
  it('sends further calls to other channels, and then refuses them', async () => {
    const harness = channels([], { maxConcurrentCalls: 1 }, { maxConcurrentCalls: 1 });
    const running = [harness.start(sampleRequests.chat), harness.start(sampleRequests.chat)];
    const ups = [await harness.upstream.next(), await harness.upstream.next()];

    const { status, headers } = await harness.call(sampleRequests.chat);

    expect(calledChannels(harness)).toBe('ab');
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(await harness.nextRecord()).toMatchObject({ reason: 'busy' });
    for (const up of ups) completeReply('chat')(up);
    for (const { reply } of running) expect((await reply).status).toBe(200);
  });

  it('counts an image whose caller disconnected until the image is done', async () => {
    const harness = channels([], { maxConcurrentCalls: 1 });
    const calling = harness.start(sampleRequests.image);
    const up = await harness.upstream.next();

    calling.disconnect();
    await turn();
    expect((await harness.call(sampleRequests.image)).status).toBe(503);
    completeReply('image')(up);
    await harness.nextRecord();
    await harness.nextRecord();

    expect(harness.gateway.channels()).toMatchObject([{ inFlight: 0 }]);
  });
});

describe('an image', () => {
  it('is tried on another channel after a 503 that precedes any work', async () => {
    const harness = channels(
      [refuses(503), completeReply('image')],
      { rejectsBeforeWork: true },
      {},
    );

    const { status } = await harness.call(sampleRequests.image);

    expect([status, calledChannels(harness)]).toEqual([200, 'ab']);
  });

  it('is not tried on another channel after any other 503', async () => {
    const harness = channels([refuses(503), completeReply('image')], {}, {});

    const { status, headers } = await harness.call(sampleRequests.image);

    expect([status, headers['x-should-retry'], calledChannels(harness)]).toEqual([
      502,
      'false',
      'a',
    ]);
    expect(await harness.nextRecord()).toMatchObject({
      outcome: 'unknown',
      attempts: [{ mayHaveRun: true }],
    });
  });
});

it('when an upstream starts to fail, only some of its calls are retried elsewhere', async () => {
  const harness = channels([], {}, {});
  const calling = Array.from({ length: 10 }, () => harness.start(sampleRequests.chat));
  const ups = [];
  for (const _ of calling) ups.push(await harness.upstream.next());

  for (const up of ups) refuses(500)(up);
  const retried = [
    await harness.upstream.next(),
    await harness.upstream.next(),
    await harness.upstream.next(),
  ];
  for (const up of retried) completeReply('chat')(up);

  const statuses = await Promise.all(calling.map(async ({ reply }) => (await reply).status));
  expect(statuses.sort()).toEqual([200, 200, 200, ...Array(7).fill(502)]);
});

it.each([
  10, 100,
])('all of %i calls that certainly did not run are tried on another channel', async (count) => {
  const harness = channels([], {}, {});
  const calling = Array.from({ length: count }, () => harness.start(sampleRequests.chat));
  const ups = [];
  for (const _ of calling) ups.push(await harness.upstream.next());

  for (const up of ups) up.breakOff('connect_refused', { stage: 'connect' });
  for (const _ of calling) completeReply('chat')(await harness.upstream.next());

  const statuses = await Promise.all(calling.map(async ({ reply }) => (await reply).status));
  expect(statuses).toEqual(Array(count).fill(200));
});
