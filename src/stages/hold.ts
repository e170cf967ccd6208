/** How much a call holds: an upper bound on what it can cost with the bytes that will be sent. */
import type { Call } from '../call.ts';
import { GatewayError } from '../errors.ts';
import { costOf, imageNanos, type Nanos } from '../money.ts';
import type { Model } from '../ports/catalog.ts';

/** Where neither the caller nor the model bounds the output (ARCHITECTURE V). */
const unstatedOutputTokens = 16_384;
/** What one image, sound or file of a prompt counts where the model does not say. */
const defaultMediaPartTokens = 4_096;

/** What a call may cost at most, and what one image of it costs. */
export interface Hold {
  readonly nanos: Nanos;
  readonly inputTokens: number;
  readonly unitNanos: Nanos;
  /** False where nobody says how long the answer may get: its stream may outgrow the hold. */
  readonly isBounded: boolean;
}

/**
 * The hold of a call.
 *
 * @throws GatewayError `invalid_request` for a size or quality that has no price: none is ever
 *   guessed
 */
export function holdFor(call: Call, model: Model): Hold {
  const { price } = model;
  const inputTokens = promptBound(call, model);
  if (call.operation === 'count_tokens') {
    return { nanos: 0n, inputTokens, unitNanos: 0n, isBounded: true };
  }
  const unitNanos = price.per === 'image' ? pricedUnit(call, model) : 0n;
  const bound = {
    inputTokens,
    cachedInputTokens: 0,
    outputTokens: call.demand.candidates * outputBound(call, model),
    images: call.demand.candidates,
  };
  return {
    nanos: costOf(bound, price, unitNanos),
    inputTokens,
    unitNanos,
    isBounded: price.per !== 'token' || statedMaximum(call, model) !== undefined,
  };
}

function promptBound({ demand }: Call, model: Model): number {
  const media = demand.mediaParts * (model.mediaPartTokens ?? defaultMediaPartTokens);
  return Math.min(demand.inputTokens + media, model.contextTokens ?? Number.MAX_SAFE_INTEGER);
}

function outputBound(call: Call, model: Model): number {
  return statedMaximum(call, model) ?? unstatedOutputTokens;
}

/** A caller's limit above the model's is sent as it is, and held at the model's. */
function statedMaximum({ demand }: Call, { maxOutputTokens }: Model): number | undefined {
  if (demand.maxOutputTokens === undefined) return maxOutputTokens;
  return Math.min(demand.maxOutputTokens, maxOutputTokens ?? Number.MAX_SAFE_INTEGER);
}

function pricedUnit({ demand }: Call, { price }: Model): Nanos {
  const unit = price.per === 'image' ? imageNanos(price, demand.size, demand.quality) : undefined;
  if (unit !== undefined) return unit;
  // Where the size alone has a price, the quality is what does not go with it.
  const sizeFits = price.per === 'image' && imageNanos(price, demand.size, undefined) !== undefined;
  const param = sizeFits ? 'quality' : 'size';
  throw new GatewayError(
    'invalid_request',
    `This model has no price for this size and quality. Change \`${param}\`, or leave both out.`,
    { param },
  );
}
