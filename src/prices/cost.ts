/** What a usage costs at a price, and what a call can cost at most. */
import {
  type CostMember,
  costMembers,
  maxNanos,
  type Nanos,
  type Price,
  type Usage,
} from '../money.ts';
import { factorOf, nanosPerUnit } from './amount.ts';
import { imageNanos } from './images.ts';
import { boundOfTokens, costOfTokens } from './tokens.ts';

/** What of a request its cost depends on, beside what the reply consumes. */
export interface PricedRequest {
  /** Size and quality of the images that were requested. */
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  /** The members it uses that cost more, each once; see `MemberPrice`. */
  readonly members?: readonly CostMember[] | undefined;
}

/** A usage that a call will not exceed, with the prompt split by what its tokens may become. */
export interface UsageBound {
  readonly textTokens: number;
  /** Tokens of images, audio, video, documents and references of the prompt. */
  readonly mediaTokens: number;
  readonly outputTokens: number;
  readonly images: number;
  /** The request may ask for a cache entry that lives for an hour. */
  readonly mayCacheForAnHour: boolean;
}

/** Calls of a tool that a hold covers where its price states no number. */
export const defaultHoldCalls = 10;
/** Costs are worked out in millionths of a nano: rates are by the million tokens. */
const million = 1_000_000n;
const plain: PricedRequest = {};

/**
 * What a usage costs, rounded up once, never above `maxNanos`.
 *
 * @throws RangeError for an image of a size or quality that has no price
 */
export function costOf(usage: Usage, price: Price, request: PricedRequest = plain): Nanos {
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
  return nanosFrom(multiplied(millionths, price, request) + fees * million);
}

/**
 * What a call costs at most: every token at the most expensive rate that it may have, and the fees
 * that the price holds for the members of the request.
 *
 * @throws RangeError for an image of a size or quality that has no price
 */
export function boundOfCost(bound: UsageBound, price: Price, request: PricedRequest): Nanos {
  const nanos = boundWithoutFees(bound, price, request);
  if (price.per === 'free' || request.members === undefined) return nanos;
  let fees = 0n;
  for (const row of request.members) {
    const { perCallNanos = 0n, holdCalls = defaultHoldCalls } = price.members?.[row] ?? {};
    fees += perCallNanos * BigInt(holdCalls);
  }
  return atMost(nanos + fees);
}

/** The same without fees, which do not grow with the reply. */
export function boundWithoutFees(bound: UsageBound, price: Price, request: PricedRequest): Nanos {
  if (price.per === 'free') return 0n;
  const millionths =
    price.per === 'token'
      ? boundOfTokens(bound, price)
      : millionthsOfImages(bound.images, price, request);
  return nanosFrom(multiplied(millionths, price, request));
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

/** Members that were requested, each with its factor. */
function multiplied(
  millionths: bigint,
  price: Exclude<Price, { per: 'free' }>,
  { members }: PricedRequest,
): bigint {
  if (members === undefined) return millionths;
  let product = millionths;
  for (const row of members) {
    const factor = factorOf(price.members?.[row]?.multiplier);
    if (factor !== undefined) product = roundedUp(product * factor, nanosPerUnit);
  }
  return product;
}

/** As many as the reply states; one for a tool that was requested, where it states none at all. */
function callsOf(row: CostMember, { toolCalls }: Usage, { members }: PricedRequest): number {
  if (toolCalls !== undefined) return toolCalls[row] ?? 0;
  return members?.includes(row) === true ? 1 : 0;
}

function nanosFrom(millionths: bigint): Nanos {
  return atMost(roundedUp(millionths, million));
}

function atMost(nanos: Nanos): Nanos {
  return nanos > maxNanos ? maxNanos : nanos;
}

function roundedUp(amount: bigint, divisor: bigint): bigint {
  return (amount + divisor - 1n) / divisor;
}
