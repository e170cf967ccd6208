// suite: quick
/** A refused call holds nothing, is charged nothing, and reaches no upstream. */
import { expect, it } from 'vitest';
import type { ApiKey } from '../../../src/ports/keys/key-store.ts';
import type { RateLimits } from '../../../src/ports/limits/rates.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  type CallerRequest,
  type GatewaySetup,
  gatewayInProcess,
  untouched,
} from '../../support/gateway-in-process.ts';
import {
  channel,
  chat,
  completeReply,
  headersOf,
  image,
  model,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';

interface Row {
  readonly refusal: string;
  readonly request?: CallerRequest;
  readonly setup?: GatewaySetup;
  readonly status: number;
  readonly code: string | null;
}

const key = (change: Partial<ApiKey>): GatewaySetup => ({ key: change });
/** A key with limits that the limiter refuses. */
const limited = (limits: RateLimits): GatewaySetup => ({
  ...key({ rates: [limits] }),
  options: {
    rateLimiter: {
      take: () => ({ granted: false, refused: 0, retryAfterMs: 1, remaining: [0] }),
      adjust: () => {},
    },
  },
});
const models = (...list: readonly Partial<Model>[]): GatewaySetup => ({ models: list.map(model) });
/** An unescaped line break in a string that is so long that the scan skips its inside. */
const broken = (request: CallerRequest): string =>
  JSON.stringify({ ...Object(request.body), user: 'a'.repeat(200_000) }).replace(
    /a{100000}/,
    (half) => `${half}\n`,
  );
/** A model that offers a protocol which no channel of it serves. */
const noImages: Partial<Model> = {
  id: 'image',
  protocols: ['chat', 'images'],
  channels: [channel({ dialect: 'anthropic' })],
};
/** A buffer for the bytes of one chat, but not of two. */
const room = { maxBodyBytes: 100, maxImageBodyBytes: 100, maxBufferedBytes: 100 };
const unrouted = { code: 'no_channel', status: 503 } as const;

const rows: readonly Row[] = [
  {
    refusal: 'no such path',
    request: { path: '/v1/moderations' },
    status: 404,
    code: 'unknown_url',
  },
  {
    refusal: 'a wrong method',
    request: { ...sampleRequests.chat, method: 'PUT' },
    status: 405,
    code: 'method_not_allowed',
  },
  {
    refusal: 'an unknown secret',
    request: { ...sampleRequests.chat, headers: { authorization: 'Bearer nobody' } },
    status: 401,
    code: 'invalid_api_key',
  },
  {
    refusal: 'a disabled key',
    setup: key({ disabled: true }),
    status: 401,
    code: 'invalid_api_key',
  },
  {
    refusal: 'an expired key',
    setup: key({ expiresAtMs: 1 }),
    status: 401,
    code: 'invalid_api_key',
  },
  { refusal: 'no JSON', request: { ...sampleRequests.chat, body: '{' }, status: 400, code: null },
  {
    refusal: 'a control character deep in a text that has to be translated',
    request: { ...sampleRequests.chat, body: broken(sampleRequests.chat) },
    setup: models({ channels: [channel({ dialect: 'anthropic' })] }),
    status: 400,
    code: null,
  },
  { refusal: 'no messages', request: chat({ messages: [] }), status: 400, code: null },
  {
    refusal: 'strings for messages that read like names and values',
    request: chat({ messages: ['role', 'x', ['role', 'y', 0], { role: 'user', content: 'Hi' }] }),
    status: 400,
    code: null,
  },
  {
    refusal: 'another content type',
    request: { ...sampleRequests.chat, headers: { 'content-type': 'text/plain' } },
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    refusal: 'a body too large',
    setup: { options: { maxBodyBytes: 10 } },
    status: 413,
    code: 'body_too_large',
  },
  {
    refusal: 'an unknown model',
    request: chat({ model: 'x' }),
    status: 404,
    code: 'model_not_found',
  },
  {
    refusal: 'a model of another protocol',
    request: chat({ model: 'image' }),
    status: 404,
    code: 'model_not_found',
  },
  {
    refusal: 'a model of another group',
    request: chat({ model: 'foreign' }),
    status: 403,
    code: 'model_not_allowed',
  },
  {
    refusal: 'too many candidates',
    request: chat({ n: 3 }),
    setup: models({ maxCandidates: 2 }),
    status: 400,
    code: null,
  },
  {
    refusal: 'a rate limit of calls',
    setup: limited({ calls: { perMinute: 60 } }),
    status: 429,
    code: 'rate_limit_exceeded',
  },
  {
    refusal: 'a rate limit of tokens',
    setup: limited({ tokens: { perMinute: 1_000_000 } }),
    status: 429,
    code: 'rate_limit_exceeded',
  },
  {
    refusal: 'a rate limit that is smaller than the call',
    setup: key({ rates: [{ tokens: { perMinute: 1 } }] }),
    status: 429,
    code: 'rate_limit_exceeded',
  },
  {
    refusal: 'a size without a price',
    request: image({ size: '1x1' }),
    status: 400,
    code: null,
  },
  {
    refusal: 'too little quota',
    setup: key({ quota: [{ id: 'caller', period: 'total', limitNanos: 210n }] }),
    status: 403,
    code: 'insufficient_quota',
  },
  {
    refusal: 'a subject without a limit',
    setup: key({ quota: [{ id: 'caller', period: 'total' }] }),
    status: 403,
    code: 'insufficient_quota',
  },
  {
    refusal: 'a key without quota',
    setup: key({ quota: [] }),
    status: 503,
    code: 'store_unavailable',
  },
  { refusal: 'no channel', setup: models({ channels: [] }), ...unrouted },
  {
    refusal: 'only weightless channels',
    setup: models({ channels: [channel({ weight: 0 })] }),
    ...unrouted,
  },
  {
    refusal: 'a price that every channel excludes',
    setup: models({ channels: [channel({ maxPriceNanos: 1n })] }),
    ...unrouted,
  },
  {
    refusal: 'no channel that speaks the protocol',
    request: sampleRequests.image,
    setup: models(noImages),
    ...unrouted,
  },
];

it.each(rows)('$refusal', async ({ request = sampleRequests.chat, setup = {}, status, code }) => {
  const { call, state, upstream } = gatewayInProcess(setup);

  const reply = await call(request);

  expect(reply.status).toBe(status);
  expect(JSON.parse(reply.text).error.code).toBe(code);
  expect(upstream.calls).toEqual([]);
  expect(await state()).toEqual(untouched);
});

it('a control character deep in a long text is left for the upstream to refuse', async () => {
  const body = broken(sampleRequests.chat);
  const { start, upstream, state } = gatewayInProcess();
  const calling = start({ ...sampleRequests.chat, body });
  const up = await upstream.next();

  up.answer(400, { error: { message: 'We could not parse the JSON body.', code: null } });
  const reply = await calling.reply;

  expect(Buffer.concat(up.request.body).toString()).toBe(body);
  expect(reply.status).toBe(400);
  expect(await state()).toEqual(untouched);
});

it.each<[string, CallHandler]>([
  ['answers 500 to', (up) => up.answer(500, { error: { message: 'Boom' } })],
  ['breaks off at', (up) => up.breakOff('reset', { stage: 'sent' })],
])('a body that an upstream %s is the caller’s fault if it is not valid JSON', async (_, fail) => {
  for (const request of [sampleRequests.chat, sampleRequests.image]) {
    const { start, upstream, state, gateway, nextRecord } = gatewayInProcess();
    const calling = start({ ...request, body: broken(request) });
    fail(await upstream.next());

    const reply = await calling.reply;

    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text).error.message).toMatch(/not valid JSON at byte 1000\d\d\./);
    expect(await nextRecord()).toMatchObject({ outcome: 'not_run', reason: 'invalid_json' });
    expect(await state()).toEqual(untouched);
    expect(gateway.channels()).toMatchObject([{ state: 'ready', models: [] }]);
  }
});

