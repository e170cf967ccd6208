/** What tokens cost, by their kind and by the size of the prompt; in millionths of a nano. */
import type { Nanos, Price, TokenPrice, TokenRates, Usage } from '../money.ts';
import { imageNanos } from './images.ts';

/** Tokens that a call will not exceed. */
export interface TokenBound {
  readonly textTokens: number;
  readonly mediaTokens: number;
  readonly outputTokens: number;
  readonly mayCacheForAnHour: boolean;
}

/** The cost of a usage: each token once, by its most specific kind that has a count and a rate. */
export function costOfTokens(usage: Usage, price: TokenPrice): bigint {
  const rates = ratesFor(price, promptOf(usage));
  return costOfInput(usage, rates) + costOfOutput(usage, rates);
}

/** The tokens by which a tier is chosen. */
function promptOf({ inputTokens, largestPassInputTokens = inputTokens }: Usage): number {
  return Math.min(largestPassInputTokens, inputTokens);
}

/**
 * Counts may overlap (a cached token may be audio), and most replies do not say by how much: cached
 * tokens count as text as far as there is text, so that none is charged twice.
 */
function costOfInput(usage: Usage, rates: TokenRates): bigint {
  const { input, cachedInput = input, cacheWrite5m = input, cacheWrite1h = cacheWrite5m } = rates;
  const charged = charging(usage.inputTokens, input);
  // Most replies have none of these, and a call for each costs more than the sum.
  if (usage.cachedInputTokens > 0) charged.part(usage.cachedInputTokens, cachedInput);
  if (usage.cacheWrite1hTokens) charged.part(usage.cacheWrite1hTokens, cacheWrite1h);
  if (usage.cacheWrite5mTokens) charged.part(usage.cacheWrite5mTokens, cacheWrite5m);
  if (usage.audioInputTokens) charged.part(usage.audioInputTokens, rates.audioInput);
  if (usage.imageInputTokens) charged.part(usage.imageInputTokens, rates.imageInput);
  if (usage.videoInputTokens) charged.part(usage.videoInputTokens, rates.videoInput);
  return charged.total();
}

function costOfOutput(usage: Usage, rates: TokenRates): bigint {
  const { input, output = input } = rates;
  const charged = charging(usage.outputTokens, output);
  if (usage.imageOutputTokens) charged.part(usage.imageOutputTokens, rates.imageOutput);
  if (usage.audioOutputTokens) charged.part(usage.audioOutputTokens, rates.audioOutput);
  if (usage.reasoningTokens) charged.part(usage.reasoningTokens, rates.reasoning);
  return charged.total();
}

/** Takes parts of a count at rates of their own; what is left costs the plain rate. */
interface Charging {
  part(tokens: number, rate: Nanos | undefined): void;
  total(): bigint;
}

function charging(tokens: number, plainRate: Nanos): Charging {
  let left = tokens;
  let cost = 0n;
  return {
    part: (count, rate = plainRate) => {
      const charged = Math.min(count, left);
      left -= charged;
      cost += BigInt(charged) * rate;
    },
    total: () => cost + BigInt(left) * plainRate,
  };
}

/**
 * What tokens cost at most. Text may be cached or not; a part that is media may be counted as any
 * kind of input (a video has sound, a document pictures); output may be of any kind.
 */
export function boundOfTokens(bound: TokenBound, price: TokenPrice): bigint {
  const { textTokens, mediaTokens } = bound;
  let most = boundAt(price.rates, bound);
  for (const { aboveInputTokens, rates } of price.tiers ?? []) {
    // A prompt may stay below its bound: every tier that it can reach counts.
    if (textTokens + mediaTokens <= aboveInputTokens) continue;
    const cost = boundAt(rates, bound);
    if (cost > most) most = cost;
  }
  return most;
}

function boundAt(rates: TokenRates, bound: TokenBound): bigint {
  const { input, cachedInput, cacheWrite5m, cacheWrite1h } = rates;
  const text = highest(
    input,
    cachedInput,
    cacheWrite5m,
    bound.mayCacheForAnHour ? cacheWrite1h : undefined,
  );
  const media = highest(text, rates.audioInput, rates.imageInput, rates.videoInput);
  return (
    BigInt(bound.textTokens) * text +
    BigInt(bound.mediaTokens) * media +
    BigInt(bound.outputTokens) * highestOutput(rates)
  );
}

function highestOutput({
  input,
  output = input,
  reasoning,
  audioOutput,
  imageOutput,
}: TokenRates): Nanos {
  return highest(output, reasoning, audioOutput, imageOutput);
}

/** The most expensive unit of a price, which a channel's `maxPriceNanos` is compared with. */
export function mostExpensiveUnit(price: Price): Nanos {
  switch (price.per) {
    case 'free':
      return 0n;
    case 'image':
      return imageNanos(price, undefined, undefined) ?? 0n;
    case 'token':
      return highest(
        highestOutput(price.rates),
        ...(price.tiers ?? []).map(({ rates }) => highestOutput(rates)),
      );
  }
}

/** Whether some rate of a price holds only for a cache entry that lives for an hour. */
export function hasHourRate(price: TokenPrice): boolean {
  return (
    price.rates.cacheWrite1h !== undefined ||
    price.tiers?.some(({ rates }) => rates.cacheWrite1h !== undefined) === true
  );
}

function ratesFor({ rates, tiers }: TokenPrice, inputTokens: number): TokenRates {
  if (tiers === undefined) return rates;
  let threshold = -1;
  let reached = rates;
  for (const tier of tiers) {
    if (inputTokens <= tier.aboveInputTokens || tier.aboveInputTokens <= threshold) continue;
    threshold = tier.aboveInputTokens;
    reached = tier.rates;
  }
  return reached;
}

function highest(first: Nanos, ...others: readonly (Nanos | undefined)[]): Nanos {
  let most = first;
  for (const rate of others) {
    if (rate !== undefined && rate > most) most = rate;
  }
  return most;
}
