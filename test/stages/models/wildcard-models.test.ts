// suite: slow
/** Models of a wildcard in a gateway: what is sent, listed, limited and reported of them. */
import { describe, expect, it } from 'vitest';
import type { GatewayEvent } from '../../../src/events/events.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import type { Channel, Model, ProtocolName } from '../../../src/ports/models/catalog.ts';
import type { ListedModel } from '../../../src/ports/models/listed-model.ts';
import { tokenPrice } from '../../../src/prices/codec.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  type CallerReply,
  type CallerRequest,
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { channel, completeReply, model } from '../../support/models.ts';
import { takeWarnings } from '../../support/runner/process-warnings.ts';
import { drawn } from '../../support/seeds.ts';
import { answer } from '../references/responses-gateway.ts';

const protocols: readonly ProtocolName[] = [
  ...(['chat', 'responses', 'messages', 'native', 'embeddings'] as const),
];
const dialects: readonly DialectName[] = ['openai', 'anthropic', 'gemini'];

/** A price for each name but those that begin with `no`. */
function priceOf(name: string): Model['price'] | undefined {
  return name.startsWith('no') ? undefined : tokenPrice({ input: '1', output: '2' });
}

/** `openai/*`, or another wildcard. */
function wildcard(
  change: Partial<ListedModel> = {},
  channelChange: Partial<Channel> = {},
): ListedModel {
  const channels = [channel(channelChange)];
  return { ...model({ id: 'openai/*', protocols, channels }), price: priceOf, ...change };
}

const messages = [{ role: 'user', content: 'hi' }];
const contents = [{ parts: [{ text: 'hi' }] }];

/** A request of each API that names a model. */
const requests: Readonly<Record<string, (id: string) => CallerRequest>> = {
  chat: (id) => ({ path: '/v1/chat/completions', body: { model: id, messages } }),
  responses: (id) => ({ path: '/v1/responses', body: { model: id, input: 'hi' } }),
  messages: (id) => ({ path: '/v1/messages', body: { model: id, max_tokens: 9, messages } }),
  embeddings: (id) => ({ path: '/v1/embeddings', body: { model: id, input: 'hi' } }),
  native: (id) => ({ path: nativePath(id, 'generateContent'), body: { contents } }),
  'native embeddings': (id) => ({
    path: nativePath(id, 'embedContent'),
    body: { content: contents[0] },
  }),
};

function nativePath(id: string, method: string): string {
  return `/v1beta/models/${encodeURIComponent(id)}:${method}`;
}

function chat(id: string): CallerRequest {
  return requests.chat?.(id) ?? { path: '' };
}

const letters = 'ABCXYZabcxyz0189._:-';

/** A name of up to four segments that a wildcard serves; of one at Google. */
function nameFor(sequence: number, dialect?: DialectName): string {
  const draw = drawn(sequence);
  const segment = (): string =>
    `m${Array.from({ length: draw(12) }, () => letters[draw(letters.length)]).join('')}`;
  const segments = dialect === 'gemini' ? 1 : 1 + draw(3);
  return Array.from({ length: segments }, segment).join('/');
}

function refused(count: number): readonly CallHandler[] {
  return new Array<CallHandler>(count).fill((up) => up.answer(400, { error: { message: 'No.' } }));
}

/** Without the name, which differs, and the id of the request. */
function errorOf({ text }: CallerReply): string {
  return text.replaceAll('openai/', 'nothing/').replaceAll(/test-id-\d+/g, '');
}

/** The models that events name. */
function namesIn(events: readonly GatewayEvent[]): ReadonlySet<unknown> {
  const records = events.flatMap((event) => ('record' in event ? [event.record] : []));
  return new Set([...events, ...records].flatMap((one) => ('modelId' in one ? [one.modelId] : [])));
}

describe.each(dialects)('a wildcard over the dialect %s', (dialect) => {
  const version = dialect === 'gemini' ? 'v1beta' : 'v1';
  const over = { dialect, baseUrl: `https://${dialect}.example/${version}` };
  const served = Object.keys(requests).filter(
    (api) => dialect !== 'anthropic' || !api.includes('embeddings'),
  );

  it.each(served)('is called by the name of the model, through %s', async (api) => {
    const harness = gatewayInProcess({
      models: [wildcard({}, over)],
      handlers: refused(30),
      leavesHolds: 'Refused embeddings are of no interest here.',
    });
    for (let sequence = 0; sequence < 30; sequence += 1) {
      const name = nameFor(sequence, dialect);

      await harness.call(requests[api]?.(`openai/${name}`) ?? chat(''));

      const { request } = harness.upstream.calls[sequence] ?? {};
      const sent = JSON.parse(Buffer.concat([...(request?.body ?? [])]).toString() || '{}');
      const path = name.split('/').map(encodeURIComponent).join('/');
      if (dialect === 'gemini') expect(request?.path).toContain(`/v1beta/models/${path}:`);
      else expect(sent.model).toBe(name);
    }
    expect([...namesIn(harness.allEvents)]).toEqual(['openai/*']);
  });

  it.each(Object.keys(requests))('is unknown by a name without a price, to %s', async (api) => {
    const harness = gatewayInProcess({ models: [wildcard({}, over)] });

    const unpriced = await harness.call(requests[api]?.('openai/nothing') ?? chat(''));
    const unknown = await harness.call(requests[api]?.('nothing/nothing') ?? chat(''));

    expect([unpriced.status, unknown.status]).toEqual([404, 404]);
    expect(errorOf(unpriced)).toBe(errorOf(unknown));
    expect(harness.upstream.calls).toEqual([]);
  });
});

