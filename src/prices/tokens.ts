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
 * Counts overlap (a cached token may be audio), and replies do not say by how much: cached tokens
 * count as text as far as there is text, so that none is charged twice.
 */
function costOfInput(usage: Usage, rates: TokenRates): bigint {
  const { input, cachedInput = input, cacheWrite5m = input, cacheWrite1h = cacheWrite5m } = rates;
  let left = usage.inputTokens;
  let cost = 0n;
  const charge = (tokens: number | undefined, rate: Nanos): void => {
    if (tokens === undefined || tokens <= 0) return;
    const charged = Math.min(tokens, left);
    left -= charged;
    cost += BigInt(charged) * rate;
  };
  charge(usage.cachedInputTokens, cachedInput);
  charge(usage.cacheWrite1hTokens, cacheWrite1h);
  charge(usage.cacheWrite5mTokens, cacheWrite5m);
  charge(usage.audioInputTokens, rates.audioInput ?? input);
  charge(usage.imageInputTokens, rates.imageInput ?? input);
  charge(usage.videoInputTokens, rates.videoInput ?? input);
  return cost + BigInt(left) * input;
}

function costOfOutput(usage: Usage, rates: TokenRates): bigint {
  const { input, output = input } = rates;
  let left = usage.outputTokens;
  let cost = 0n;
  const charge = (tokens: number | undefined, rate: Nanos): void => {
    if (tokens === undefined || tokens <= 0) return;
    const charged = Math.min(tokens, left);
    left -= charged;
    cost += BigInt(charged) * rate;
  };
  charge(usage.imageOutputTokens, rates.imageOutput ?? output);
  charge(usage.audioOutputTokens, rates.audioOutput ?? output);
  charge(usage.reasoningTokens, rates.reasoning ?? output);
  return cost + BigInt(left) * output;
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
