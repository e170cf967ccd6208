// suite: quick
/** A call never holds less than it can cost with the bytes that are sent. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../../src/bytes/body/body.ts';
import type { Price, TokenRates } from '../../../src/money.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { tokenPrice } from '../../../src/prices/codec.ts';
import { costOf } from '../../../src/prices/cost.ts';
import { routesOf } from '../../../src/protocols/routes.ts';
import { protocols } from '../../../src/protocols/table.ts';
import { readCall } from '../../../src/stages/read-call.ts';
import { type Hold, holdFor } from '../../../src/stages/settle/hold.ts';
import { type CallerRequest, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { chat, contents, image, model, sampleRequests, unbounded } from '../../support/models.ts';
import { routeSettings } from '../../support/route-settings.ts';

/** The hold of a request. */
function hold(request: CallerRequest, change: Partial<Model> = {}): Hold {
  return holdOf(request, model(change));
}

function holdOf(
  { path, search = '', body }: CallerRequest,
  of: Model,
  text: string = JSON.stringify(body),
): Hold {
  const request = { method: 'POST', path, search, headers: {} };
  const route = routesOf(protocols).find(request, routeSettings);
  if (route.kind !== 'call') throw new Error(`${path} is no call`);
  const bytes = Buffer.from(text);
  return holdFor(readCall(wholeBody(bytes), route, routeSettings), of);
}

describe('the output part', () => {
  it.each([
    ['the model’s maximum, where the caller states none', {}, 100n],
    ['the caller’s, where it is lower', { max_tokens: 7 }, 7n],
    ['the caller’s by its newer name', { max_completion_tokens: 7 }, 7n],
    ['the model’s, where the caller’s is higher', { max_tokens: 100_000 }, 100n],
    ['once for each candidate', { max_tokens: 7, n: 3 }, 21n],
  ])('is %s', (_what, members, tokens) => {
    expect(hold(chat(members)).nanos).toBe(11n + 2n * tokens);
  });

  it('is 16,384 tokens if nobody states a maximum', () => {
    const { nanos, isBounded } = holdOf(chat(), unbounded('open'));

    expect({ nanos, isBounded }).toEqual({ nanos: 11n + 2n * 16_384n, isBounded: false });
  });

  it('is the caller’s maximum if the model states none', () => {
    const { nanos, isBounded } = holdOf(chat({ max_tokens: 20_000 }), unbounded('open'));

    expect({ nanos, isBounded }).toEqual({ nanos: 11n + 40_000n, isBounded: true });
  });

  it('of a native call is read from generationConfig, in both spellings', () => {
    const spellings = [
      { generationConfig: { maxOutputTokens: 7, candidateCount: 2 } },
      { generation_config: { max_output_tokens: 7, candidate_count: 2 } },
    ];

    const held = spellings.map((config) =>
      hold({ ...sampleRequests.native, body: { contents, ...config } }),
    );

    expect(held.map(({ nanos }) => nanos)).toEqual([11n + 28n, 11n + 28n]);
  });
});

