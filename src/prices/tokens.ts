/** The cost of tokens by kind and prompt size, in millionths of a nano. */
import type { Nanos, PassUsage, Price, TokenPrice, TokenRates, Usage } from '../money.ts';
import { imageNanos } from './images.ts';

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
  // `costAt` is inlined, because every call runs this code.
  if (price.tiers === undefined) {
    return costOfInput(usage, price.rates) + costOfOutput(usage, price.rates);
  }
  const { passes = [] } = usage;
  let millionths = costAt(tierRates(price, usage), without(usage, passes));
  for (const pass of passes) millionths += costAt(tierRates(price, pass), pass);
  return millionths;
}

function costAt(rates: TokenRates, usage: CountedTokens): bigint {
  return costOfInput(usage, rates) + costOfOutput(usage, rates);
}

type CountedTokens = Omit<Usage, 'images'>;

function without(usage: Usage, passes: readonly PassUsage[]): CountedTokens {
  if (passes.length === 0) return usage;
  const rest = (name: keyof PassUsage): number => {
    const counted = passes.reduce((sum, pass) => sum + (pass[name] ?? 0), 0);
    return Math.max(0, (usage[name] ?? 0) - counted);
  };
  return {
    ...usage,
    inputTokens: rest('inputTokens'),
    cachedInputTokens: rest('cachedInputTokens'),
    cacheWrite5mTokens: rest('cacheWrite5mTokens'),
    cacheWrite1hTokens: rest('cacheWrite1hTokens'),
    outputTokens: rest('outputTokens'),
  };
}

/**
 * The counts may overlap (a cached token may be audio), and most replies don't report by how much.
 * Cached tokens are taken as text as far as there is text, so that no token is charged twice.
 */
function costOfInput(usage: CountedTokens, rates: TokenRates): bigint {
  const { input, cachedInput = input, cacheWrite5m = input, cacheWrite1h = cacheWrite5m } = rates;
  const charge: TokenCharge = { plainRate: input, remaining: usage.inputTokens, cost: 0n };
  // Most replies have none of these kinds, and an unconditional call for each would cost more than
  // the sum.
  if (usage.cachedInputTokens > 0) chargePart(charge, usage.cachedInputTokens, cachedInput);
  if (usage.cacheWrite1hTokens) chargePart(charge, usage.cacheWrite1hTokens, cacheWrite1h);
  if (usage.cacheWrite5mTokens) chargePart(charge, usage.cacheWrite5mTokens, cacheWrite5m);
  if (usage.audioInputTokens) chargePart(charge, usage.audioInputTokens, rates.audioInput);
  if (usage.imageInputTokens) chargePart(charge, usage.imageInputTokens, rates.imageInput);
  if (usage.videoInputTokens) chargePart(charge, usage.videoInputTokens, rates.videoInput);
  return charge.cost + BigInt(charge.remaining) * input;
}

function costOfOutput(usage: CountedTokens, rates: TokenRates): bigint {
  const { input, output = input } = rates;
  const charge: TokenCharge = { plainRate: output, remaining: usage.outputTokens, cost: 0n };
  if (usage.imageOutputTokens) chargePart(charge, usage.imageOutputTokens, rates.imageOutput);
  if (usage.audioOutputTokens) chargePart(charge, usage.audioOutputTokens, rates.audioOutput);
  if (usage.reasoningTokens) chargePart(charge, usage.reasoningTokens, rates.reasoning);
  return charge.cost + BigInt(charge.remaining) * output;
}

/** A token count of which parts have specific rates, and the remainder the plain rate. */
interface TokenCharge {
  readonly plainRate: Nanos;
  remaining: number;
  cost: bigint;
}

function chargePart(charge: TokenCharge, tokens: number, rate = charge.plainRate): void {
  const charged = Math.min(tokens, charge.remaining);
  charge.remaining -= charged;
  charge.cost += BigInt(charged) * rate;
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

/** The same for calls without output, which cost their input. */
export function mostExpensiveInput(price: Price): Nanos {
  if (price.per !== 'token') return mostExpensiveUnit(price);
  return highest(price.rates.input, ...(price.tiers ?? []).map(({ rates }) => rates.input));
}

export function hasHourRate(price: TokenPrice): boolean {
  return (
    price.rates.cacheWrite1h !== undefined ||
    price.tiers?.some(({ rates }) => rates.cacheWrite1h !== undefined) === true
  );
}

/** The rates of the highest tier that the prompt has reached. */
function tierRates(
  { rates, tiers = [] }: TokenPrice,
  { inputTokens, largestPassInputTokens = inputTokens }: CountedTokens,
): TokenRates {
  const promptTokens = Math.min(largestPassInputTokens, inputTokens);
  let threshold = -1;
  let reached = rates;
  for (const tier of tiers) {
    if (promptTokens <= tier.aboveInputTokens || tier.aboveInputTokens <= threshold) continue;
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
