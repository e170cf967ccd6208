// suite: quick
/** Fallback models: which calls they serve, what those calls are charged, and what is recorded. */
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import type { Channel, Model } from '../../../src/ports/models/catalog.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  type CallerReply,
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import {
  channel,
  completeReply,
  type Kind,
  kinds,
  model,
  sampleRequests,
} from '../../support/models.ts';

const refusesWith =
  (status: number): CallHandler =>
  (up) =>
    up.answer(status, { error: { message: 'No.' } });

/** Failures before anything ran, which are the account's fault. */
const outages: Readonly<Record<string, CallHandler>> = {
  'refused connections': (up) => up.breakOff('connect_refused', { stage: 'connect' }),
  '401': refusesWith(401),
  '402': refusesWith(402),
  '429': refusesWith(429),
};

/** Failures after which the call may have run, and those that are the caller's fault. */
const otherFailures: Readonly<Record<string, CallHandler>> = {
  '400': refusesWith(400),
  '500': refusesWith(500),
  'a reset after the request': (up) => up.breakOff('reset', { stage: 'sent' }),
  'a timeout': (up) => up.breakOff('headers_timeout', { stage: 'sent', timedOut: true }),
};

const modelOfKind: Readonly<Record<Kind, string>> = {
  chat: 'chat',
  chatStream: 'chat',
  image: 'image',
  native: 'native',
  nativeStream: 'native',
};

/** The spare models cost ten times as much. */
const sparePrices = {
  token: { per: 'token', rates: { input: 10_000_000n, output: 20_000_000n } },
  image: { per: 'image', rows: [{ size: '1024x1024', nanos: 5_000n }] },
} as const;
/** What a complete reply of a spare model costs: 10 and 5 tokens, or one image. */
const spareNanos = (kind: Kind): bigint => (kind === 'image' ? 5_000n : 200n);

/** Each model with a spare one on another account. */
function modelsWithSpares(change: Partial<Model> = {}): readonly Model[] {
  return (['chat', 'image', 'native'] as const).flatMap((id) => {
    const isNative = id === 'native';
    const account = (name: string): Channel =>
      channel({
        id: `${id}-${name}`,
        dialect: isNative ? 'gemini' : 'openai',
        baseUrl: `https://${name}.example/${isNative ? 'v1beta' : 'v1'}`,
      });
    const price = { per: 'image', rows: [{ size: '1024x1024', nanos: 500n }] } as const;
    const first = model({
      id,
      protocols: [id === 'image' ? 'images' : id],
      ...(id === 'image' ? { price } : {}),
      channels: [account('first')],
      fallbacks: [`${id}-spare`],
    });
    const spare = {
      ...first,
      id: `${id}-spare`,
      price: id === 'image' ? sparePrices.image : sparePrices.token,
      channels: [account('spare')],
      fallbacks: [],
      ...change,
    };
    return [first, spare];
  });
}

async function callWith(
  kind: Kind,
  handlers: readonly CallHandler[],
  setup: GatewaySetup = {},
): Promise<{ readonly running: InProcessGateway; readonly reply: CallerReply }> {
  const running = gatewayInProcess({ handlers, models: modelsWithSpares(), ...setup });
  const reply = await running.call(sampleRequests[kind]);
  return { running, reply };
}

const hosts = ({ upstream }: InProcessGateway): readonly string[] =>
  upstream.calls.map(({ request }) => request.origin.slice(8));

const first = 'first.example';
const spare = 'spare.example';

describe.each(kinds)('%s, while the accounts of its model are out', (kind) => {
  const spareId = `${modelOfKind[kind]}-spare`;

  it.each(Object.entries(outages))('is served by the fallback: %s', async (_name, fails) => {
    const { running, reply } = await callWith(kind, [fails, completeReply(kind)]);

    expect(reply.status).toBe(200);
    expect(reply.headers['x-tollgate-model']).toBe(spareId);
    expect(hosts(running)).toEqual([first, spare]);
    const record = await running.nextRecord();
    expect(record).toMatchObject({ modelId: spareId, chargeNanos: spareNanos(kind) });
    expect(record.attempts.map(({ channelId }) => channelId)).toHaveLength(2);
    expect(await running.state()).toEqual({ held: 0n, used: spareNanos(kind), inFlight: 0 });
    expect(running.events).toContainEqual(
      expect.objectContaining({
        type: 'model_fallback',
        modelId: modelOfKind[kind],
        fallbackId: spareId,
      }),
    );
  });

  it('is served without asking an account that is switched off', async () => {
    const running = gatewayInProcess({
      handlers: [completeReply(kind)],
      models: modelsWithSpares(),
    });
    running.gateway.disableChannel(`${modelOfKind[kind]}-first`);

    expect((await running.call(sampleRequests[kind])).status).toBe(200);
    expect(hosts(running)).toEqual([spare]);
  });

  it.each(Object.entries(otherFailures))('is not sent twice: %s', async (_name, fails) => {
    const { running, reply } = await callWith(kind, [fails]);

    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(hosts(running)).toEqual([first]);
    expect(reply.headers['x-tollgate-model']).toBeUndefined();
  });

  it('fails as without a fallback if that is out too', async () => {
    const fails = refusesWith(429);
    const { running, reply } = await callWith(kind, [fails, fails]);
    const alone = await callWith(kind, [fails], {
      models: modelsWithSpares().map(({ fallbacks: _none, ...rest }) => rest),
    });

    expect(reply.status).toBe(429);
    expect(reply.text).toBe(alone.reply.text);
    expect(await running.nextRecord()).toMatchObject({
      modelId: modelOfKind[kind],
      chargeNanos: 0n,
    });
    expect(await running.state()).toEqual({ held: 0n, used: 0n, inFlight: 0 });
  });
});