describe('the prompt part', () => {
  /** A model whose context is large enough for everything. */
  const { contextTokens: _unstated, ...roomy } = model();
  const holdOn = (request: CallerRequest, change: Partial<Model> = {}): Hold =>
    holdOf(request, { ...roomy, ...change });
  const sized = (content: unknown): CallerRequest =>
    chat({ messages: [{ role: 'user', content }] });
  const tokens = (content: unknown, change: Partial<Model> = {}): number =>
    holdOn(sized(content), change).inputTokens;
  const textTokens = (request: CallerRequest, without = 0): number =>
    Math.ceil((JSON.stringify(request.body).length - without) * 0.4);

  it('is 0.4 tokens for each byte of the body', () => {
    const request = chat({ 'a name': [1.25, { deep: true }], metadata: { team: 'red' } });

    expect(holdOn(request).inputTokens).toBe(textTokens(request));
  });

  it('is the model’s rate for each byte', () => {
    expect(holdOn(chat(), { tokensPerByte: 1 }).inputTokens).toBe(
      JSON.stringify(chat().body).length,
    );
  });

  it('includes a little more, for bytes that a relay or a translation adds around messages', () => {
    const { inputTokens, prompt } = holdOn(chat());

    expect(prompt.text - inputTokens).toBe(Math.ceil((128 + 32) * 0.4));
  });

  it('counts all bytes of a part of an unknown type', () => {
    const part = { type: 'hologram', data: 'x'.repeat(300) };

    expect(tokens([part])).toBe(textTokens(sized([part])));
  });

  const base64 = 'A'.repeat(90_000);
  const png = `data:image/png;base64,${base64}`;
  const pdf = `data:application/pdf;base64,${base64}`;

  it.each([
    ['an image', { type: 'image_url', image_url: { url: png } }, 4_096],
    ['an image with its slash escaped', { type: 'image_url', image_url: png }, 4_096],
    ['a short recording', { type: 'input_audio', input_audio: { data: base64 } }, 4_500],
    [
      'a video',
      { type: 'video_url', video_url: { url: `data:video/mp4;base64,${base64}` } },
      4_500,
    ],
    ['a PDF', { type: 'file', file: { file_data: pdf, filename: 'a.pdf' } }, 50_000],
  ])('leaves out the payload of %s', (_what, part, media) => {
    const held = tokens([part], { mediaPartTokens: { document: 50_000 } });

    expect(held).toBe(textTokens(sized([part]), base64.length) + media);
  });

  it.each([
    ['text', { file_data: `data:text/plain;base64,${base64}` }],
    ['text by its name', { file_data: pdf, filename: 'a.txt' }],
    ['text by its format', { file_data: pdf, format: 'text/plain' }],
    ['no Base64', { file_data: `data:application/pdf,${base64}` }],
    [
      'Base64 by its name alone',
      { file_data: `data:application/pdf;base64,${'Read it! '.repeat(10_000)}` },
    ],
    ['escaped Base64', { file_data: `data:application/pdf;base64,${'"'.repeat(10_000)}` }],
  ])('counts every byte of a file that is %s', (_what, file) => {
    const request = sized([{ type: 'file', file }]);

    expect(tokens([{ type: 'file', file }], { mediaPartTokens: { document: 1 } })).toBeOneOf([
      textTokens(request),
      textTokens(request) + 1,
    ]);
  });

  it('leaves out a payload whose slashes are escaped, but for the backslashes', () => {
    const body = JSON.stringify(
      sized([{ type: 'image_url', image_url: { url: `${png}///` } }]).body,
    );
    const escaped = body.replaceAll('/', '\\/');

    const held = holdOf({ ...chat(), body: JSON.parse(body) }, roomy, escaped).inputTokens;
    expect(held).toBe(Math.ceil((escaped.length - base64.length - 3) * 0.4) + 4_096);
  });

  it('counts an image by the model’s figure', () => {
    const part = { type: 'image_url', image_url: { url: png } };

    expect(tokens([part, part], { mediaPartTokens: { image: 10 } })).toBe(
      textTokens(sized([part, part]), 2 * base64.length) + 20,
    );
  });

  it.each([
    ['a PDF', { type: 'file', file: { file_data: pdf } }],
    ['a video by its address', { type: 'video_url', video_url: { url: 'https://a.example/b' } }],
    ['a page by its address', { type: 'image_url', image_url: { url: 'https://a.example/b.pdf' } }],
    ['a stored file', { type: 'image_url', image_url: { url: 'gs://bucket/cat' } }],
  ])('counts %s as the whole context, and refuses it if that is unknown', (_what, part) => {
    expect(tokens([part], { contextTokens: 9_000 })).toBe(9_000);
    expect(() => tokens([part])).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'messages[0].content[0]' }),
    );
    expect(tokens([part], { price: { per: 'free' } })).toBe(0);
  });

  it.each([
    ['inlineData', { inlineData: { mimeType: 'image/png', data: base64 } }],
    ['snake_case', { inline_data: { data: base64, mime_type: 'IMAGE/PNG' } }],
    [
      'a result',
      { functionResponse: { parts: { inlineData: { mimeType: 'image/png', data: base64 } } } },
    ],
  ])('leaves out a native image: %s', (_what, part) => {
    const request = { ...sampleRequests.native, body: { contents: [{ parts: [part] }] } };

    expect(holdOn(request).inputTokens).toBe(textTokens(request, base64.length) + 4_096);
  });

  it('counts a native signature by a fifth of its bytes', () => {
    const parts = [{ text: 'hi', thoughtSignature: base64 }];
    const body = { contents: [{ role: 'model', parts }] };
    const request = { ...sampleRequests.native, body };

    const sealed = base64.length / 5;
    const bytes = JSON.stringify(request.body).length - base64.length;
    expect(holdOn(request).inputTokens).toBe(Math.ceil(bytes * 0.4 + sealed));
  });

  it('counts cached content as a reference', () => {
    const request = {
      ...sampleRequests.native,
      body: { contents, cachedContent: 'cachedContents/1' },
    };

    expect(holdOn(request, { mediaPartTokens: { reference: 700 } }).inputTokens).toBe(
      textTokens(request) + 700,
    );
  });

  it('is never more than the context window', () => {
    expect(tokens('x'.repeat(10_000), { contextTokens: 500 })).toBe(500);
  });

  it('counts a prediction as output too, because the model may reject it', () => {
    const prediction = { type: 'content', content: 'x'.repeat(1_000) };
    const bytes = JSON.stringify(prediction).length;
    const change = { price: { ...freeInput } } as const;

    expect(hold(chat({ prediction }), change).nanos).toBe(
      2n * (100n + BigInt(Math.ceil(bytes * 0.4))),
    );
  });
});

