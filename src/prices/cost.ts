/** The cost of a usage at a price, and the maximum cost of a call. */
import {
  type CostMember,
  costMembers,
  maxNanos,
  type Nanos,
  type Price,
  type ToolCalls,
  type Usage,
} from '../money.ts';
import { factorOf, nanosPerUnit } from './amount.ts';
import { imageNanos } from './images.ts';
import { costOfTokens, maxCostOfTokens } from './tokens.ts';

/** The properties of a request that its cost depends on, in addition to the usage. */
export interface PricedRequest {
  /** The size and quality of the requested images. */
  readonly size?: string | undefined;
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
