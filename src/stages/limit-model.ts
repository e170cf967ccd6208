/**
 * Takes a call from the rate limits that its model and its tokens decide, after its body was read,
 * and corrects them when it ends.
 */
import type { ChargeRule } from '../charge-policy.ts';
import type { RateTake } from '../ports/rate-limiter.ts';
import { type AppliedLimit, limitsOfModel, type RateLevel } from './applied-limits.ts';
import type { Admitted } from './call-record.ts';
import type { Charge } from './charge.ts';
import { promptTokens } from './hold.ts';
import { ratesOf } from './limit.ts';
import { isAnything } from './port-answers.ts';
import { takeLimits } from './rate-levels.ts';
import { rateRefusal, tooLargeForRate } from './rate-refusal.ts';
import type { CallEnd } from './settlement.ts';

/** What a call took from rate limits. Settled once, or given back. */
export interface TakenRates {
  /** Corrects the tokens to those that the call used. A call that never ran gives back all. */
  settle(end: CallEnd, rule: ChargeRule, charge: Charge): void;
  /** Gives back all, unless it was settled. */
  giveBack(): void;
}

/** Output tokens to take if the caller does not limit its output. */
const defaultOutputTokens = 1_024;

/**
 * Takes the limits. What was taken is given back if the call is not settled before it is done.
 *
 * @throws GatewayError `rate_limited`, with the time to wait unless no wait helps;
 *   `store_unavailable`
 */
export async function limitModel(admitted: Admitted): Promise<TakenRates | undefined> {
  const { key, call, model, received, route, running } = admitted;
  const inputTokens = call.operation.isFree ? 0 : promptTokens(call.demand.prompt, model);
  const tokens = call.operation.isFree ? 0 : inputTokens + outputTokens(admitted);
  const limits = limitsOfModel(key, ratesOf(key, received.settings) ?? [], model, tokens);
  if (limits.length === 0) return undefined;
  const exceeded = limits.find(({ take }) => take.amount > take.limit);
  if (exceeded !== undefined) throw tooLargeForRate(exceeded);
  const levelsBefore = received.responseContext.rates?.levels ?? [];
  const decision = await takeLimits(limits, received, route.caller);
  if (!decision.granted) {
    const nowMs = received.settings.clock.monotonicMs();
    const waits = levelsBefore.map((level) => nextCallMs(level, nowMs));
    const retryAfterMs = Math.max(decision.retryAfterMs, ...waits);
    throw rateRefusal(limits[decision.refused], retryAfterMs);
  }
  const taken = takenRates(admitted, limits, inputTokens);
  running.onDone(taken.giveBack);
  return taken;
}

/** The most output tokens of a call, as its caller limits them. */
function outputTokens({ call: { demand }, model }: Admitted): number {
  const { maxOutputTokens = defaultOutputTokens, candidates } = demand;
  return candidates * Math.min(maxOutputTokens, model.maxOutputTokens ?? maxOutputTokens);
}

/**
 * How long the next call has to wait for a limit of calls that granted this one. A call that is
 * refused here keeps counting as a call: its body was read.
 */
function nextCallMs({ limit: { take }, remaining, atMs }: RateLevel, nowMs: number): number {
  if (remaining > 0) return 0;
  // A 60,000th of the period is the unit in which the limiters of this package count time.
  const oneCallMs = Math.ceil(60_000 / take.limit) * (take.periodMs / 60_000);
  return Math.ceil(atMs + oneCallMs - nowMs);
}

function takenRates(
  { model, received: { settings, ports } }: Admitted,
  limits: readonly AppliedLimit[],
  inputTokens: number,
): TakenRates {
  let isOpen = true;
  const adjust = (amountOf: (limit: AppliedLimit) => number): void => {
    isOpen = false;
    const changes = limits
      .map((limit): RateTake => ({ ...limit.take, amount: amountOf(limit) }))
      .filter(({ amount }) => amount !== 0);
    if (changes.length === 0) return;
    ports
      .ask('rate_limiter', 'adjust', isAnything, (options) =>
        settings.rateLimiter.adjust(changes, options),
      )
      .catch(reportedByGuard);
  };
  const giveBack = (): void => {
    if (isOpen) adjust(({ take }) => -take.amount);
  };
  return {
    giveBack,
    settle: ({ ending }, rule, charge) => {
      if (ending === 'not_run') return giveBack();
      const used = usedTokens(rule, charge, model.price.per === 'free' ? inputTokens : 0);
      adjust(({ counts, take }) =>
        counts === 'calls' || used === undefined ? 0 : used - take.amount,
      );
    },
  };
}

/** A correction that was lost needs no retry: the bucket refills by itself. */
function reportedByGuard(): void {}

/**
 * The tokens that a call used: those that it is charged for, or would be if its model had a price.
 * Undefined while nobody knows whether it ran.
 */
function usedTokens(
  rule: ChargeRule,
  { usage, basis }: Charge,
  uncountedInput: number,
): number | undefined {
  if (rule === 'pend') return undefined;
  if (rule === 'release' || rule === 'nothing' || usage === undefined) return 0;
  // Free models estimate no prompt where the upstream counts none.
  const input = basis === 'usage' ? usage.inputTokens : usage.inputTokens || uncountedInput;
  return input + usage.outputTokens;
}
