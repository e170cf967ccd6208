/** §2.5 what a call holds: never less than it can cost with the bytes that are sent. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../src/bytes/body.ts';
import { costOf, type Price } from '../../src/money.ts';
import type { Model } from '../../src/ports/catalog.ts';
import { findRoute } from '../../src/protocols/endpoints.ts';
import { type Hold, holdFor } from '../../src/stages/hold.ts';
import { readCall } from '../../src/stages/read-call.ts';
import { type Asked, scene } from './scene.ts';
import { ask, chat, contents, image, model, unbounded } from './scene-models.ts';

const hello = [{ role: 'user', content: 'hi' }];

/** The hold for what a caller asks. */
function hold(asked: Asked, change: Partial<Model> = {}): Hold {
  return holdOf(asked, model(change));
}

function holdOf({ path, search = '', body }: Asked, of: Model): Hold {
  const asked = { method: 'POST', path, search, headers: {} };
  const route = findRoute(asked, { nativeKeyHeaders: [], allowQueryKey: false });
  if (route.kind !== 'call') throw new Error(`${path} is no call`);
  const bytes = Buffer.from(JSON.stringify(body));
  return holdFor(readCall(wholeBody(bytes), route), of);
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

  it('is 16,384 tokens where nobody states a maximum', () => {
    const { nanos, isBounded } = holdOf(chat(), unbounded('open'));

    expect({ nanos, isBounded }).toEqual({ nanos: 11n + 2n * 16_384n, isBounded: false });
  });

  it('is the caller’s where the model states none', () => {
    const { nanos, isBounded } = holdOf(chat({ max_tokens: 20_000 }), unbounded('open'));

    expect({ nanos, isBounded }).toEqual({ nanos: 11n + 40_000n, isBounded: true });
  });

  it('of a native call is read from generationConfig, in both spellings', () => {
    const spellings = [
      { generationConfig: { maxOutputTokens: 7, candidateCount: 2 } },
      { generation_config: { max_output_tokens: 7, candidate_count: 2 } },
    ];

    const held = spellings.map((config) => hold({ ...ask.native, body: { contents, ...config } }));

    expect(held.map(({ nanos }) => nanos)).toEqual([9n + 28n, 9n + 28n]);
  });
});

describe('the prompt part', () => {
  const tokens = (content: unknown, change: Partial<Model> = {}): number =>
    hold(chat({ messages: [{ role: 'user', content }] }), change).inputTokens;

  it('is two fifths of a token for a byte of text, and 8 for each message', () => {
    expect(hold(chat()).inputTokens).toBe(8 + Math.ceil(('user'.length + 2) * 0.4));
    expect(hold(chat({ messages: [...hello, ...hello] })).inputTokens).toBe(16 + 5);
  });

  it('takes text parts as text', () => {
    expect(tokens([{ type: 'text', text: 'hi' }])).toBe(tokens('hi'));
  });

  it('takes a part of an unknown type by all of its bytes', () => {
    const part = { type: 'hologram', data: 'x'.repeat(300) };

    expect(tokens([part])).toBe(8 + Math.ceil((4 + JSON.stringify(part).length) * 0.4));
  });

  it.each(['image_url', 'input_audio', 'file'])('takes a part of type %s by count', (type) => {
    const part = { type, [type]: { url: 'x'.repeat(9_000) } };

    expect(tokens([part])).toBe(8 + 2 + 4_096);
    expect(tokens([part, part], { mediaPartTokens: 10 })).toBe(8 + 2 + 20);
  });

  it('counts tools and schemas', () => {
    const tools = [{ type: 'function', function: { name: 'x'.repeat(300) } }];
    const more = hold(chat({ tools })).inputTokens - hold(chat()).inputTokens;

    expect(more).toBeGreaterThanOrEqual(Math.floor(JSON.stringify(tools).length * 0.4));
  });

  it('is never more than the context window', () => {
    expect(tokens('x'.repeat(10_000), { contextTokens: 500 })).toBe(500);
  });
});

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
  ])('without a price is refused, and %s named', (param, members) => {
    const ofTwo: Price = { per: 'image', rows: rows.slice(0, 2) };

    expect(() => hold(image(members), { price: ofTwo })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    );
  });

  it('that a native call makes is held once for each candidate', () => {
    expect(hold(ask.native, { price }).nanos).toBe(200n);
  });
});

it('a free model holds nothing, nor does counting tokens', () => {
  const count = { ...ask.native, path: '/v1beta/models/native:countTokens' };

  expect(hold(chat(), { price: { per: 'nothing' } }).nanos).toBe(0n);
  expect(hold(count).nanos).toBe(0n);
});

it('T44 whatever a caller may ask, no usage within its bounds costs more than it holds', () => {
  const nanos = fc.bigInt(0n, 10_000_000_000n);
  const price: fc.Arbitrary<Price> = fc
    .record({ inputPerMillionNanos: nanos, outputPerMillionNanos: nanos, discount: nanos })
    .map(({ discount, ...rest }) => ({
      per: 'token',
      ...rest,
      cachedInputPerMillionNanos:
        discount < rest.inputPerMillionNanos ? discount : rest.inputPerMillionNanos,
    }));
  const count = fc.integer({ min: 1, max: 2_000_000 });
  const share = fc.double({ min: 0, max: 1, noNaN: true });

  fc.assert(
    fc.property(
      price,
      count,
      fc.integer({ min: 1, max: 128 }),
      count,
      fc.string({ maxLength: 500 }),
      fc.tuple(share, share, share),
      (ofPrice, maxTokens, n, modelMaximum, content, [input, cached, output]) => {
        const messages = [{ role: 'user', content }];
        const of = model({ price: ofPrice, maxOutputTokens: modelMaximum });
        const held = holdOf(chat({ messages, n, max_tokens: maxTokens }), of);

        const inputTokens = Math.floor(held.inputTokens * input);
        const usage = {
          inputTokens,
          cachedInputTokens: Math.floor(inputTokens * cached),
          outputTokens: Math.floor(n * Math.min(maxTokens, modelMaximum) * output),
          images: 0,
        };
        expect(costOf(usage, ofPrice)).toBeLessThanOrEqual(held.nanos);
      },
    ),
    { seed: 44, numRuns: 300 },
  );
});

it('§2.5 a model without a stated maximum is told of once', async () => {
  const { call, events } = scene({
    plays: Array.from({ length: 3 }, () => (up) => up.answer(400, {})),
  });

  await call(chat({ model: 'open', max_tokens: 5 }));
  expect(events.filter(({ type }) => type === 'no_stated_maximum')).toEqual([]);
  await call(chat({ model: 'open' }));
  await call(chat({ model: 'open' }));

  expect(events.filter(({ type }) => type === 'no_stated_maximum')).toEqual([
    { type: 'no_stated_maximum', modelId: 'open' },
  ]);
});