it.each([
  ['none_configured', sampleRequests.chat, models({ channels: [] })],
  [
    'price_restriction',
    sampleRequests.chat,
    models({ channels: [channel({ maxPriceNanos: 1n })] }),
  ],
  ['protocol', sampleRequests.image, models(noImages)],
])('a host gets the reason why no channel could serve: %s', async (reason, request, setup) => {
  const { call, events, nextRecord } = gatewayInProcess(setup);

  const reply = await call(request);

  expect(JSON.parse(reply.text).error.message).toBe('No available Acme accounts');
  expect(reply.headers['retry-after']).toBeUndefined();
  expect(events).toContainEqual(expect.objectContaining({ type: 'no_channel', reason }));
  expect(await nextRecord()).toMatchObject({ outcome: 'not_run', chargeNanos: 0n, attempts: [] });
});

it('a refused call frees its slot: a gateway with one slot serves the next call', async () => {
  const { call } = gatewayInProcess({ options: { maxConcurrentCalls: 1 } });

  const refused = rows.filter(({ setup }) => setup === undefined);

  for (const { request = sampleRequests.chat } of refused) await call(request);

  expect((await call(chat({ model: 'x' }))).status).toBe(404);
});

it('more bytes than the gateway may buffer wait for those of the earlier call', async () => {
  const { start, call, upstream } = gatewayInProcess({ options: room });
  const first = start(sampleRequests.chat);
  const up = await upstream.next();

  const second = await call(sampleRequests.chat);
  completeReply('chat')(up);
  await first.reply;

  expect(second.status).toBe(503);
  expect(JSON.parse(second.text).error.code).toBe('overloaded');
  expect(upstream.calls).toHaveLength(1);
});

it('the body of a stream stays in the budget until its call is done', async () => {
  const { start, call, upstream, nextRecord } = gatewayInProcess({ options: room });
  const streaming = start(sampleRequests.chatStream);
  const up = await upstream.next();
  up.respond(200, headersOf('chatStream'));
  up.write(streamBeginnings.chatStream);
  await streaming.firstBytes;

  const meanwhile = await call(sampleRequests.chat);
  completeReply('chatStream')(up);
  await streaming.reply;
  await nextRecord();
  const afterwards = start(sampleRequests.chat);

  expect(JSON.parse(meanwhile.text).error.code).toBe('overloaded');
  completeReply('chat')(await upstream.next());
  expect((await afterwards.reply).status).toBe(200);
});

it('a body that never arrived completely frees its slot and its bytes', async () => {
  const { call } = gatewayInProcess({ options: { ...room, maxConcurrentCalls: 1 } });

  for (let count = 0; count < 3; count += 1) {
    expect((await call({ ...sampleRequests.chat, body: 'x'.repeat(60) })).status).toBe(400);
  }
});