describe('a model of a wildcard', () => {
  const good = (count: number): readonly CallHandler[] =>
    new Array<CallHandler>(count).fill(completeReply('chat'));
  const gateway = (change: Partial<ListedModel>, setup: GatewaySetup = {}): InProcessGateway =>
    gatewayInProcess({ models: [wildcard(change)], handlers: good(9), ...setup });

  it('costs what the function says, under the id of the wildcard', async () => {
    const prices: Readonly<Record<string, string>> = { dear: '3', cheap: '1' };
    const harness = gateway({
      price: (name) => tokenPrice({ input: prices[name] ?? '9', output: '0' }),
    });

    for (const name of ['dear', 'cheap']) await harness.call(chat(`openai/${name}`));

    expect(harness.records).toMatchObject([
      { modelId: 'openai/*', upstreamModel: 'dear', chargeNanos: 30_000n },
      { modelId: 'openai/*', upstreamModel: 'cheap', chargeNanos: 10_000n },
    ]);
  });

  it('shares the limits of the wildcard, and has those of its own id', async () => {
    const shared = gateway({ rates: { calls: { perMinute: 2 } } });
    const own = gateway(
      {},
      {
        key: {
          rates: [
            { model: 'openai/a', calls: { perMinute: 1 } },
            { model: 'openai/*', calls: { perMinute: 3 } },
          ],
        },
      },
    );
    const statuses = async (harness: InProcessGateway, names: string): Promise<unknown[]> => {
      const found: unknown[] = [];
      for (const name of names) found.push((await harness.call(chat(`openai/${name}`))).status);
      return found;
    };

    expect(await statuses(shared, 'abc')).toEqual([200, 200, 429]);
    expect(await statuses(own, 'aabbc')).toEqual([200, 429, 200, 200, 429]);
  });

  it('may be used by the groups of the wildcard', async () => {
    const { status, text } = await gateway({ groups: ['others'] }).call(chat('openai/a'));

    expect(status).toBe(403);
    expect(text).toContain('openai/a');
    expect(await takeWarnings()).toHaveLength(1);
  });

  it('is found by its id, but no wildcard is listed', async () => {
    const harness = gateway({}, { models: [wildcard(), model({ id: 'listed', protocols })] });
    const get = async (path: string): Promise<unknown> =>
      JSON.parse((await harness.call({ method: 'GET', path })).text);

    expect(await get('/v1/models')).toMatchObject({ data: [{ id: 'listed' }] });
    expect(await get('/v1/models/openai/a')).toMatchObject({ id: 'openai/a', object: 'model' });
    expect(await get('/v1beta/models/openai%2Fa')).toMatchObject({ name: 'models/openai/a' });
    expect(await get('/v1/models/openai/*')).toMatchObject({ error: { code: 'model_not_found' } });
    expect(await get('/v1/models/openai/no')).toMatchObject({ error: { code: 'model_not_found' } });
  });

  it('is listed by its own id if a catalog of the host lists it', async () => {
    const models = ['a', 'b'].map((name) => model({ id: 'any/*', exactId: `any/${name}` }));
    const catalog = {
      find: (id: string) => models.find(({ exactId }) => exactId === id),
      list: () => models,
    };
    const harness = gateway({}, { options: { catalog } });

    const { text } = await harness.call({ method: 'GET', path: '/v1/models' });
    await harness.call(chat('any/b'));

    expect(JSON.parse(text).data).toMatchObject([{ id: 'any/a' }, { id: 'any/b' }]);
    expect(harness.records).toMatchObject([{ modelId: 'any/*' }]);
  });

  it('is named in full where it serves as a fallback', async () => {
    const limited: CallHandler = (up) => up.answer(429, { error: { message: 'No.' } });
    const harness = gateway(
      {},
      {
        models: [
          model({ channels: [channel({ id: 'other' })], fallbacks: ['openai/a'] }),
          wildcard(),
        ],
        handlers: [limited, ...good(1)],
      },
    );

    const { status, headers } = await harness.call(chat('chat'));

    expect([status, headers['x-tollgate-model']]).toEqual([200, 'openai/a']);
    expect(harness.records).toMatchObject([{ modelId: 'openai/*', upstreamModel: 'a' }]);
  });

  it('is found again for a reply that its provider has stored', async () => {
    const stored: CallHandler = (up) => up.answer(200, { id: 'resp_1', object: 'response' });
    const harness = gateway(
      { channels: [channel({ account: 'one', capabilities: { responses: true } })] },
      { handlers: [(up) => answer(up, '1'), stored] },
    );
    await harness.call(requests.responses?.('openai/a') ?? chat(''));

    const { status, text } = await harness.call({ method: 'GET', path: '/v1/responses/resp_1' });

    expect([status, JSON.parse(text).id]).toEqual([200, 'resp_1']);
  });

  it('is not a reason to take the account out when it is refused', async () => {
    const forbidden: CallHandler = (up) => up.answer(403, { error: { message: 'No.' } });
    const harness = gateway({}, { handlers: [forbidden, forbidden, ...good(1)] });

    await harness.call(chat('openai/a'));
    await harness.call(chat('openai/b'));

    expect((await harness.call(chat('openai/c'))).status).toBe(200);
  });

  it('is one warning of its channel, whatever names its upstream does not know', async () => {
    const unknown: CallHandler = (up) => up.answer(404, { error: { code: 'model_not_found' } });
    const withoutListener: object = { onEvent: undefined };
    const harness = gateway(
      {},
      { handlers: [unknown, unknown, unknown], options: withoutListener },
    );

    for (const name of ['a', 'b', 'c']) await harness.call(chat(`openai/${name}`));

    expect(await takeWarnings()).toMatchObject([{ code: 'TOLLGATE_UPSTREAM_FAILED' }]);
  });

  it('leaves on record what is wrong with the account, however many names fail', async () => {
    const harness = gateway({ price: { per: 'free' } }, { handlers: [] });
    const count = 1_010;
    const calls = Array.from({ length: count }, (_, index) =>
      harness.start(chat(`openai/m${index}`)),
    );
    for (const _call of calls) await harness.upstream.next();

    harness.upstream.calls[0]?.answer(402, { error: { message: 'No.' } });
    await calls[0]?.reply;
    for (const up of harness.upstream.calls.slice(1)) {
      up.answer(404, { error: { message: 'No.', code: 'model_not_found' } });
    }
    await Promise.all(calls.map(({ reply }) => reply));

    expect(harness.gateway.channels()).toMatchObject([{ state: 'cooling_down' }]);
    expect(harness.gateway.channels()[0]?.models.length).toBeLessThan(1_000);
  });

  it('leaves on record which models are out, however many names are unknown', async () => {
    const limited: CallHandler = (up) =>
      up.answer(429, { error: { message: 'No.' } }, { 'retry-after': '60' });
    const unknown: CallHandler = (up) => up.answer(404, { error: { code: 'model_not_found' } });
    const count = 1_010;
    const handlers = [limited, ...new Array<CallHandler>(count).fill(unknown)];
    const harness = gateway({ price: { per: 'free' } }, { handlers });

    await harness.call(chat('openai/known'));
    for (let index = 0; index < count; index += 1) await harness.call(chat(`openai/m${index}`));

    const [{ models } = { models: [] }] = harness.gateway.channels();
    expect(models.length).toBeLessThanOrEqual(1_000);
    expect(models).toContainEqual(
      expect.objectContaining({ upstreamModel: 'known', state: 'cooling_down' }),
    );
  });
});

