// suite: quick
/** Embeddings requests: what is refused, which models serve them, and how they are listed. */
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { anyModelGateway, embeddings, nativeEmbeddings } from '../../support/any-model-gateway.ts';
import { type CallerRequest, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, model } from '../../support/models.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

const reply = (text: string) => ({
  headers: { 'content-type': 'application/json' },
  chunks: [text],
});
const vector = reply('{"data":[{"embedding":[1]}],"usage":{"prompt_tokens":1}}');

const embedder = model({
  id: 'embedder',
  protocols: ['embeddings'],
  price: { per: 'token', rates: { input: 1_000_000n } },
});

describe('a body is refused', () => {
  const long = JSON.stringify(Array(2_049).fill('x'));
  const cases: readonly (readonly [body: string, param: string])[] = [
    ['{"model":"m"}', 'input'],
    ['{"model":"m","input":null}', 'input'],
    ['{"model":"m","input":""}', 'input'],
    ['{"model":"m","input":[]}', 'input'],
    ['{"model":"m","input":{}}', 'input'],
    ['{"model":"m","input":7}', 'input'],
    [`{"model":"m","input":${long}}`, 'input'],
    ['{"model":"m","input":["a",1]}', 'input[1]'],
    ['{"model":"m","input":["a",["b"]]}', 'input[1]'],
    ['{"model":"m","input":[1,"a"]}', 'input[1]'],
    ['{"model":"m","input":[[1],2]}', 'input[1]'],
    ['{"model":"m","input":[[1],["a"]]}', 'input[1]'],
    ['{"model":"m","input":[{"text":"a"}]}', 'input[0]'],
    ['{"model":"m","input":[null]}', 'input[0]'],
    ['{"input":"a"}', 'model'],
    ['{"model":"","input":"a"}', 'model'],
    ['{"model":"m","input":"a","encoding_format":"int8"}', 'encoding_format'],
    ['{"model":"m","input":"a","encoding_format":["float"]}', 'encoding_format'],
    ['{"model":"m","input":"a","dimensions":0}', 'dimensions'],
    ['{"model":"m","input":"a","dimensions":"8"}', 'dimensions'],
    ['{"model":"m","input":"a","extra_body":{"input":"b"}}', 'extra_body.input'],
    ['{"model":"m","input":"a","extra_body":{"model":"n"}}', 'extra_body.model'],
    ['{"model":"m","input":"a","dimensions":8,"extra_body":{"dimensions":9}}', 'extra_body.dim'],
  ];

  it.each(cases)('%s', async (body, param) => {
    const { status, text } = await anyModelGateway().call(embeddings(body));

    expect(status).toBe(400);
    expect(JSON.parse(text).error.param).toContain(param);
  });

  const content = '"content":{"parts":[{"text":"a"}]}';
  const nativeCases: readonly (readonly [body: string, field: string])[] = [
    ['{}', 'requests'],
    ['{"requests":[]}', 'requests'],
    [`{${content}}`, 'requests'],
    ['{"requests":["a"]}', 'requests[0]'],
    [`{"requests":[{${content}},{}]}`, 'requests[1].content'],
    [`{"requests":[{${content},"outputDimensionality":0}]}`, 'requests[0].outputDimensionality'],
    [
      `{"requests":[{${content},"outputDimensionality":8,"output_dimensionality":9}]}`,
      'requests[0].outputDimensionality',
    ],
    [`{"requests":[{${content},"taskType":"A","task_type":"B"}]}`, 'requests[0].taskType'],
  ];

  it.each(nativeCases)('native: %s', async (body, field) => {
    const { status, text } = await anyModelGateway().call(nativeEmbeddings(body));

    expect(status).toBe(400);
    expect(JSON.parse(text).error.message).toContain(`\`${field}\``);
  });

  it.each([
    '{}',
    '{"requests":[]}',
    '{"content":{},"outputDimensionality":-1}',
  ])('native, for one content: %s', async (body) => {
    const { status } = await anyModelGateway().call(nativeEmbeddings(body, 'embedContent'));

    expect(status).toBe(400);
  });

  it.each([
    '"input":"a"',
    '"input":["a","b"]',
    '"input":[1,2]',
    '"input":[[1],[2,3]]',
    '"input":"a","encoding_format":"base64","dimensions":8,"user":"u","other":{"x":[1]}',
    '"input":"a","encoding_format":null,"dimensions":null',
  ])('never for what the API takes: %s', async (members) => {
    const gateway = anyModelGateway({ upstream: scriptedUpstream(vector) });

    expect((await gateway.call(embeddings(`{"model":"m",${members}}`))).status).toBe(200);
  });
});

