/** The cost of tokens by kind and prompt size, in millionths of a nano. */
import type { Nanos, Price, TokenPrice, TokenRates, Usage } from '../money.ts';
import { imageNanos } from './images.ts';

/** Upper bounds of the tokens of a call. */
export interface TokenBound {
  readonly textTokens: number;
  readonly mediaTokens: number;
  readonly outputTokens: number;
  readonly mayCacheForAnHour: boolean;
}

/**
 * The cost of a usage. Each token is charged once, at the rate of its most specific kind that has
 * both a count and a rate.
 */
export function costOfTokens(usage: Usage, price: TokenPrice): bigint {
  const rates = ratesFor(price, tierPromptTokens(usage));
  return costOfInput(usage, rates) + costOfOutput(usage, rates);
}

/** The prompt tokens that determine the tier. */
function tierPromptTokens({ inputTokens, largestPassInputTokens = inputTokens }: Usage): number {
  return Math.min(largestPassInputTokens, inputTokens);
}

/**
 * The counts may overlap (a cached token may be audio), and most replies don't report by how much.
 * Cached tokens are taken as text as far as there is text, so that no token is charged twice.
 */
function costOfInput(usage: Usage, rates: TokenRates): bigint {
  const { input, cachedInput = input, cacheWrite5m = input, cacheWrite1h = cacheWrite5m } = rates;
  const charged = tokenCharge(usage.inputTokens, input);
  // Most replies have none of these kinds, and an unconditional call for each would cost more than
  // the sum.
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
  const charged = tokenCharge(usage.outputTokens, output);
  if (usage.imageOutputTokens) charged.part(usage.imageOutputTokens, rates.imageOutput);
  if (usage.audioOutputTokens) charged.part(usage.audioOutputTokens, rates.audioOutput);
  if (usage.reasoningTokens) charged.part(usage.reasoningTokens, rates.reasoning);
  return charged.total();
}

/** Charges parts of a token count at specific rates, and the remainder at the plain rate. */
interface TokenCharge {
  part(tokens: number, rate: Nanos | undefined): void;
  total(): bigint;
}

function tokenCharge(tokens: number, plainRate: Nanos): TokenCharge {
  let remaining = tokens;
  let cost = 0n;
  return {
    part: (count, rate = plainRate) => {
      const charged = Math.min(count, remaining);
      remaining -= charged;
      cost += BigInt(charged) * rate;
    },
    total: () => cost + BigInt(remaining) * plainRate,
  };
}

/**
 * The maximum cost of tokens. Text may be cached or not; media may be counted as any kind of input
 * (a video has audio, a document has images); output may be of any kind.
 */
export function maxCostOfTokens(bound: TokenBound, price: TokenPrice): bigint {
  const { textTokens, mediaTokens } = bound;
  let max = maxCostAt(price.rates, bound);
  for (const { aboveInputTokens, rates } of price.tiers ?? []) {
    // The prompt may be smaller than its bound, so every tier up to the bound counts.
    if (textTokens + mediaTokens <= aboveInputTokens) continue;
    const cost = maxCostAt(rates, bound);
    if (cost > max) max = cost;
  }
  return max;
}

function maxCostAt(rates: TokenRates, bound: TokenBound): bigint {
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

/** The most expensive unit of a price, for comparison with a channel's `maxPriceNanos`. */
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

/** Whether the price has a rate for cache entries that live for an hour. */
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
  let max = first;
  for (const rate of others) {
    if (rate !== undefined && rate > max) max = rate;
  }
  return max;
}