/** Names that mean a model which the catalog may list by itself, or one of the account's own. */
const otherSpellings: readonly (readonly [name: string, dialect: DialectName, upstream: string])[] =
  [
    ['models/pro', 'gemini', '*'],
    ['publishers/google/models/pro', 'gemini', '*'],
    ['google/pro', 'gemini', '*'],
    ['endpoints/123', 'gemini', '*'],
    ['models/pro', 'openai', '*'],
    ['a/models/pro', 'openai', '*'],
    ['publishers/acme/models/pro', 'openai', '*'],
    ['accounts/acme/models/x', 'openai', '*'],
    ['arn:aws:bedrock:us-east-1:123456789012:imported-model/abc', 'anthropic', '*'],
    ['davinci:ft-acme-2022-01-01', 'openai', '*'],
    ['unedModels/x', 'openai', 't*'],
    ['t:gpt:acme::1', 'openai', 'f*'],
    ['claude:online', 'openai', '*'],
  ];

const unknownNames = otherSpellings.map(([name, dialect, upstreamModel]) => {
  return { name, dialect, upstreamModel };
});

it.each(unknownNames)('$name over $dialect is unknown', async (row) => {
  const { name, dialect, upstreamModel } = row;
  const version = dialect === 'gemini' ? 'v1beta' : 'v1';
  const over = { dialect, baseUrl: `https://${dialect}.example/${version}`, upstreamModel };
  const harness = gatewayInProcess({ models: [wildcard({}, over)], handlers: refused(1) });

  const { status } = await harness.call(chat(`openai/${name}`));

  expect(status).toBe(404);
  expect(harness.upstream.calls).toEqual([]);
});