const freeInput = {
  per: 'token',
  rates: { input: 0n, output: 2_000_000n },
} as const;

describe('an image', () => {
  const rows = [
    { size: '1024x1024', quality: 'low', nanos: 10n },
    { size: '1024x1024', quality: 'high', nanos: 90n },
    { size: '2048x2048', nanos: 200n },
  ];
  const price: Price = { per: 'image', rows };

  it.each([
    [{}, 200n],
    [{ size: 'auto', quality: 'auto' }, 200n],
    [{ size: '1024x1024' }, 90n],
    [{ size: '1024x1024', quality: 'low' }, 10n],
    [{ size: '2048x2048', quality: 'anything' }, 200n],
    [{ size: ' 1024X1024', quality: 'HIGH ' }, 90n],
    [{ quality: 'low' }, 200n],
    [{ n: 4, size: '1024x1024', quality: 'low' }, 40n],
  ])('%o holds %i', (members, nanos) => {
    expect(hold(image(members), { price }).nanos).toBe(nanos);
  });

  it.each([
    ['size', { size: '1x1' }],
    ['size', { size: '1x1', quality: 'low' }],
    ['quality', { size: '1024x1024', quality: 'ultra' }],
    ['quality', { quality: 'ultra' }],
  ])('without a price is refused, with the param %s', (param, members) => {
    const ofTwo: Price = { per: 'image', rows: rows.slice(0, 2) };

    expect(() => hold(image(members), { price: ofTwo })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    );
  });

  it('of a native call is held once for each candidate', () => {
    expect(hold(sampleRequests.native, { price }).nanos).toBe(200n);
  });
});

it('a free model holds nothing, nor does counting tokens', () => {
  const count = { ...sampleRequests.native, path: '/v1beta/models/native:countTokens' };

  expect(hold(chat(), { price: { per: 'free' } }).nanos).toBe(0n);
  expect(hold(count).nanos).toBe(0n);
});