describe('a model', () => {
  const chatBody = { messages: [{ role: 'user', content: 'hi' }] };
  const calls = {
    chat: (id: string): CallerRequest => ({
      path: '/v1/chat/completions',
      body: { model: id, ...chatBody },
    }),
    embeddings: (id: string): CallerRequest => ({
      path: '/v1/embeddings',
      body: { model: id, input: 'hi' },
    }),
    native: (id: string): CallerRequest => ({
      path: `/v1beta/models/${id}:generateContent`,
      body: { contents: [{ parts: [{ text: 'hi' }] }] },
    }),
    batch: (id: string): CallerRequest => ({
      path: `/v1beta/models/${id}:batchEmbedContents`,
      body: { requests: [{ content: { parts: [{ text: 'hi' }] } }] },
    }),
  };
  const models = [model({ id: 'writer', protocols: ['chat', 'native'] }), embedder];

  it.each([
    ['chat', 'embedder'],
    ['native', 'embedder'],
    ['embeddings', 'writer'],
    ['batch', 'writer'],
  ] as const)('%s is 404 with the model %s, and names what serves it', async (api, id) => {
    const { call } = gatewayInProcess({ models });

    const { status, text } = await call(calls[api](id));

    expect(status).toBe(404);
    expect(JSON.parse(text).error.message).toContain(
      id === 'embedder'
        ? 'POST /v1/embeddings or POST /v1beta/models/{model}:embedContent'
        : 'POST /v1/chat/completions',
    );
  });

  it('with a channel’s price limit is compared by its input price', async () => {
    const limited = (maxPriceNanos: bigint): readonly Model[] => [
      { ...embedder, channels: [channel({ maxPriceNanos })] },
    ];
    const statuses = await Promise.all(
      [999_999n, 1_000_000n].map(async (limit) => {
        const upstream = scriptedUpstream(vector);
        const { call } = gatewayInProcess({ models: limited(limit), options: { upstream } });
        return (await call(calls.embeddings('embedder'))).status;
      }),
    );

    expect(statuses).toEqual([503, 200]);
  });

  it('is listed with its methods', async () => {
    const both = model({ id: 'both', protocols: ['native', 'embeddings'] });
    const { call } = gatewayInProcess({ models: [...models, both] });

    const { text } = await call({ method: 'GET', path: '/v1beta/models' });
    const { models: listed } = JSON.parse(text);

    const chat = ['generateContent', 'streamGenerateContent', 'countTokens'];
    const embedding = ['embedContent', 'batchEmbedContents'];
    expect(listed).toMatchObject([
      { name: 'models/writer', supportedGenerationMethods: chat },
      { name: 'models/both', supportedGenerationMethods: [...chat, ...embedding] },
      { name: 'models/embedder', supportedGenerationMethods: [...embedding, 'countTokens'] },
    ]);
  });

  it('is listed for OpenAI’s clients like any other', async () => {
    const { call } = gatewayInProcess({ models });
    const { text } = await call({ method: 'GET', path: '/v1/models' });

    expect(JSON.parse(text).data.map(({ id }: { id: string }) => id)).toContain('embedder');
  });
});

