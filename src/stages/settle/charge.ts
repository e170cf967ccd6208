/** Computes what a call is charged, and what it cost the operator. */
import type { Call } from '../../call.ts';
import type { ChargeRule } from '../../charge-policy.ts';
import { imageTokens } from '../../dialects/taps/reply-content.ts';
import {
  allReported,
  type Nanos,
  type Price,
  type ToolCalls,
  type UnreportedTokens,
  type Usage,
} from '../../money.ts';
import type { ChargeBasis } from '../../ports/limits/quota-store.ts';
import type { Channel, Model } from '../../ports/models/catalog.ts';
import { costOf, imageNanos, maxCostWithoutFees } from '../../prices/cost.ts';
import { memberBounds } from '../models/member-costs.ts';
import { estimatedPrompt } from './estimated-prompt.ts';
import { type Hold, predictedTokens } from './hold.ts';
import type { ReplyEnd } from './settlement.ts';

export interface ChargedCall {
  readonly admitted: { readonly call: Call; readonly model: Model; readonly hold: Hold };
  /** The price that the model had when it was chosen. A host may replace it during the call. */
  readonly price: Price;
  /** The current hold, including its growth. */
  readonly heldNanos: Nanos;
  /** The channel that was tried last. */
  readonly channel: Channel | undefined;
}

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

function costFor(usage: Usage, { admitted: { hold }, price }: ChargedCall): Nanos {
  return costOf(usage, price, hold.request);
}

/** Without usage, the content is priced as the most expensive output, never above the hold. */
export function observedNanos(
  charged: ChargedCall,
  usage: Usage | undefined,
  countedTokens: number,
): Nanos {
  if (usage !== undefined) {
    const reported = reportedPart(usage, charged);
    const filled = withCounted(reported, usage.unreported, countedTokens, charged);
    return costFor(filled, charged);
  }
  const { admitted, price, heldNanos } = charged;
  const { call, model, hold } = admitted;
  const textTokens = estimatedPrompt(call, model, hold);
  const bound = { ...hold.bound, textTokens, mediaTokens: 0, outputTokens: countedTokens };
  const nanos = maxCostWithoutFees(bound, price, hold.request);
  return nanos < heldNanos ? nanos : heldNanos;
}

export function chargeFor(charged: ChargedCall, rule: ChargeRule, replyEnd: ReplyEnd): Charge {
  const { call } = charged.admitted;
  const { usage, countedTokens } = replyEnd;
  if (call.operation.isFree || rule === 'release' || rule === 'nothing' || rule === 'pend') {
    return { nanos: 0n, basis: 'policy', anomaly: undefined, aboveHold: undefined, usage };
  }
  if (rule === 'prompt' && usage === undefined) return promptCharge(charged);
  const missing = rule === 'usage' ? 'missing' : undefined;
  if (usage === undefined) {
    const isCounted = countedTokens !== undefined && call.operation.hasOutputTokens;
    const counted = countedUsage(charged, countedTokens ?? 0);
    const basis = isCounted ? 'counted' : 'estimate';
    return cappedCharge(charged, undefined, { usage: counted, basis, anomaly: missing });
  }
  const reported = reportedPart(usage, charged);
  const possible = cappedUsage(reported, charged);
  const filled = withCounted(possible, usage.unreported, countedTokens ?? 0, charged);
  const made = withImagesMade(filled, replyEnd, call);
  const { input, output } = filled === possible ? allReported : (filled.unreported ?? allReported);
  // What a stream reports before its end is filled in without an event.
  const isMissing = input > 0 || (output > 0 && usage.unreported === undefined);
  const aboveMaximum = possible === reported ? undefined : 'above_maximum';
  return cappedCharge(charged, filled === possible ? made : possible, {
    usage: made,
    basis: output > 0 ? 'counted' : input > 0 ? 'estimate' : 'usage',
    anomaly: isMissing ? (missing ?? aboveMaximum) : aboveMaximum,
  });
}

