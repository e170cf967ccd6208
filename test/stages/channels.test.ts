/** Which channels are asked, in which order, and when another one is (FAULTS §4). */
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../src/ports/catalog.ts';
import { channelOrder } from '../../src/upstream/choose.ts';
import type { Play } from './driven-upstream.ts';
import { type Scene, scene } from './scene.ts';
import { ask, begun, channel, headersOf, type Kind, model, whole } from './scene-models.ts';

const tokenPrice = model().price;

describe('the order of channels', () => {
  const ids = (list: readonly Channel[]): string => list.map(({ id }) => id).join(' ');
  const of = (id: string, change: Partial<Channel> = {}): Channel => channel({ id, ...change });
  const order = (channels: readonly Channel[], random = 0): string =>
    ids(channelOrder(channels, tokenPrice, () => random));

  it.each([
    ['by priority, lower first', [of('b', { priority: 2 }), of('a', { priority: -1 })], 'a b'],
    ['without those of weight 0', [of('a', { weight: 0 }), of('b')], 'b'],
    ['empty, where all have weight 0', [of('a', { weight: 0 })], ''],
    [
      'without those whose price bound excludes the model',
      [of('a', { maxPriceNanos: 1_999_999n }), of('b', { maxPriceNanos: 2_000_000n })],
      'b',
    ],
  ])('is %s', (_what, channels, expected) => {
    expect(order(channels)).toBe(expected);
  });

  it('within one priority is drawn by weight, without putting back', () => {
    const channels = [of('a', { weight: 1 }), of('b', { weight: 2 }), of('c', { weight: 1 })];

    expect([0, 0.25, 0.74, 0.75, 0.999].map((random) => order(channels, random))).toEqual([
      'a b c',
      'b a c',
      'b c a',
      'c b a',
      'c b a',
    ]);
  });

  it('follows the weights over many calls', () => {
    const channels = [of('a', { weight: 7 }), of('b', { weight: 2 }), of('c', { weight: 1 })];
    const random = mulberry(42);
    const firsts = { a: 0, b: 0, c: 0 };

    for (let count = 0; count < 10_000; count += 1) {
      const first = channelOrder(channels, tokenPrice, random)[0]?.id;
      if (first === 'a' || first === 'b' || first === 'c') firsts[first] += 1;
    }

    expect(firsts.a).toBeGreaterThan(6_800);
    expect(firsts.a).toBeLessThan(7_200);
    expect(firsts.c).toBeGreaterThan(850);
    expect(firsts.c).toBeLessThan(1_150);
  });

  it.each([Number.NaN, 1, -1])('survives a random source that gives %d', (random) => {
    expect(order([of('a'), of('b')], random).length).toBe(3);
  });
});

/** Four channels for each kind of call, in this order. */
function fourChannels(kind: Kind, plays: readonly Play[]): Scene {
  const dialect = kind.startsWith('native') ? 'gemini' : 'openai';
  const channels = ['a', 'b', 'c', 'd'].map((id, priority) => channel({ id, priority, dialect }));
  const image = { per: 'image', rows: [{ nanos: 500n }] } as const;
  const models =
    dialect === 'gemini'
      ? [model({ id: 'native', protocols: ['native'], channels })]
      : [
          model({ channels }),
          model({ id: 'image', protocols: ['images'], price: image, channels }),
        ];
  return scene({ plays, models });
}

const refuses =
  (status: number): Play =>
  (up) =>
    up.answer(status, { error: { message: 'No.' } });
const breaks =
  (reason: string, stage: 'connect' | 'sent', timedOut = false): Play =>
  (up) =>
    up.breakOff(reason, { stage, timedOut });

type Fault = readonly [fault: string, play: Play];

const classA: readonly Fault[] = [
  ['a refused connection', breaks('connect_refused', 'connect')],
  ['a connect time-out', breaks('connect_timeout', 'connect', true)],
  ...[401, 402, 403, 404, 429].map((status): Fault => [`a ${status}`, refuses(status)]),
];
const classB: readonly Fault[] = [
  ['a reset', breaks('reset', 'sent')],
  ...[500, 502, 503, 529].map((status): Fault => [`a ${status}`, refuses(status)]),
];
const classCandD: readonly Fault[] = [
  ['a time-out', breaks('headers_timeout', 'sent', true)],
  ...[400, 408, 409, 413, 422, 302, 504, 524].map(
    (status): Fault => [`a ${status}`, refuses(status)],
  ),
  ['an empty 200', (up) => up.answer(200, '')],
  ['half a document', (up) => up.answer(200, '{"a":')],
];