describe('a cache that lives for an hour', () => {
  const price = tokenPrice({ input: '1', output: '0', cacheWrite5m: '2', cacheWrite1h: '4' });
  const cached = (control: string): string => {
    const part = `{"type":"text","text":"hi","cache_control":${control}}`;
    return `{"model":"chat","messages":[{"role":"user","content":[${part}]}]}`;
  };
  const heldFor = (text: string): bigint => holdOf(chat(), model({ price }), text).nanos;

  it.each([
    ['for one that is requested', cached('{"type":"ephemeral","ttl":"1h"}')],
    ['however it is spelt', cached('{"type":"ephemeral","ttl":"\\u0031h"}')],
    ['in every spelling', cached('{"type":"ephemeral","ttl":"1\\u0068"}')],
  ])('is held at its rate %s', (_what, text) => {
    // The default models have a context of 11 tokens, which cost a thousand nanos each at 1 a
    // million.
    expect(heldFor(text)).toBe(11n * 4_000n);
  });

  it('is held only if requested; one of five minutes always is, as some cache unasked', () => {
    expect(heldFor(cached('{"type":"ephemeral"}'))).toBe(11n * 2_000n);
    expect(heldFor(JSON.stringify(chat().body))).toBe(11n * 2_000n);
  });
});

/** More than any prompt of the property test needs. */
const roomy = { contextTokens: 1_000_000 };

it('for any request, no usage within its bounds costs more than its hold', () => {
  const nanos = fc.bigInt(0n, 10_000_000_000n);
  const rates: fc.Arbitrary<TokenRates> = fc.record(
    {
      ...{ input: nanos, output: nanos, cachedInput: nanos },
      ...{ cacheWrite5m: nanos, cacheWrite1h: nanos, reasoning: nanos },
      ...{ audioInput: nanos, audioOutput: nanos, imageInput: nanos, imageOutput: nanos },
      videoInput: nanos,
    },
    { requiredKeys: ['input'] },
  );
  const tier = fc.record({ aboveInputTokens: fc.integer({ min: 1, max: 400 }), rates });
  const price: fc.Arbitrary<Price> = fc.record({
    per: fc.constant('token'),
    rates,
    tiers: fc.array(tier, { maxLength: 3 }),
  });
  const count = fc.integer({ min: 1, max: 2_000_000 });
  const share = fc.double({ min: 0, max: 1, noNaN: true });

  fc.assert(
    fc.property(
      price,
      count,
      fc.integer({ min: 1, max: 128 }),
      count,
      fc.string({ maxLength: 500 }),
      fc.array(share, { minLength: 12, maxLength: 12 }),
      (ofPrice, maxTokens, n, modelMaximum, content, shares) => {
        const cache = { type: 'text', text: '', cache_control: { type: 'ephemeral', ttl: '1h' } };
        const messages = [{ role: 'user', content: [{ type: 'text', text: content }, cache] }];
        const of = { ...model({ price: ofPrice, maxOutputTokens: modelMaximum }), ...roomy };
        const held = holdOf(chat({ messages, n, max_tokens: maxTokens }), of);

        const part = (of: number, index: number): number => Math.floor(of * (shares[index] ?? 0));
        const inputTokens = part(held.inputTokens, 0);
        const outputTokens = part(n * Math.min(maxTokens, modelMaximum), 1);
        const usage = {
          inputTokens,
          cachedInputTokens: part(inputTokens, 2),
          cacheWrite5mTokens: part(inputTokens, 3),
          cacheWrite1hTokens: part(inputTokens, 4),
          outputTokens,
          reasoningTokens: part(outputTokens, 5),
          audioOutputTokens: part(outputTokens, 6),
          imageOutputTokens: part(outputTokens, 7),
          largestPassInputTokens: part(inputTokens, 8),
          images: 0,
        };
        expect(costOf(usage, ofPrice)).toBeLessThanOrEqual(held.nanos);
      },
    ),
    { numRuns: 300 },
  );
});

it('a model without a stated maximum is reported once', async () => {
  const { call, events } = gatewayInProcess({
    handlers: Array.from({ length: 3 }, () => (up) => up.answer(400, {})),
  });

  await call(chat({ model: 'open', max_tokens: 5 }));
  expect(events.filter(({ type }) => type === 'no_stated_maximum')).toEqual([]);
  await call(chat({ model: 'open' }));
  await call(chat({ model: 'open' }));

  expect(events.filter(({ type }) => type === 'no_stated_maximum')).toEqual([
    { type: 'no_stated_maximum', modelId: 'open' },
  ]);
});
