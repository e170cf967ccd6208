/**
 * Reads prices from the public list of `@pydantic/genai-prices`, so that hosts need not type them.
 */
import { z } from 'zod';
import { ConfigurationError } from '../errors.ts';
import type { TokenPrice } from '../money.ts';
import { tokenPrice } from './codec.ts';
import type { RatesInput } from './price-json.ts';

/** The part of the package that is used; any object of this form works. */
export interface PublicPriceList {
  /** The current prices of a model; null if the list does not have it. */
  calcPrice(
    usage: Readonly<Record<string, number>>,
    modelId: string,
    options: {
      /** The provider's name in the list: `openai`. */
      readonly providerId: string;
    },
  ): {
    /** The prices of the model, as the list has them. */
    readonly model_price: object;
  } | null;
}

/** Returns the price of a provider's model: `priceOf('anthropic', 'claude-sonnet-4-5')`. */
export type PriceOf = (providerId: string, modelId: string) => TokenPrice;

type RateName = keyof RatesInput;

const rateNames: ReadonlyMap<string, RateName> = new Map([
  ['input_mtok', 'input'],
  ['output_mtok', 'output'],
  ['cache_read_mtok', 'cachedInput'],
  ['cache_write_mtok', 'cacheWrite5m'],
  ['cache_write_1h_mtok', 'cacheWrite1h'],
  ['output_reasoning_mtok', 'reasoning'],
  ['input_audio_mtok', 'audioInput'],
  ['output_audio_mtok', 'audioOutput'],
  ['input_image_mtok', 'imageInput'],
  ['output_image_mtok', 'imageOutput'],
  ['input_video_mtok', 'videoInput'],
]);

/**
 * Prices that are ignored: fees for tools, which are refused unless the price lists them under
 * `members`, and rates of cached audio and images, for which there is no separate rate here.
 */
const ignoredRates: ReadonlySet<string> = new Set([
  'web_searches_kcount',
  'storage_searches_kcount',
  'cache_audio_read_mtok',
  'cache_image_read_mtok',
]);

/**
 * Reads prices from the list: `pricesFrom({ calcPrice })`. The prices are those at the time of the
 * call, with tiers by prompt size and without fees for tools.
 *
 * The returned function throws a ConfigurationError for a model that the list does not have, and
 * for one that is not priced by tokens.
 */
export function pricesFrom(list: PublicPriceList): PriceOf {
  if (typeof list?.calcPrice !== 'function') {
    throw new ConfigurationError(
      'pricesFrom: list must be an object with calcPrice(). Use ' +
        "`import * as list from '@pydantic/genai-prices'`.",
    );
  }
  return (providerId, modelId) => {
    const found = list.calcPrice({ input_tokens: 0, output_tokens: 0 }, modelId, { providerId });
    const name = `${providerId}/${modelId}`;
    if (found === null) {
      throw new ConfigurationError(
        `pricesFrom: the list has no price for ${name}. Set its price yourself.`,
      );
    }
    const rates = ratesIn(found.model_price, name);
    const starts = new Set(
      [...rates.values()].flatMap(({ tiers }) => tiers.map(({ start }) => start)),
    );
    const tiers = [...starts]
      .sort((one, other) => one - other)
      .map((start) => ({ aboveInputTokens: start, ...ratesAt(rates, start) }));
    return tokenPrice({ ...ratesAt(rates, 0), ...(tiers.length === 0 ? {} : { tiers }) });
  };
}

const tier = z.object({ start: z.number(), price: z.number() });
/** A number, or an object of the package with tiers. */
const listedRate = z.union([
  z.number().transform((base) => ({ base, tiers: [] })),
  z.object({ base: z.number(), tiers: z.array(tier) }),
]);

type ListedRate = z.infer<typeof listedRate>;

function ratesIn(prices: object, name: string): ReadonlyMap<RateName, ListedRate> {
  const rates = new Map<RateName, ListedRate>();
  for (const [key, value] of Object.entries(prices)) {
    if (value === undefined || ignoredRates.has(key)) continue;
    const rate = rateNames.get(key);
    const { data: listed } = listedRate.safeParse(value);
    if (rate === undefined || listed === undefined) {
      throw new ConfigurationError(
        `pricesFrom: ${name} has a price that is not per token, ${key}. Set its price yourself.`,
      );
    }
    rates.set(rate, listed);
  }
  if (rates.has('input')) return rates;
  throw new ConfigurationError(`pricesFrom: ${name} has no input price. Set its price yourself.`);
}

function ratesAt(rates: ReadonlyMap<RateName, ListedRate>, start: number): RatesInput {
  const inputs: { [Name in RateName]?: string } = {};
  // Nine decimals, the precision of a nano, to which amounts such as a third of a cent are rounded.
  for (const [name, rate] of rates) inputs[name] = rateAt(rate, start).toFixed(9);
  return { ...inputs, input: inputs.input ?? '0' };
}

function rateAt({ base, tiers }: ListedRate, start: number): number {
  let price = base;
  let reached = 0;
  for (const tier of tiers) {
    if (tier.start > start || tier.start <= reached) continue;
    price = tier.price;
    reached = tier.start;
  }
  return price;
}
