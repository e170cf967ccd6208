/** Prices from the public list of `@pydantic/genai-prices`, so that nobody has to type them. */
import { ConfigurationError } from '../errors.ts';
import type { TokenPrice } from '../money.ts';
import { tokenPrice } from './codec.ts';
import type { RatesInput } from './price-json.ts';

/** What is used of the package, or of anything of this form. */
export interface PublicPriceList {
  /** The prices of a model at this moment; null where the list does not have it. */
  calcPrice(
    usage: Readonly<Record<string, number>>,
    modelId: string,
    options: { readonly providerId: string },
  ): { readonly model_price: object } | null;
}

/** The price of a provider's model: `priceOf('anthropic', 'claude-sonnet-4-5')`. */
export type PriceOf = (providerId: string, modelId: string) => TokenPrice;

type RateName = keyof RatesInput;

/** The rates of the list, per million tokens, and ours. */
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
 * Fees of tools, which are refused unless `members` of a price lists them; and rates of cached
 * audio and images, which have none of their own here.
 */
const passedOver: ReadonlySet<string> = new Set([
  'web_searches_kcount',
  'storage_searches_kcount',
  'cache_audio_read_mtok',
  'cache_image_read_mtok',
]);

/**
 * Reads prices out of the list: `pricesFrom({ calcPrice })`. They are those of the moment at which
 * they are asked for, with their tiers by prompt size and without fees for tools.
 *
 * The function that is returned throws a ConfigurationError for a model that the list does not
 * have, and for one with a price by something else than tokens.
 */
export function pricesFrom(list: PublicPriceList): PriceOf {
  return (providerId, modelId) => {
    const found = list.calcPrice({ input_tokens: 0, output_tokens: 0 }, modelId, { providerId });
    const name = `${providerId}/${modelId}`;
    if (found === null) {
      throw new ConfigurationError(
        `pricesFrom: the list has no price of ${name}. Give it yourself.`,
      );
    }
    const rates = ratesIn(found.model_price, name);
    const starts = new Set([...rates.values()].flatMap(({ tiers }) => tiers.map(startOf)));
    const tiers = [...starts]
      .sort((one, other) => one - other)
      .map((start) => ({ aboveInputTokens: start, ...ratesAt(rates, start) }));
    return tokenPrice({ ...ratesAt(rates, 0), ...(tiers.length === 0 ? {} : { tiers }) });
  };
}

interface ListedRate {
  readonly base: number;
  readonly tiers: readonly ListedTier[];
}

interface ListedTier {
  readonly start: number;
  readonly price: number;
}

function ratesIn(prices: object, name: string): ReadonlyMap<RateName, ListedRate> {
  const rates = new Map<RateName, ListedRate>();
  for (const [key, value] of Object.entries(prices)) {
    if (value === undefined || passedOver.has(key)) continue;
    const rate = rateNames.get(key);
    const listed = rateFrom(value);
    if (rate === undefined || listed === undefined) {
      throw new ConfigurationError(
        `pricesFrom: ${name} has a price that is not by the token, ${key}. Give it yourself.`,
      );
    }
    rates.set(rate, listed);
  }
  if (rates.has('input')) return rates;
  throw new ConfigurationError(`pricesFrom: ${name} has no price of input. Give it yourself.`);
}

/** A number, or one with tiers, whose class is the package's own. */
function rateFrom(value: unknown): ListedRate | undefined {
  if (typeof value === 'number') return { base: value, tiers: [] };
  if (typeof value !== 'object' || value === null) return undefined;
  const base: unknown = Reflect.get(value, 'base');
  const tiers: unknown = Reflect.get(value, 'tiers');
  if (typeof base !== 'number' || !Array.isArray(tiers) || !tiers.every(isTier)) return undefined;
  return { base, tiers };
}

function isTier(tier: unknown): tier is ListedTier {
  return (
    typeof tier === 'object' &&
    tier !== null &&
    typeof Reflect.get(tier, 'start') === 'number' &&
    typeof Reflect.get(tier, 'price') === 'number'
  );
}

function startOf({ start }: ListedTier): number {
  return start;
}

function ratesAt(rates: ReadonlyMap<RateName, ListedRate>, start: number): RatesInput {
  const inputs: { [Name in RateName]?: string } = {};
  for (const [name, rate] of rates) inputs[name] = unitsOf(rateAt(rate, start));
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

/** Nine decimals are a nano: a third of a cent is rounded there. */
function unitsOf(price: number): string {
  return price.toFixed(9);
}
