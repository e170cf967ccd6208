/** When another channel is tried, and when not. */
import { describe, expect, it } from 'vitest';
import type { Play } from './driven-upstream.ts';
import { turns } from './failing.ts';
import { type Scene, scene } from './scene.ts';
import { ask, begun, channel, headersOf, type Kind, model, whole } from './scene-models.ts';

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
  ['a connect timeout', breaks('connect_timeout', 'connect', true)],
  ...[301, 302, 307, 401, 402, 403, 404, 405, 409, 410, 421, 425, 429, 451].map(
    (status): Fault => [`a ${status}`, refuses(status)],
  ),
];
const classB: readonly Fault[] = [
  ['a reset', breaks('reset', 'sent')],
  ...[205, 418, 500, 502, 503, 529].map((status): Fault => [`a ${status}`, refuses(status)]),
];
const classCandD: readonly Fault[] = [
  ['a timeout', breaks('headers_timeout', 'sent', true)],
  ...[400, 408, 413, 422, 504, 524].map((status): Fault => [`a ${status}`, refuses(status)]),
  ['half a document', (up) => up.answer(200, '{"a":')],
];
const empty: Fault = ['an empty 200', (up) => up.answer(200, '')];

describe('another channel', () => {
  const asked = (faults: readonly Fault[], calls: number, kinds: readonly Kind[]) =>
    faults.flatMap(([fault, play]) => kinds.map((kind) => ({ fault, play, kind, calls })));
  const texts: readonly Kind[] = ['chat', 'chatStream', 'native'];

  it.each([
    ...asked(classA, 3, [...texts, 'image']),
    ...asked(classB, 2, texts),
    ...asked(classB, 1, ['image']),
    ...asked(classCandD, 1, [...texts, 'image']),
    ...asked([empty], 1, ['chat', 'native', 'image']),
    // A stream that ends before its first content may be tried on another channel.
    ...asked([empty], 2, ['chatStream']),
  ])('$fault, $kind: $calls in all', async ({ kind, play, calls }) => {
    const set = fourChannels(kind, [play, play, play, play]);

    await set.call(ask[kind]);

    const { attempts } = await set.nextRecord();
    expect(attempts.map(({ channelId }) => channelId)).toEqual(['a', 'b', 'c'].slice(0, calls));
    expect(set.upstream.calls).toHaveLength(calls);
    expect(set.eventTypes().filter((type) => type === 'upstream_failed')).toHaveLength(calls);
  });

  it('that replies serves the caller, who notices nothing, with one hold', async () => {
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

  it('is called with its own credential, model and URL', async () => {
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

  it('that did not run the call does not undo one that may have: unknown', async () => {
    const set = fourChannels('chat', [refuses(500), refuses(401), refuses(401), refuses(401)]);

    await set.call(ask.chat);

    expect(await set.nextRecord()).toMatchObject({ outcome: 'unknown', chargeNanos: 0n });
  });

  it('gets the time that is left for the first byte', async () => {
    const set = fourChannels('chat', []);
    const answer = set.call(ask.chat);
    const first = await set.upstream.next();
    set.clock.advance(100_000);
    refuses(429)(first);
    const second = await set.upstream.next();

    set.clock.advance(199_000);
    await turns();
    const reasonBefore = second.abortReason;
    set.clock.advance(1_000);

    expect(reasonBefore).toBeUndefined();
    expect(await second.aborted).toBe('headers_timeout');
    expect((await answer).status).toBe(504);
    expect(set.upstream.calls).toHaveLength(2);
  });

  it('is tried only while a third of that time is left', async () => {
    const set = fourChannels('chat', []);
    const answer = set.call(ask.chat);
    const first = await set.upstream.next();

    set.clock.advance(201_000);
    refuses(429)(first);

    expect((await answer).status).toBe(429);
    expect(set.upstream.calls).toHaveLength(1);
  });
});

it('only images request a new connection', async () => {
  for (const kind of ['chat', 'native', 'image'] as const) {
    const { call, upstream } = scene({ plays: [whole(kind)] });

    await call(ask[kind]);

    expect(upstream.calls[0]?.request.freshConnection).toBe(kind === 'image');
  }
});

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

it('a channel’s own headers are sent once, in whatever case they are written', async () => {
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
