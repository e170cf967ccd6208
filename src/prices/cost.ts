/** The cost of a usage at a price, and the maximum cost of a call. */
import {
  type CostMember,
  costMembers,
  type ImagePrice,
  maxNanos,
  type Nanos,
  type PassUsage,
  type Price,
  type TokenPrice,
  type TokenRates,
  type ToolCalls,
  type Usage,
} from '../money.ts';
import { factorOf, nanosPerUnit } from './amount.ts';

/** The properties of a request that its cost depends on, in addition to the usage. */
export interface PricedRequest {
  /** The size and quality of the requested images. */
  readonly size?: string | undefined;
  /** The quality of the requested images. */
  readonly quality?: string | undefined;
  /** The members in the request that cost extra, each once; see `MemberPrice`. */
  readonly members?: readonly CostMember[] | undefined;
  /** The most calls of each of these members that is a tool; see {@link defaultHoldCalls}. */
  readonly maxCalls?: ToolCalls | undefined;
}

/** An upper bound of a call's usage, with the prompt split by the rates that may apply. */
export interface UsageBound {
  readonly textTokens: number;
  /** Tokens of images, audio, video, documents and references in the prompt. */
  readonly mediaTokens: number;
  readonly outputTokens: number;
  readonly images: number;
  /** The request may ask for a cache entry that lives for an hour. */
  readonly mayCacheForAnHour: boolean;
}

/** The tool calls that a hold covers if the price states no number. */
export const defaultHoldCalls = 10;
/** Costs are computed in millionths of a nano, because rates are per million tokens. */
const million = 1_000_000n;
const plainRequest: PricedRequest = {};

/**
 * The cost of a usage, rounded up once, at most `maxNanos`.
 *
 * @throws RangeError for an image whose size or quality has no price
 */
export function costOf(usage: Usage, price: Price, request: PricedRequest = plainRequest): Nanos {
  if (price.per === 'free') return 0n;
  const millionths =
    price.per === 'token'
      ? costOfTokens(usage, price)
      : millionthsOfImages(usage.images, price, request);
  const { members } = price;
  if (members === undefined) return nanosFrom(millionths);
  let fees = 0n;
  for (const row of costMembers) {
    const fee = members[row]?.perCallNanos;
    if (fee !== undefined) fees += fee * BigInt(callsOf(row, usage, request));
  }
  return nanosFrom(applyMultipliers(millionths, price, request) + fees * million);
}

/**
 * The maximum cost of a call: every token at the most expensive rate that may apply, plus the fees
 * that the price holds for the members of the request.
 *
 * @throws RangeError for an image whose size or quality has no price
 */
export function maxCostOf(bound: UsageBound, price: Price, request: PricedRequest): Nanos {
  let nanos = maxCostWithoutFees(bound, price, request);
  if (price.per === 'free' || request.members === undefined) return nanos;
  const { members, maxCalls } = request;
  for (const row of members) {
    const { perCallNanos = 0n, holdCalls = defaultHoldCalls } = price.members?.[row] ?? {};
    nanos += perCallNanos * BigInt(maxCalls?.[row] ?? holdCalls);
  }
  return nanos > maxNanos ? maxNanos : nanos;
}

/** As {@link maxCostOf} without fees, which do not grow with the reply. */
export function maxCostWithoutFees(bound: UsageBound, price: Price, request: PricedRequest): Nanos {
  if (price.per === 'free') return 0n;
  const millionths =
    price.per === 'token'
      ? maxCostOfTokens(bound, price)
      : millionthsOfImages(bound.images, price, request);
  return nanosFrom(applyMultipliers(millionths, price, request));
}

function millionthsOfImages(
  images: number,
  price: Extract<Price, { per: 'image' }>,
  { size, quality }: PricedRequest,
): bigint {
  const unit = imageNanos(price, size, quality);
  if (unit === undefined) throw new RangeError('There is no price for this size and quality.');
  return BigInt(images) * unit * million;
}

/** Applies the multiplier of each requested member, rounded up once. */
function applyMultipliers(
  millionths: bigint,
  price: Exclude<Price, { per: 'free' }>,
  { members }: PricedRequest,
): bigint {
  if (members === undefined) return millionths;
  let product = millionths;
  let divisor = 1n;
  for (const row of members) {
    const factor = factorOf(price.members?.[row]?.multiplier);
    if (factor === undefined) continue;
    product *= factor;
    divisor *= nanosPerUnit;
  }
  return roundedUp(product, divisor);
}

/**
 * The number of calls that the reply reports. If it reports none at all, one for a tool that was
 * requested.
 */
function callsOf(row: CostMember, { toolCalls }: Usage, { members }: PricedRequest): number {
  if (toolCalls !== undefined) return toolCalls[row] ?? 0;
  return members?.includes(row) === true ? 1 : 0;
}

function nanosFrom(millionths: bigint): Nanos {
  const nanos = roundedUp(millionths, million);
  return nanos > maxNanos ? maxNanos : nanos;
}

function roundedUp(amount: bigint, divisor: bigint): bigint {
  return (amount + divisor - 1n) / divisor;
}

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
function costOfTokens(usage: Usage, price: TokenPrice): bigint {
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
function maxCostOfTokens(bound: TokenBound, price: TokenPrice): bigint {
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

/**
 * What a usual call costs, to compare prices: three tokens of input for each one of output, or the
 * most expensive image.
 */
export function usualCost(price: Price, hasOutputTokens: boolean): Nanos {
  if (price.per !== 'token') return mostExpensiveUnit(price);
  const { input, output = input } = price.rates;
  return hasOutputTokens ? 3n * input + output : input;
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
  for (let at = 0; at < others.length; at += 1) {
    const rate = others[at];
    if (rate !== undefined && rate > max) max = rate;
  }
  return max;
}

/**
 * The price of one image of this size and quality, or undefined if no row applies: a price is never
 * guessed. A value that is missing or `auto` matches every row, and the most expensive one counts.
 */
export function imageNanos(
  price: ImagePrice,
  size: string | undefined,
  quality: string | undefined,
): Nanos | undefined {
  let max: Nanos | undefined;
  for (const row of price.rows) {
    if (!fits(size, row.size) || !fits(quality, row.quality)) continue;
    if (max === undefined || row.nanos > max) max = row.nanos;
  }
  return max;
}

function fits(requested: string | undefined, row: string | undefined): boolean {
  const value = normalised(requested);
  return row === undefined || value === undefined || value === 'auto' || value === normalised(row);
}

/**
 * Compared without case and white space, as servers do: ` 4K` must not pass as an unlisted size.
 */
function normalised(text: string | undefined): string | undefined {
  return text?.trim().toLowerCase();
}
