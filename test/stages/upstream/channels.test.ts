// suite: quick
/** When another channel is tried, and when not. */
import { describe, expect, it } from 'vitest';
import type { CallHandler } from '../../support/driven-upstream.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import {
  channel,
  completeReply,
  headersOf,
  type Kind,
  model,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';
import { turns } from '../ports/failing.ts';

/** Four channels for each kind of call, in this order. */
function fourChannels(kind: Kind, handlers: readonly CallHandler[]): InProcessGateway {
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
  return gatewayInProcess({ handlers, models });
}

const refuses =
  (status: number): CallHandler =>
  (up) =>
    up.answer(status, { error: { message: 'No.' } });
const breaks =
  (reason: string, stage: 'connect' | 'sent', timedOut = false): CallHandler =>
  (up) =>
    up.breakOff(reason, { stage, timedOut });

type Fault = readonly [fault: string, play: CallHandler];

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
  const requested = (faults: readonly Fault[], calls: number, kinds: readonly Kind[]) =>
    faults.flatMap(([fault, handler]) =>
      kinds.map((kind) => ({ fault, play: handler, kind, calls })),
    );
  const texts: readonly Kind[] = ['chat', 'chatStream', 'native'];

  it.each([
    ...requested(classA, 3, [...texts, 'image']),
    ...requested(classB, 2, texts),
    ...requested(classB, 1, ['image']),
    ...requested(classCandD, 1, [...texts, 'image']),
    ...requested([empty], 1, ['chat', 'native', 'image']),
    // A stream that ends before its first content may be tried on another channel.
    ...requested([empty], 2, ['chatStream']),
  ])('$fault, $kind: $calls in all', async ({ kind, play: handler, calls }) => {
    const harness = fourChannels(kind, [handler, handler, handler, handler]);

    await harness.call(sampleRequests[kind]);

    const { attempts } = await harness.nextRecord();
    expect(attempts.map(({ channelId }) => channelId)).toEqual(['a', 'b', 'c'].slice(0, calls));
    expect(harness.upstream.calls).toHaveLength(calls);
    expect(harness.eventTypes().filter((type) => type === 'attempt_ended')).toHaveLength(calls);
  });

  it('that replies serves the caller, who notices nothing, with one hold', async () => {
    const harness = fourChannels('chat', [refuses(429), refuses(500), completeReply('chat')]);

    const { status } = await harness.call(sampleRequests.chat);

    expect(status).toBe(200);
    expect(await harness.nextRecord()).toMatchObject({
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
    const harness = gatewayInProcess({
      handlers: [refuses(401), completeReply('chat')],
      models: [model({ channels: [first, second] })],
    });

    await harness.call(sampleRequests.chat);

    const sent = harness.upstream.calls.map(({ request: { origin, path, headers, body } }) => ({
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
    const harness = fourChannels('chat', [refuses(500), refuses(401), refuses(401), refuses(401)]);

    await harness.call(sampleRequests.chat);

    expect(await harness.nextRecord()).toMatchObject({ outcome: 'unknown', chargeNanos: 0n });
  });

  it('gets the time that is left for the first byte', async () => {
    const harness = fourChannels('chat', []);
    const reply = harness.call(sampleRequests.chat);
    const first = await harness.upstream.next();
    harness.clock.advance(100_000);
    refuses(429)(first);
    const second = await harness.upstream.next();

    harness.clock.advance(199_000);
    await turns();
    const reasonBefore = second.abortReason;
    harness.clock.advance(1_000);

    expect(reasonBefore).toBeUndefined();
    expect(await second.aborted).toBe('headers_timeout');
    expect((await reply).status).toBe(504);
    expect(harness.upstream.calls).toHaveLength(2);
  });

  it('is tried only while a third of that time is left', async () => {
    const harness = fourChannels('chat', []);
    const reply = harness.call(sampleRequests.chat);
    const first = await harness.upstream.next();

    harness.clock.advance(201_000);
    refuses(429)(first);

    expect((await reply).status).toBe(429);
    expect(harness.upstream.calls).toHaveLength(1);
  });
});

it('only images request a new connection', async () => {
  for (const kind of ['chat', 'native', 'image'] as const) {
    const { call, upstream } = gatewayInProcess({ handlers: [completeReply(kind)] });

    await call(sampleRequests[kind]);

    expect(upstream.calls[0]?.request.freshConnection).toBe(kind === 'image');
  }
});

it('a channel’s own time limit counts from the start of the call', async () => {
  const { start, clock, nextRecord } = gatewayInProcess({
    models: [model({ channels: [channel({ timeouts: { totalMs: 5_000 } })] })],
    handlers: [
      (up) => {
        up.respond(200, headersOf('chatStream'));
        up.write(streamBeginnings.chatStream);
      },
    ],
  });

  const calling = start(sampleRequests.chatStream);
  await calling.firstBytes;
  clock.advance(6_000);
  await calling.reply;

  expect(await nextRecord()).toMatchObject({ outcome: 'cut', reason: 'total_timeout' });
});

it('a channel’s own headers are sent once, in whatever case they are written', async () => {
  const headers = { 'User-Agent': 'host', 'OpenAI-Organization': 'org' };
  const { call, upstream } = gatewayInProcess({
    models: [model({ channels: [channel({ headers })] })],
    handlers: [completeReply('chat')],
  });

  await call(sampleRequests.chat);

  expect(upstream.calls[0]?.request.headers).toMatchObject({
    'user-agent': 'host',
    'openai-organization': 'org',
  });
  expect(upstream.calls[0]?.request.headers).not.toHaveProperty('User-Agent');
});
