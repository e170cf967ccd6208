/** How channels cool down, recover and are switched off, as callers and hosts see it. */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { GatewayEvent } from '../../src/events.ts';
import type { Channel } from '../../src/ports/catalog.ts';
import { staticCatalog } from '../../src/stores/memory/catalog.ts';
import type { Play } from './driven-upstream.ts';
import { type Scene, type SceneSetup, scene } from './scene.ts';
import { ask, begun, channel, chat, headersOf, model, whole } from './scene-models.ts';

const refuses =
  (status: number, headers: Readonly<Record<string, string>> = {}, code?: string): Play =>
  (up) =>
    up.answer(status, { error: { message: 'No.', code } }, headers);
const image = { per: 'image', rows: [{ nanos: 500n }] } as const;

/** Channels a, b, … in this order, for chat and images. */
function channels(plays: readonly Play[], ...changes: readonly Partial<Channel>[]): Scene {
  return scene({ plays, models: modelsOf(changes) });
}

function modelsOf(changes: readonly Partial<Channel>[]): NonNullable<SceneSetup['models']> {
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
function calledChannels({ upstream }: Scene): string {
  return upstream.calls.map(({ request }) => request.origin.slice(8, 9)).join('');
}

function eventsOf<T extends GatewayEvent['type']>(
  { events }: Scene,
  type: T,
): readonly Extract<GatewayEvent, { readonly type: T }>[] {
  const isOne = (event: GatewayEvent): event is Extract<GatewayEvent, { readonly type: T }> =>
    event.type === type;
  return events.filter(isOne);
}

describe('a channel that asks for a pause', () => {
  it('cools down, and the next calls use other channels meanwhile', async () => {
    const good = whole('chat');
    const set = channels([refuses(429, { 'retry-after': '20' }), good, good, good], {}, {});

    await set.call(ask.chat);
    await set.call(ask.chat);
    set.clock.advance(20_000);
    await set.call(ask.chat);

    expect(calledChannels(set)).toBe('abba');
    expect(eventsOf(set, 'channel_changed').map(({ state }) => state)).toEqual([
      'cooling_down',
      'ready',
    ]);
  });

  it.each([
    302, 405, 409, 418, 451,
  ])('that returns %i is used for no more than five calls', async (status) => {
    const odd = refuses(status);
    const good = whole('chat');
    const plays = [...Array.from({ length: 5 }, () => [odd, good]).flat(), good];
    const set = channels(plays, {}, {});

    for (let made = 0; made < 6; made += 1) expect((await set.call(ask.chat)).status).toBe(200);

    expect(calledChannels(set)).toBe('ababababab' + 'b');
    expect(eventsOf(set, 'channel_changed').map(({ state }) => state)).toEqual(['open']);
  });

  it('is still used if it is the last one, and its own error is passed on', async () => {
    const limited = refuses(429, { 'retry-after': '20' });
    const set = channels([limited, limited], {});

    await set.call(ask.chat);
    const { status, headers } = await set.call(ask.chat);

    expect([status, headers['retry-after']]).toEqual([429, '20']);
    expect(calledChannels(set)).toBe('aa');
  });

  it('is reported in preference to another channel’s failure', async () => {
    const set = channels(
      [refuses(429, { 'retry-after': '7' }), (up) => up.breakOff('dns', { stage: 'connect' })],
      {},
      {},
    );

    const { status, headers } = await set.call(ask.chat);

    expect([status, headers['retry-after']]).toEqual([429, '7']);
    expect((await set.nextRecord()).attempts).toMatchObject([
      { channelId: 'a', status: 429, mayHaveRun: false },
      { channelId: 'b', reason: 'dns', mayHaveRun: false },
    ]);
    expect(eventsOf(set, 'upstream_failed').map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('cools down for an hour when its own quota is used up, even as the last one', async () => {
    const set = channels([refuses(429, { 'retry-after': '1' }, 'insufficient_quota')], {});

    await set.call(ask.chat);
    const { status, headers } = await set.call(ask.chat);

    expect([status, headers['retry-after']]).toEqual([503, '3600']);
    expect(calledChannels(set)).toBe('a');
  });
});

describe('no available accounts', () => {
  it('tells the caller when to come back, and the host why', async () => {
    const set = channels([refuses(402), refuses(402)], {}, {});
    await set.call(ask.chat);
    set.clock.advance(60_000);
    await set.nextRecord();

    const { status, headers, text } = await set.call(ask.chat);

    expect([status, headers['retry-after']]).toEqual([503, '3540']);
    expect(JSON.parse(text).error.message).toBe('No available Acme accounts');
    expect(await set.nextRecord()).toMatchObject({ reason: 'cooling_down', outcome: 'not_run' });
    expect(eventsOf(set, 'no_channel')).toMatchObject([
      { reason: 'cooling_down', retryAfterMs: 3_540_000 },
    ]);
  });

  it.each<[string, Partial<Channel>]>([
    ['none_configured', { weight: 0 }],
    ['group_restriction', { groups: ['others'] }],
    ['price_restriction', { maxPriceNanos: 1n }],
  ])('has a reason that only event and record show: %s', async (reason, change) => {
    const set = channels([], change);

    const { status, text } = await set.call(ask.chat);

    expect([status, JSON.parse(text).error.message]).toEqual([503, 'No available Acme accounts']);
    expect(await set.nextRecord()).toMatchObject({ reason });
    expect(eventsOf(set, 'no_channel')).toMatchObject([{ reason }]);
  });
});

describe('a channel whose credential is not accepted', () => {
  it('is out until the host provides another catalog', async () => {
    const set = channels([refuses(401), whole('chat')], {});
    const first = await set.call(ask.chat);
    const second = await set.call(ask.chat);

    set.gateway.update({ catalog: staticCatalog(modelsOf([{}])) });
    const third = await set.call(ask.chat);

    expect([first.status, second.status, third.status]).toEqual([502, 503, 200]);
    expect(eventsOf(set, 'channel_changed')).toMatchObject([
      { channelId: 'a', state: 'refused', reason: 'upstream_auth_error', untilMs: undefined },
      { channelId: 'a', state: 'ready' },
    ]);
  });

  it('is back with another credential', async () => {
    const set = channels([refuses(401), whole('chat')], {});
    await set.call(ask.chat);

    set.gateway.update({
      catalog: { find: () => modelsOf([{ credential: 'new' }])[0], list: () => [] },
    });

    expect((await set.call(ask.chat)).status).toBe(200);
    expect(set.gateway.channels()).toMatchObject([{ channelId: 'a', state: 'ready' }]);
  });
});

describe('a channel that fails five times in a row', () => {
  const fails = refuses(500);

  it('is out for half a minute, then one call finds out', async () => {
    const good = whole('chat');
    const set = channels([...Array(5).fill([fails, good]).flat(), good, good, good], {}, {});
    for (let count = 0; count < 6; count += 1) await set.call(ask.chat);
    expect(calledChannels(set)).toBe('abababababb');

    set.clock.advance(30_000);
    await set.call(ask.chat);
    await set.call(ask.chat);

    expect(calledChannels(set)).toBe('abababababbaa');
    expect(eventsOf(set, 'channel_changed').map(({ state }) => state)).toEqual([
      'open',
      'half_open',
      'ready',
    ]);
  });

  it('is also out if it fails in the middle of streams', async () => {
    const breaks: Play = (up) => {
      up.respond(200, headersOf('chatStream'));
      up.write(begun.chatStream);
      up.breakOff('reset');
    };
    const set = channels([breaks, breaks, breaks, breaks, breaks, whole('chatStream')], {}, {});

    for (let count = 0; count < 6; count += 1) await set.call(ask.chatStream);

    expect(calledChannels(set)).toBe('aaaaab');
  });

  it('does not count callers that disconnect or send bad requests', async () => {
    const set = channels(Array(9).fill(refuses(400)), {}, {});
    for (let count = 0; count < 6; count += 1) await set.call(ask.chat);
    for (let count = 0; count < 6; count += 1) {
      const calling = set.start(ask.chat);
      if (count > 2) await set.upstream.next();
      await turn();
      calling.leave();
      await calling.answer;
    }

    expect(calledChannels(set)).toMatch(/^a+$/);
    expect(set.gateway.channels()).toMatchObject([{ state: 'ready', models: [] }]);
  });
});

describe('a host', () => {
  it('switches a channel off and on', async () => {
    const set = channels([whole('chat')], {});

    set.gateway.disableChannel('a');
    const off = await set.call(ask.chat);
    set.gateway.enableChannel('a');
    const on = await set.call(ask.chat);

    expect([off.status, on.status]).toEqual([503, 200]);
    expect(await set.nextRecord()).toMatchObject({ reason: 'switched_off' });
    expect(eventsOf(set, 'channel_changed').map(({ state }) => state)).toEqual(['off', 'ready']);
  });

  it('reads how many calls run through a channel, until each is over', async () => {
    const set = channels([], {});
    const inFlight = (): number | undefined => set.gateway.channels()[0]?.inFlight;
    const stream = set.start(ask.chatStream);
    const up = await set.upstream.next();
    up.respond(200, headersOf('chatStream'));
    up.write(begun.chatStream);
    await stream.begun;
    const leaver = set.start(ask.chat);
    await set.upstream.next();
    expect(inFlight()).toBe(2);

    leaver.leave();
    await leaver.answer;
    expect(inFlight()).toBe(1);
    up.write('data: [DONE]\n\n');
    up.end();
    await stream.answer;

    expect(inFlight()).toBe(0);
  });
});

describe('a limit of concurrent calls', () => {
  it('sends further calls to other channels, and then refuses them', async () => {
    const set = channels([], { maxConcurrentCalls: 1 }, { maxConcurrentCalls: 1 });
    const running = [set.start(ask.chat), set.start(ask.chat)];
    const ups = [await set.upstream.next(), await set.upstream.next()];

    const { status, headers } = await set.call(ask.chat);

    expect(calledChannels(set)).toBe('ab');
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(await set.nextRecord()).toMatchObject({ reason: 'busy' });
    for (const up of ups) whole('chat')(up);
    for (const { answer } of running) expect((await answer).status).toBe(200);
  });

  it('counts an image whose caller disconnected until the image is done', async () => {
    const set = channels([], { maxConcurrentCalls: 1 });
    const calling = set.start(ask.image);
    const up = await set.upstream.next();

    calling.leave();
    await turn();
    expect((await set.call(ask.image)).status).toBe(503);
    whole('image')(up);
    await set.nextRecord();
    await set.nextRecord();

    expect(set.gateway.channels()).toMatchObject([{ inFlight: 0 }]);
  });
});

describe('an image', () => {
  it('is tried on another channel after a 503 that precedes any work', async () => {
    const set = channels([refuses(503), whole('image')], { rejectsBeforeWork: true }, {});

    const { status } = await set.call(ask.image);

    expect([status, calledChannels(set)]).toEqual([200, 'ab']);
  });

  it('is not, after a 503 of any other account', async () => {
    const set = channels([refuses(503), whole('image')], {}, {});

    const { status, headers } = await set.call(ask.image);

    expect([status, headers['x-should-retry'], calledChannels(set)]).toEqual([502, 'false', 'a']);
    expect(await set.nextRecord()).toMatchObject({
      outcome: 'unknown',
      attempts: [{ mayHaveRun: true }],
    });
  });
});

it('a caller stays with its account by the prompt cache key it names', async () => {
  const sticky = { stickyBy: 'prompt_cache_key', priority: 0 } as const;
  const set = channels(Array(40).fill(whole('chat')), sticky, sticky);
  const ask20 = async (of: (index: number) => string): Promise<string> => {
    const before = calledChannels(set).length;
    for (let index = 0; index < 20; index += 1)
      await set.call(chat({ prompt_cache_key: of(index) }));
    return calledChannels(set).slice(before);
  };

  const same = await ask20(() => 'conversation');
  const various = await ask20((index) => `conversation-${index}`);

  expect(new Set(same).size).toBe(1);
  expect(new Set(various).size).toBe(2);
});

it('when an upstream starts to fail, only some of its calls are retried elsewhere', async () => {
  const set = channels([], {}, {});
  const calling = Array.from({ length: 10 }, () => set.start(ask.chat));
  const ups = [];
  for (const _ of calling) ups.push(await set.upstream.next());

  for (const up of ups) refuses(500)(up);
  const retried = [await set.upstream.next(), await set.upstream.next(), await set.upstream.next()];
  for (const up of retried) whole('chat')(up);

  const statuses = await Promise.all(calling.map(async ({ answer }) => (await answer).status));
  expect(statuses.sort()).toEqual([200, 200, 200, ...Array(7).fill(502)]);
});

it.each([
  10, 100,
])('all of %i calls that certainly did not run are tried on another channel', async (count) => {
  const set = channels([], {}, {});
  const calling = Array.from({ length: count }, () => set.start(ask.chat));
  const ups = [];
  for (const _ of calling) ups.push(await set.upstream.next());

  for (const up of ups) up.breakOff('connect_refused', { stage: 'connect' });
  for (const _ of calling) whole('chat')(await set.upstream.next());

  const statuses = await Promise.all(calling.map(async ({ answer }) => (await answer).status));
  expect(statuses).toEqual(Array(count).fill(200));
});
