// suite: quick runtime
/** Conversion between prices in code and in JSON, without loss. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  imagePrice,
  priceAt,
  priceFromJson,
  priceToJson,
  tokenPrice,
} from '../../src/prices/codec.ts';
import { priceSchema } from '../../src/prices/schema.ts';
import { untyped } from '../stages/ports/failing.ts';
import { anyPrice } from './arbitrary.ts';

it('every price is the same after conversion to JSON and back', () => {
  fc.assert(
    fc.property(anyPrice, (price) => {
      const text = JSON.stringify(priceToJson(price));
      expect(priceFromJson(JSON.parse(text))).toEqual(price);
      expect(priceSchema.safeParse(price).success).toBe(true);
    }),
  );
});

it('the helpers create the form in code', () => {
  expect(tokenPrice({ input: '0.15', output: '0.60', cachedInput: '0.075' })).toEqual({
    per: 'token',
    rates: { input: 150_000_000n, output: 600_000_000n, cachedInput: 75_000_000n },
  });
  expect(
    tokenPrice({
      input: '3',
      output: undefined,
      tiers: [{ aboveInputTokens: 200_000, input: '6' }],
      members: { web_search: { perCall: '0.01', holdCalls: 3 }, speed: { multiplier: '6' } },
    }),
  ).toEqual({
    per: 'token',
    rates: { input: 3_000_000_000n },
    tiers: [{ aboveInputTokens: 200_000, rates: { input: 6_000_000_000n } }],
    members: {
      web_search: { perCallNanos: 10_000_000n, holdCalls: 3 },
      speed: { multiplier: '6' },
    },
  });
  expect(imagePrice([{ size: '1024x1024', quality: 'hd', price: '0.04' }])).toEqual({
    per: 'image',
    rows: [{ size: '1024x1024', quality: 'hd', nanos: 40_000_000n }],
  });
});

describe('a price per token in place of one per million', () => {
  it.each([
    { input: '0.00000015', output: '0.0000006' },
    { input: '0.00000015' },
    { input: '0', output: '0.0006' },
    { input: '0.0000001', tiers: [{ aboveInputTokens: 5, input: '0.00015' }] },
  ])('is refused: %j', (price) => {
    expect(() => tokenPrice(price)).toThrow(
      'tokenPrice: price.input must be in units per million tokens, and all rates here are below',
    );
    expect(() => priceAt({ per: 'token', ...price }, 'models[0].price')).toThrow(
      'models[0].price.input must be in units per million tokens',
    );
  });

  it.each([
    { input: '0.15', output: '0.6' },
    { input: '0.001' },
    { input: '0', output: '0' },
    { input: '0.02', cachedInput: '0.0000001' },
  ])('is not %j', (price) => {
    expect(() => tokenPrice(price)).not.toThrow();
  });
});

describe('a helper names the invalid member', () => {
  it.each([
    [{}, 'tokenPrice: price.input is missing, and must be a decimal string'],
    [{ prompt: '0.15' }, 'tokenPrice: price.prompt does not exist. Did you mean input?'],
    [{ input: '1', completion: '1' }, 'price.completion does not exist. Did you mean output?'],
    [{ input: 0.15 }, 'tokenPrice: price.input must be a decimal string'],
    [{ input: '1', output: '1e3' }, 'tokenPrice: price.output must be'],
    [{ input: '1', inputs: '1' }, 'tokenPrice: price.inputs does not exist.'],
    [
      { input: '1', tiers: [{ input: '2' }] },
      'tokenPrice: price.tiers[0].aboveInputTokens is missing, and must be',
    ],
    [
      { input: '1', members: { speed: { multiplier: 6 } } },
      'price.members.speed.multiplier must be',
    ],
    [{ input: '1', members: { fast: {} } }, 'tokenPrice: price.members.fast does not exist.'],
  ])('%j', (input, message) => {
    expect(() => tokenPrice(untyped(input)())).toThrow(message);
  });

  it.each([
    [[], 'imagePrice: price.rows needs a row'],
    [[{}], 'imagePrice: price.rows[0].price is missing, and must be'],
    [[{ price: 1 }], 'imagePrice: price.rows[0].price must be'],
    ['0.04', 'imagePrice: price.rows must be a list of rows'],
  ])('%j', (rows, message) => {
    expect(() => imagePrice(untyped(rows)())).toThrow(message);
  });
});

it('an invalid price is undefined', () => {
  const none = [null, 5, 'free', [], {}, { per: 'call' }, { per: 'token' }, { per: 'nothing' }];

  expect(none.map(priceFromJson)).toEqual(none.map(() => undefined));
});