describe('another channel', () => {
  const asked = (faults: readonly Fault[], calls: number, kinds: readonly Kind[]) =>
    faults.flatMap(([fault, play]) => kinds.map((kind) => ({ fault, play, kind, calls })));
  const texts: readonly Kind[] = ['chat', 'chatStream', 'native'];

  it.each([
    ...asked(classA, 3, [...texts, 'image']),
    ...asked(classB, 2, texts),
    ...asked(classB, 1, ['image']),
    ...asked(classCandD, 1, [...texts, 'image']),
  ])('$fault, $kind: $calls in all', async ({ kind, play, calls }) => {
    const set = fourChannels(kind, [play, play, play, play]);

    await set.call(ask[kind]);

    const { attempts } = await set.nextRecord();
    expect(attempts.map(({ channelId }) => channelId)).toEqual(['a', 'b', 'c'].slice(0, calls));
    expect(set.upstream.calls).toHaveLength(calls);
    expect(set.eventTypes().filter((type) => type === 'upstream_failed')).toHaveLength(calls);
  });

  it('that answers serves the caller, who notices nothing, on one hold', async () => {
    const set = fourChannels('chat', [refuses(429), refuses(500), whole('chat')]);

    const { status } = await set.call(ask.chat);

    expect(status).toBe(200);
    expect(await set.nextRecord()).toMatchObject({
      channelId: 'c',
      outcome: 'complete',
      chargeNanos: 20n,
      heldNanos: 211n,
      attempts: [
        { channelId: 'a', status: 429, reason: 'upstream_rate_limited' },
        { channelId: 'b', status: 500, reason: 'upstream_error' },
        { channelId: 'c', status: 200, reason: undefined },
      ],
    });
  });

  it('is asked with its own account, model and address', async () => {
    const first = channel({ id: 'a', upstreamModel: 'gpt-a', headers: { 'x-org': 'one' } });
    const second = channel({
      id: 'b',
      priority: 1,
      baseUrl: 'http://b.example:8080/compat/v1/',
      credential: async () => 'secret-b',
      upstreamModel: 'gpt-b',
    });
    const set = scene({
      plays: [refuses(401), whole('chat')],
      models: [model({ channels: [first, second] })],
    });

    await set.call(ask.chat);

    const sent = set.upstream.calls.map(({ request: { origin, path, headers, body } }) => ({
      address: origin + path,
      authorization: headers.authorization,
      organisation: headers['x-org'],
      model: JSON.parse(Buffer.concat(body).toString()).model,
    }));
    expect(sent).toEqual([
      {
        address: 'https://openai.example/v1/chat/completions',
        authorization: 'Bearer account-secret',
        organisation: 'one',
        model: 'gpt-a',
      },
      {
        address: 'http://b.example:8080/compat/v1/chat/completions',
        authorization: 'Bearer secret-b',
        organisation: undefined,
        model: 'gpt-b',
      },
    ]);
  });

  it('that did not run it does not undo one that may have: unknown', async () => {
    const set = fourChannels('chat', [refuses(500), refuses(401), refuses(401), refuses(401)]);

    await set.call(ask.chat);

    expect(await set.nextRecord()).toMatchObject({ outcome: 'unknown', chargeNanos: 0n });
  });

  it('is asked only while a third of the wait is left, and gets what is left', async () => {
    const set = fourChannels('chat', []);
    const answer = set.call(ask.chat);

    const waits: number[] = [];
    for (const afterMs of [100_000, 101_000]) {
      const up = await set.upstream.next();
      waits.push(up.request.firstByteTimeoutMs);
      set.clock.advance(afterMs);
      refuses(429)(up);
    }

    expect((await answer).status).toBe(429);
    expect(waits).toEqual([300_000, 200_000]);
    expect(set.upstream.calls).toHaveLength(2);
  });
});

it('waits are the gateway’s, the model’s, the channel’s, in this order', async () => {
  const { call, upstream } = scene({
    plays: [whole('chat')],
    options: { timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1 } },
    models: [
      model({
        timeouts: { firstByteMs: 2, idleMs: 2 },
        channels: [channel({ timeouts: { idleMs: 3 } })],
      }),
    ],
  });

  await call(ask.chat);

  expect(upstream.calls[0]?.request).toMatchObject({
    connectTimeoutMs: 1,
    firstByteTimeoutMs: 2,
    idleTimeoutMs: 3,
  });
});

it('only images ask for a connection of their own', async () => {
  for (const kind of ['chat', 'native', 'image'] as const) {
    const { call, upstream } = scene({ plays: [whole(kind)] });

    await call(ask[kind]);

    expect(upstream.calls[0]?.request.freshConnection).toBe(kind === 'image');
  }
});

/** A seeded random source (mulberry32). */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

it('a channel’s own time limit counts from the start of the call', async () => {
  const { start, clock, nextRecord } = scene({
    models: [model({ channels: [channel({ timeouts: { totalMs: 5_000 } })] })],
    plays: [
      (up) => {
        up.respond(200, headersOf('chatStream'));
        up.write(begun.chatStream);
      },
    ],
  });

  const calling = start(ask.chatStream);
  await calling.begun;
  clock.advance(6_000);
  await calling.answer;

  expect(await nextRecord()).toMatchObject({ outcome: 'cut', reason: 'total_timeout' });
});

it('a channel’s own headers go out once, however they are spelt', async () => {
  const headers = { 'User-Agent': 'host', 'OpenAI-Organization': 'org' };
  const { call, upstream } = scene({
    models: [model({ channels: [channel({ headers })] })],
    plays: [whole('chat')],
  });

  await call(ask.chat);

  expect(upstream.calls[0]?.request.headers).toMatchObject({
    'user-agent': 'host',
    'openai-organization': 'org',
  });
  expect(upstream.calls[0]?.request.headers).not.toHaveProperty('User-Agent');
});