describe('media in a native request', () => {
  const image = '{"inlineData":{"mimeType":"image/png","data":"AAAA"}}';
  const body = (part: string) => `{"requests":[{"content":{"parts":[{"text":"a"},${part}]}}]}`;

  it('is refused where the price has no rate for it, and names the part', async () => {
    const price = { per: 'token', rates: { input: 1n, output: 1n, audioInput: 2n } } as const;
    const gateway = anyModelGateway({ model: { price } });

    for (const part of [image, image.replace('inlineData', 'inline_data')]) {
      const { status, text } = await gateway.call(nativeEmbeddings(body(part)));

      expect(status).toBe(400);
      expect(text).toContain('requests[0].content.parts[1]');
    }
    const audio = image.replace('image/png', 'audio/mp3');
    const upstream = scriptedUpstream(reply('{"embeddings":[{"values":[1]}]}'));
    const audible = anyModelGateway({ upstream, model: { price } });
    expect((await audible.call(nativeEmbeddings(body(audio)))).status).toBe(200);
  });

  it('is served by a free model', async () => {
    const upstream = scriptedUpstream(reply('{"embeddings":[{"values":[1]}]}'));
    const gateway = anyModelGateway({ upstream, model: { price: { per: 'free' } } });

    expect((await gateway.call(nativeEmbeddings(body(image)))).status).toBe(200);
  });
});

describe('a catalog', () => {
  const other = channel({ id: 'b', upstreamModel: 'other' });
  const mixed = { ...embedder, channels: [channel(), other] };
  const fallen = { ...embedder, id: 'first', fallbacks: ['embedder'] };

  it('refuses channels and fallbacks that make other vectors, unless stated to be the same', () => {
    expect(() => staticCatalog([mixed])).toThrow(/embedder and other.*sameVectors/);
    expect(() => staticCatalog([fallen, embedder])).toThrow(/fallback.*sameVectors/);
    expect(() => staticCatalog([{ ...mixed, sameVectors: true }])).not.toThrow();
    expect(() => staticCatalog([{ ...fallen, sameVectors: true }, embedder])).not.toThrow();
    expect(() => staticCatalog([model({ channels: mixed.channels })])).not.toThrow();
  });

  it('refuses a price per image for embeddings', () => {
    const price = { per: 'image', rows: [{ nanos: 1n }] } as const;
    expect(() => staticCatalog([{ ...embedder, price }])).toThrow(/no price per image/);
  });

  it('of a host that returns such a model has failed', async () => {
    const { call, events } = gatewayInProcess({
      options: { catalog: { find: () => mixed, list: () => [mixed] } },
    });

    const { status } = await call({ path: '/v1/embeddings', body: { model: 'x', input: 'hi' } });

    expect(status).toBe(503);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'port_failed', port: 'catalog', member: 'channels' }),
    );
  });
});

describe('an embedding call', () => {
  it('is sent again after a failure that may have run, and charged once', async () => {
    const failed = { status: 500, chunks: ['{}'] };
    const upstream = scriptedUpstream(failed, vector);
    const { call, records } = gatewayInProcess({
      models: [{ ...embedder, channels: [channel(), channel({ id: 'b' })] }],
      options: { upstream },
    });

    const { status } = await call({
      path: '/v1/embeddings',
      body: { model: 'embedder', input: 'a' },
    });

    expect(status).toBe(200);
    expect(upstream.requests).toHaveLength(2);
    expect(records.map(({ chargeNanos }) => chargeNanos)).toEqual([1n]);
  });

  it('with an idempotency key is answered from its copy', async () => {
    const upstream = scriptedUpstream(vector);
    const { call } = gatewayInProcess({ models: [embedder], options: { upstream } });
    const request = {
      path: '/v1/embeddings',
      headers: { 'idempotency-key': 'once' },
      body: { model: 'embedder', input: 'a' },
    };

    const replies = [await call(request), await call(request)];

    expect(replies.map(({ text }) => text)).toEqual([...vector.chunks, ...vector.chunks]);
    expect(upstream.requests).toHaveLength(1);
  });
});
