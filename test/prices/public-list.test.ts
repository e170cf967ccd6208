// suite: quick
/** Prices of the public list, as `@pydantic/genai-prices` 0.1.8 returns them. */
import { describe, expect, it } from 'vitest';
import { tokenPrice } from '../../src/prices/codec.ts';
import { type PublicPriceList, pricesFrom } from '../../src/prices/public-list.ts';

/** The package has a class for prices with tiers. */
class TieredPrices {
  readonly base: number;
  readonly tiers: readonly { readonly start: number; readonly price: number }[];

  constructor(base: number, start: number, price: number) {
    this.base = base;
    this.tiers = [{ start, price }];
  }
}

const listed: Readonly<Record<string, object>> = {
  'anthropic/claude-sonnet-4-5': {
    input_mtok: new TieredPrices(3, 200_000, 6),
    cache_write_mtok: new TieredPrices(3.75, 200_000, 7.5),
    cache_read_mtok: new TieredPrices(0.3, 200_000, 0.6),
    output_mtok: new TieredPrices(15, 200_000, 22.5),
    cache_write_1h_mtok: new TieredPrices(6, 200_000, 12),
    web_searches_kcount: 10,
  },
  'openai/gpt-image-1': {
    input_mtok: 5,
    cache_read_mtok: 1.25,
    output_mtok: 40,
    input_image_mtok: 10,
    cache_image_read_mtok: 2.5,
  },
  'google/some-tier-of-output-alone': {
    input_mtok: 0.08333333333333334,
    output_mtok: new TieredPrices(1, 32_000, 2),
    input_audio_mtok: undefined,
  },
  'perplexity/sonar': { input_mtok: 1, output_mtok: 1, requests_kcount: 12 },
  'openai/whisper-1': { input_audio_hours: 0.36 },
  'openai/no-input': { output_mtok: 1 },
  'openai/odd': { input_mtok: '1' },
};

const list: PublicPriceList = {
  calcPrice: (_usage, modelId, { providerId }) => {
    const prices = listed[`${providerId}/${modelId}`];
    return prices === undefined ? null : { model_price: prices };
  },
};

describe('pricesFrom', () => {
  const priceOf = pricesFrom(list);

  it('reads every rate and tier', () => {
    expect(priceOf('anthropic', 'claude-sonnet-4-5')).toEqual(
      tokenPrice({
        ...{ input: '3', output: '15', cachedInput: '0.3', cacheWrite5m: '3.75' },
        cacheWrite1h: '6',
        tiers: [
          {
            ...{ aboveInputTokens: 200_000, input: '6', output: '22.5', cachedInput: '0.6' },
            ...{ cacheWrite5m: '7.5', cacheWrite1h: '12' },
          },
        ],
      }),
    );
    expect(priceOf('openai', 'gpt-image-1')).toEqual(
      tokenPrice({ input: '5', cachedInput: '1.25', imageInput: '10', output: '40' }),
    );
  });

  it('fills the other rates of a tier from the base, exact to the nano', () => {
    expect(priceOf('google', 'some-tier-of-output-alone')).toEqual(
      tokenPrice({
        ...{ input: '0.083333333', output: '1' },
        tiers: [{ aboveInputTokens: 32_000, input: '0.083333333', output: '2' }],
      }),
    );
  });

  it.each([
    ['openai', 'gpt-99', 'the list has no price for openai/gpt-99. Set its price yourself.'],
    ['perplexity', 'sonar', 'a price that is not per token, requests_kcount.'],
    ['openai', 'whisper-1', 'a price that is not per token, input_audio_hours.'],
    ['openai', 'no-input', 'has no input price.'],
    ['openai', 'odd', 'a price that is not per token, input_mtok.'],
  ])('refuses %s/%s', (provider, model, message) => {
    expect(() => priceOf(provider, model)).toThrow(message);
  });
});