/** Models priced by the image charge nothing for a prompt. */
function promptCharge(charged: ChargedCall): Charge {
  const usage = { ...countedUsage(charged, 0), images: 0 };
  const anomaly = undefined;
  const charge = cappedCharge(charged, undefined, { usage, basis: 'estimate', anomaly });
  return charged.price.per === 'token' ? charge : { ...charge, nanos: 0n };
}

/** The usage of a reply without reported usage: the counted output and the estimated prompt. */
function countedUsage(charged: ChargedCall, countedTokens: number): Usage {
  const { call, model, hold } = charged.admitted;
  return {
    inputTokens: estimatedPrompt(call, model, hold),
    cachedInputTokens: 0,
    outputTokens: boundedOutput(countedTokens, 0, charged),
    images: call.demand.candidates,
  };
}

/** Only the part `reported` may cost more than the hold: counts and estimates do not. */
function cappedCharge(
  charged: ChargedCall,
  reported: Usage | undefined,
  { usage, basis, anomaly }: Pick<Charge, 'basis' | 'anomaly'> & { readonly usage: Usage },
): Charge {
  const { heldNanos, channel } = charged;
  const reportedNanos = reported === undefined ? 0n : costFor(reported, charged);
  const isAbove = reportedNanos > heldNanos;
  const max = isAbove && channel?.usageTrust !== 'held' ? reportedNanos : heldNanos;
  const nanos = reported === usage ? reportedNanos : costFor(usage, charged);
  return {
    nanos: nanos < max ? nanos : max,
    basis,
    anomaly,
    aboveHold: isAbove ? reportedNanos : undefined,
    usage,
  };
}

/** A reported sum stays as it was divided, but its output is no more than was requested. */
function reportedPart(usage: Usage, charged: ChargedCall): Usage {
  if (usage.unreported === undefined || charged.price.per !== 'token') return usage;
  const { unreported, ...reported } = usage;
  const { input, output, splitOutput } = unreported;
  const outputTokens = usage.outputTokens - output;
  const excess = splitOutput - boundedOutput(splitOutput, outputTokens - splitOutput, charged);
  return {
    ...reported,
    inputTokens: usage.inputTokens - input + excess,
    outputTokens: outputTokens - excess,
  };
}

/**
 * Fills in what the upstream did not report, or reported as 0 for a reply that has content: output
 * is counted, and the prompt estimated. Returns the same object if nothing is missing.
 */
function withCounted(
  reported: Usage,
  unreported: UnreportedTokens | undefined,
  countedTokens: number,
  charged: ChargedCall,
): Usage {
  const { call, model, hold } = charged.admitted;
  if (charged.price.per !== 'token') return reported;
  const content = call.operation.makesImages ? reported.images * imageTokens : countedTokens;
  const { input: estimated, output: since } = unreported ?? allReported;
  const counted = reported.outputTokens + since === 0 ? content : since;
  const output = boundedOutput(counted, reported.outputTokens, charged);
  const outputTokens = reported.outputTokens + output;
  // Without output nothing is missing: a blocked prompt costs nothing.
  const isPromptMissing = reported.inputTokens === 0 && outputTokens > 0;
  const input = estimated || (isPromptMissing ? estimatedPrompt(call, model, hold) : 0);
  if (input + output === 0) return reported;
  return {
    ...reported,
    inputTokens: reported.inputTokens + input,
    outputTokens,
    unreported: { ...allReported, input, output },
  };
}

/** Counted output, beside `before` tokens that were reported: never more than was requested. */
function boundedOutput(tokens: number, before: number, { admitted, price }: ChargedCall): number {
  const { isBounded, bound } = admitted.hold;
  if (!isBounded || price.per !== 'token') return tokens;
  return Math.min(tokens, Math.max(0, bound.outputTokens - before));
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
  if (charge.usage === undefined || call.operation.isFree) return 0n;
  if (cost === 'reported') return charge.usage.remarks?.costNanos;
  const { size, quality } = call.demand;
  if (cost.per === 'image' && imageNanos(cost, size, quality) === undefined) return undefined;
  const { members } = memberBounds(call, { ...model, price: cost });
  return costOf(charge.usage, cost, { size, quality, members });
}

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
