// suite: quick
/** What an embedding call holds: each input on its own, ids exactly, and no output. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../../src/bytes/body/body.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { routesOf } from '../../../src/protocols/routes.ts';
import { protocols } from '../../../src/protocols/table.ts';
import { readCall } from '../../../src/stages/read-call.ts';
import { holdFor } from '../../../src/stages/settle/hold.ts';
import { model } from '../../support/models.ts';
import { routeSettings } from '../../support/route-settings.ts';

/** 1 nano a token. */
const embedder: Model = model({
  id: 'e',
  protocols: ['embeddings'],
  price: { per: 'token', rates: { input: 1_000_000n } },
  contextTokens: 100,
});

function held(path: string, body: unknown, of: Partial<Model> = {}): bigint {
  const route = routesOf(protocols).find(
    { method: 'POST', path, search: '', headers: {} },
    routeSettings,
  );
  if (route.kind !== 'call') throw new Error(`${path} is no call`);
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const call = readCall(wholeBody(Buffer.from(text)), route, routeSettings);
  return holdFor(call, { ...embedder, ...of }).nanos;
}

const openai = (input: unknown, more: object = {}, of: Partial<Model> = {}) =>
  held('/v1/embeddings', { model: 'e', input, ...more }, of);
const batch = (requests: readonly object[], of: Partial<Model> = {}) =>
  held('/v1beta/models/e:batchEmbedContents', { requests }, of);
const text = (words: string) => ({ content: { parts: [{ text: words }] } });

/** The rule of the documentation: 0.4 tokens a byte and 2 tokens around a text. */
function bound(bytes: number, context = 100): bigint {
  return BigInt(Math.min(Math.ceil(bytes * 0.4) + 2, context));
}

describe('the hold of an embedding call', () => {
  const words = fc.string({ minLength: 1, maxLength: 400, unit: 'grapheme-ascii' });

  it('is the sum over its inputs, each at most one context', () => {
    fc.assert(
      fc.property(fc.array(words, { minLength: 1, maxLength: 20 }), (inputs) => {
        const sizes = inputs.map((one) => JSON.stringify(one).length - 2);
        const expected = sizes.reduce((sum, bytes) => sum + bound(bytes), 0n);

        expect(openai(inputs)).toBe(expected);
        expect(batch(inputs.map(text))).toBe(expected);
      }),
    );
  });

  it('does not depend on how the JSON around the inputs is written', () => {
    const plain = openai(['hello', 'world'], { dimensions: 8, encoding_format: 'base64' });
    const pretty = JSON.stringify(
      { encoding_format: 'base64', model: 'e', input: ['hello', 'world'], dimensions: 8 },
      null,
      8,
    );

    expect(plain).toBe(8n);
    expect(held('/v1/embeddings', pretty)).toBe(plain);
    expect(
      batch([
        { ...text('hello'), model: 'models/e', taskType: 'RETRIEVAL_QUERY' },
        { ...text('world'), model: 'models/e', output_dimensionality: 8 },
      ]),
    ).toBe(plain);
  });

  it('is above one context for a batch, however long', () => {
    expect(openai(Array(2_048).fill('x'.repeat(1_000)))).toBe(204_800n);
    expect(batch(Array(100).fill(text('x'.repeat(1_000))))).toBe(10_000n);
  });

  it('counts token ids exactly, in each of their forms', () => {
    expect(openai([1, 2, 3])).toBe(3n);
    expect(openai([[1, 2, 3], [4]])).toBe(4n);
    expect(openai([Array(101).fill(7), [1]])).toBe(101n);
    expect(openai(Array(5_000).fill(100_257), {}, { contextTokens: 8_192 })).toBe(5_000n);
  });

  it('counts what belongs to no input as text', () => {
    const user = 'u'.repeat(1_000);

    expect(openai(['hi'], { user })).toBeGreaterThanOrEqual(bound(2) + 400n);
    expect(openai(['hi'], { unknown: { deep: [user] } })).toBeGreaterThanOrEqual(bound(2) + 400n);
    // Within a request, its own context is the bound.
    expect(batch([{ ...text('hi'), title: user }], { contextTokens: 10_000 })).toBe(
      // The quotes of the title count.
      bound(1_004, 10_000),
    );
    expect(batch([{ ...text('hi'), title: user }, text('hi')])).toBe(100n + bound(2));
    expect(batch([{ ...text('hi'), taskType: user }])).toBe(100n);
  });

  it('counts media by their kind, at the rate of media', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'A'.repeat(4_000) } };
    const price = { per: 'token', rates: { input: 1_000_000n, imageInput: 2_000_000n } } as const;
    const of = { price, contextTokens: 8_192, mediaPartTokens: { image: 258 } };
    const one = { content: { parts: [{ text: 'hi' }, image] } };

    // The media type and the names around the data count as text: 33 bytes with "hi".
    expect(batch([one], of)).toBe(bound(33, 8_192) + 516n);
    expect(batch([one, one], of)).toBe(2n * (bound(33, 8_192) + 516n));
  });

  it('is nothing for a free model', () => {
    expect(openai(['hi'], {}, { price: { per: 'free' } })).toBe(0n);
  });
});