describe('a fallback is left out', () => {
  const fails = refusesWith(429);

  it.each<readonly [string, Partial<Model>]>([
    ['that the group may not use', { groups: ['others'] }],
    ['that does not serve the protocol', { protocols: ['images'], price: sparePrices.image }],
  ])('%s', async (_name, change) => {
    const { running, reply } = await callWith('chat', [fails], {
      models: modelsWithSpares(change).filter(({ id }) => id.startsWith('chat')),
    });

    expect(reply.status).toBe(429);
    expect(hosts(running)).toEqual([first]);
  });

  it('whose hold the quota does not cover', async () => {
    // Enough for the 211 nanos that the first model holds, not for ten times as much.
    const quota = [{ id: 'caller', period: 'total', limitNanos: 2_109n }] as const;
    const { running, reply } = await callWith('chat', [fails], { key: { quota } });

    expect(reply.status).toBe(429);
    expect(hosts(running)).toEqual([first]);
    expect(await running.state()).toEqual({ held: 0n, used: 0n, inFlight: 0 });
  });

  it('but not one whose hold the quota just covers', async () => {
    const quota = [{ id: 'caller', period: 'total', limitNanos: 2_110n }] as const;
    const handlers = [fails, completeReply('chat')];
    const { reply } = await callWith('chat', handlers, { key: { quota } });

    expect(reply.status).toBe(200);
  });
});

describe.each(['503', '529', '429'])('while the only account cools down after a %s', (status) => {
  const refuses = refusesWith(Number(status));
  const served = completeReply('chat');

  it('every call goes to the fallback, and none to the account', async () => {
    const handlers = [refuses, served, served, served, served];
    const { running } = await callWith('chat', handlers);
    const replies = [];
    for (let sent = 0; sent < 3; sent += 1) replies.push(await running.call(sampleRequests.chat));

    expect(replies.map((reply) => [reply.status, reply.headers['x-tollgate-model']])).toEqual(
      Array(3).fill([200, 'chat-spare']),
    );
    expect(hosts(running).slice(-3)).toEqual(Array(3).fill(spare));
  });

  it('the account takes one call at a time if the fallback is out too', async () => {
    const running = gatewayInProcess({
      handlers: [refuses],
      models: modelsWithSpares(),
    });
    running.gateway.disableChannel('chat-spare');
    await running.call(sampleRequests.chat);
    const first = running.start(sampleRequests.chat);
    const second = await running.call(sampleRequests.chat);
    const [, trial] = [await running.upstream.next(), await running.upstream.next()];
    served(trial);

    expect(second.status).toBeGreaterThanOrEqual(429);
    expect((await first.reply).status).toBe(200);
    expect((await first.reply).headers['x-tollgate-model']).toBeUndefined();
    expect(await running.state()).toMatchObject({ held: 0n, inFlight: 0 });
  });
});

it('the fallbacks of a fallback are not asked', async () => {
  const fails = refusesWith(429);
  const [chat, chatSpare] = modelsWithSpares();
  if (chat === undefined || chatSpare === undefined) throw new Error('no models');
  const third = model({ id: 'third', channels: [channel({ id: 'third' })] });
  const models = [chat, { ...chatSpare, fallbacks: ['third'] }, third];
  const { running, reply } = await callWith('chat', [fails, fails], { models });

  expect(reply.status).toBe(429);
  expect(hosts(running)).toEqual([first, spare]);
});

it('a fallback gets its own time for a first byte', async () => {
  const running = gatewayInProcess({ models: modelsWithSpares() });
  const call = running.start(sampleRequests.chatStream);
  const attempt = await running.upstream.next();
  attempt.dial();
  running.clock.advance(9_000);
  attempt.breakOff('connect_timeout', { stage: 'connect', timedOut: true });
  const next = await running.upstream.next();
  running.clock.advance(20_000);
  completeReply('chatStream')(next);

  expect((await call.reply).status).toBe(200);
});

it('a model id that no header can carry is percent-encoded', async () => {
  const [chat, chatSpare] = modelsWithSpares();
  if (chat === undefined || chatSpare === undefined) throw new Error('no models');
  const models = [
    { ...chat, fallbacks: ['modèle neuf'] },
    { ...chatSpare, id: 'modèle neuf' },
  ];
  const { reply } = await callWith('chat', [refusesWith(429), completeReply('chat')], { models });

  expect(reply.headers['x-tollgate-model']).toBe(encodeURIComponent('modèle neuf'));
});

it.each<readonly [string, Partial<Model>, RegExp]>([
  ['unknown', { fallbacks: ['gone'] }, /fallback "gone" is not the id of another model/],
  ['its own', { fallbacks: ['chat'] }, /fallback "chat" is not the id of another model/],
  ['one of six', { fallbacks: ['a', 'b', 'c', 'd', 'e', 'f'] }, /5 model ids at most/],
])('a catalog whose fallback is %s is refused', (_name, change, message) => {
  expect(() => staticCatalog([model(change)])).toThrow(message);
});

it('a catalog in which a free model falls back to a priced one is refused', () => {
  const free = model({ price: { per: 'free' }, fallbacks: ['priced'] });
  const priced = model({ id: 'priced', channels: [channel({ id: 'other' })] });

  expect(() => staticCatalog([free, priced])).toThrow(/fallback "priced" has a price/);
});
