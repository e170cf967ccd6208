/** Computes what a call is charged, and what it cost the operator. */
import type { Call } from '../call.ts';
import type { ChargeRule } from '../charge-policy.ts';
import { imageTokens } from '../dialects/reply-content.ts';
import type { Nanos, Price, ToolCalls, Usage } from '../money.ts';
import type { Channel, Model } from '../ports/catalog.ts';
import type { ChargeBasis } from '../ports/quota-store.ts';
import { costOf, maxCostWithoutFees } from '../prices/cost.ts';
import { imageNanos } from '../prices/images.ts';
import { estimatedPrompt } from './estimated-prompt.ts';
import { type Hold, predictedTokens } from './hold.ts';
import { memberBounds } from './member-costs.ts';
import type { ReplyEnd } from './settlement.ts';

/** The parts of a call that its charge depends on. */
export interface ChargedCall {
  readonly admitted: { readonly call: Call; readonly model: Model; readonly hold: Hold };
  /** The price that the model had when it was chosen. A host may replace it during the call. */
  readonly price: Price;
  /** The current hold, including its growth. */
  readonly heldNanos: Nanos;
  /** The channel that was tried last. */
  readonly channel: Channel | undefined;
}

/** A charge and where it comes from. */
export interface Charge {
  readonly nanos: Nanos;
  readonly basis: ChargeBasis;
  readonly anomaly: 'missing' | 'above_maximum' | undefined;
  /** The cost of the usage, if it is more than was held. */
  readonly aboveHold: Nanos | undefined;
  /** The usage that the charge was computed from; undefined if it was not computed from usage. */
  readonly usage: Usage | undefined;
}

/** No model has a larger context. More input than this is an error of the upstream. */
const maxContextTokens = 2_000_000;

/** No reply calls a tool more often. A larger count is an error of the upstream. */
const maxCallsOfTool = 1_000;

/** The price of this usage for the caller. */
export function costFor(usage: Usage, { admitted: { hold }, price }: ChargedCall): Nanos {
  return costOf(usage, price, hold.request);
}

/**
 * The maximum cost of counted output, whatever kinds of tokens it consists of; never more than the
 * hold.
 */
export function maxCountedNanos(charged: ChargedCall, outputTokens: number): Nanos {
  const { admitted, price, heldNanos } = charged;
  const { call, model, hold } = admitted;
  const textTokens = estimatedPrompt(call, model, hold);
  const bound = { ...hold.bound, textTokens, mediaTokens: 0, outputTokens };
  const nanos = maxCostWithoutFees(bound, price, hold.request);
  return nanos < heldNanos ? nanos : heldNanos;
}

/** The usage of a reply without reported usage: the counted output and the estimated prompt. */
function countedUsage({ admitted }: ChargedCall, outputTokens: number): Usage {
  const { call, model, hold } = admitted;
  return {
    inputTokens: estimatedPrompt(call, model, hold),
    cachedInputTokens: 0,
    outputTokens,
    images: call.demand.candidates,
  };
}

/** The price of counted usage, capped at the hold, which covers the whole call. */
function countedNanos(charged: ChargedCall, usage: Usage): Nanos {
  const nanos = costFor(usage, charged);
  return nanos < charged.heldNanos ? nanos : charged.heldNanos;
}

/** The charge of a call by the rule for its ending. */
export function chargeFor(charged: ChargedCall, rule: ChargeRule, replyEnd: ReplyEnd): Charge {
  const { call } = charged.admitted;
  const { usage, countedTokens, isEstimated } = replyEnd;
  if (call.operation.isFree || rule === 'release' || rule === 'nothing' || rule === 'pend') {
    return { nanos: 0n, basis: 'policy', anomaly: undefined, aboveHold: undefined, usage };
  }
  if (rule === 'prompt') {
    // Models priced by the image charge nothing for a prompt.
    const isPricedByToken = charged.price.per === 'token';
    const prompt = { ...countedUsage(charged, 0), images: 0 };
    const nanos = isPricedByToken ? countedNanos(charged, prompt) : 0n;
    return { nanos, basis: 'estimate', anomaly: undefined, aboveHold: undefined, usage: prompt };
  }
  if (usage === undefined) return chargeWithoutUsage(charged, rule, countedTokens);
  const possible = cappedUsage(usage, charged);
  const filled = withCounted(possible, countedTokens ?? 0, charged);
  if (filled !== possible) return filledCharge(charged, rule, possible, filled);
  const missing = isEstimated === true && rule === 'usage' ? 'missing' : undefined;
  const anomaly = possible === usage ? missing : 'above_maximum';
  const made = withImagesMade(possible, replyEnd, call);
  const nanos = costFor(made, charged);
  const { heldNanos, channel } = charged;
  const isAbove = nanos > heldNanos;
  return {
    nanos: isAbove && channel?.usageTrust === 'held' ? heldNanos : nanos,
    basis: isEstimated === true ? 'estimate' : 'usage',
    anomaly,
    aboveHold: isAbove ? nanos : undefined,
    usage: made,
  };
}

/** The charge of a reply that reported no usage. */
function chargeWithoutUsage(
  charged: ChargedCall,
  rule: ChargeRule,
  countedTokens: number | undefined,
): Charge {
  const { hasOutputTokens } = charged.admitted.call.operation;
  const counted = countedUsage(charged, countedTokens ?? 0);
  return {
    nanos: countedNanos(charged, counted),
    usage: counted,
    basis: countedTokens === undefined || !hasOutputTokens ? 'estimate' : 'counted',
    anomaly: rule === 'usage' ? 'missing' : undefined,
    aboveHold: undefined,
  };
}

/**
 * Fills in what the upstream's usage lacks, or states as 0 for a reply that has content: output is
 * counted, and the prompt estimated. Returns the same object if nothing is missing.
 */
export function withCounted(usage: Usage, counted: number, charged: ChargedCall): Usage {
  const { call, model, hold } = charged.admitted;
  if (charged.price.per !== 'token') return usage;
  const contentTokens = call.operation.makesImages ? usage.images * imageTokens : counted;
  const outputTokens = usage.outputTokens === 0 ? contentTokens : usage.outputTokens;
  // Without output nothing is missing: a blocked prompt costs nothing.
  if (outputTokens === 0 || (usage.inputTokens > 0 && usage.outputTokens > 0)) return usage;
  const inputTokens = usage.inputTokens || estimatedPrompt(call, model, hold);
  const isWhole = inputTokens === usage.inputTokens && outputTokens === usage.outputTokens;
  return isWhole ? usage : { ...usage, inputTokens, outputTokens };
}

/** Counts and estimates that replace missing usage never raise the charge above the hold. */
function filledCharge(
  charged: ChargedCall,
  rule: ChargeRule,
  stated: Usage,
  filled: Usage,
): Charge {
  const { heldNanos, channel } = charged;
  const statedNanos = costFor(stated, charged);
  const isAbove = statedNanos > heldNanos;
  const max = isAbove && channel?.usageTrust !== 'held' ? statedNanos : heldNanos;
  const nanos = costFor(filled, charged);
  return {
    nanos: nanos < max ? nanos : max,
    basis: filled.outputTokens === stated.outputTokens ? 'estimate' : 'counted',
    anomaly: rule === 'usage' ? 'missing' : undefined,
    aboveHold: isAbove ? statedNanos : undefined,
    usage: filled,
  };
}

/**
 * The operator's cost of the call. Undefined if the channel states no cost, or none for such an
 * image, and while nobody knows whether the call ran.
 */
export function costNanosOf(
  { admitted, channel }: ChargedCall,
  rule: ChargeRule,
  charge: Charge,
): Nanos | undefined {
  const cost = channel?.cost;
  if (cost === undefined || rule === 'pend') return undefined;
  const { call, model } = admitted;
  if (charge.usage === undefined || rule === 'release' || call.operation.isFree) return 0n;
  const { size, quality } = call.demand;
  if (cost.per === 'image' && imageNanos(cost, size, quality) === undefined) return undefined;
  const { members } = memberBounds(call, { ...model, price: cost });
  return costOf(charge.usage, cost, { size, quality, members });
}

/** The reported usage, capped at the most that the model can use. */
function cappedUsage(usage: Usage, { admitted: { call, model, hold } }: ChargedCall): Usage {
  const context = model.contextTokens ?? maxContextTokens;
  const { passes, generationsPerAnswer, outputTokens: extraPerAnswer } = hold.members;
  const prompts = call.demand.prompt.inputs?.length ?? 1;
  const maxInput = context * passes * prompts;
  const maxOutput =
    call.demand.candidates *
      generationsPerAnswer *
      ((model.maxOutputTokens ?? context) + extraPerAnswer) +
    predictedTokens(call, model);
  const toolCalls = cappedCalls(usage.toolCalls, call.demand.maxToolCalls ?? maxCallsOfTool);
  const isPossible = usage.inputTokens <= maxInput && usage.outputTokens <= maxOutput;
  if (isPossible && toolCalls === usage.toolCalls) return usage;
  const inputTokens = Math.min(usage.inputTokens, maxInput);
  return {
    ...usage,
    inputTokens,
    cachedInputTokens: Math.min(usage.cachedInputTokens, inputTokens),
    outputTokens: Math.min(usage.outputTokens, maxOutput),
    // The passes are parts of the reported total, which is impossible.
    passes: isPossible ? usage.passes : undefined,
    toolCalls,
  };
}

/** Returns the same object if no tool was called more often than this. */
function cappedCalls(calls: ToolCalls | undefined, most: number): ToolCalls | undefined {
  if (calls === undefined || Object.values(calls).every((count) => count <= most)) return calls;
  const capped = Object.entries(calls).map(([row, count]) => [row, Math.min(count, most)]);
  return Object.fromEntries(capped);
}

/**
 * A complete reply is charged for the images in it, even if there are none or more than requested.
 * A reply that ended before its first image is charged for those requested, because they may have
 * been made.
 */
function withImagesMade(usage: Usage, { ending }: ReplyEnd, { demand }: Call): Usage {
  if (ending === 'complete' || usage.images > 0) return usage;
  return { ...usage, images: demand.candidates };
}
