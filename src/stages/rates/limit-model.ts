/**
 * Takes a call from the rate limits that depend on its model or count tokens, after its body was
 * read, and again for each model that it falls back to. What was taken is corrected, or given back,
 * at the end of the call.
 */

import type { ChargeRule } from '../../charge-policy.ts';
import type { RateTake } from '../../ports/limits/rate-limiter.ts';
import type { Admitted } from '../call-record.ts';
import { isAnything } from '../ports/port-answers.ts';
import type { Charge } from '../settle/charge.ts';
import { promptTokens } from '../settle/hold.ts';
import {
  type AppliedLimit,
  dependsOnModel,
  limitsOfModel,
  type RateLevel,
  type TakenRates,
} from './applied-limits.ts';
import { askLimits, rateRefusal, ratesOf, takeLimits, tooLargeForRate } from './limit.ts';

const defaultOutputTokens = 1_024;

/**
 * Takes the limits. What was taken is given back if the call is not settled before it is done.
 *
 * @throws GatewayError `rate_limited`, with the time to wait unless no wait helps;
 *   `store_unavailable`
 */
export async function limitModel(admitted: Admitted): Promise<TakenRates> {
  const { received, route, running } = admitted;
  const limits = limitsOf(admitted);
  const exceeded = limits.find(isExceeded);
  if (exceeded !== undefined) throw tooLargeForRate(exceeded);
  if (limits.length > 0) {
    const levelsBefore = received.responseContext.rates?.levels ?? [];
    const decision = await takeLimits(limits, received, route.caller);
    if (!decision.granted) {
      const nowMs = received.settings.clock.monotonicMs();
      const waits = levelsBefore.map((level) => nextCallMs(level, nowMs));
      const retryAfterMs = Math.max(decision.retryAfterMs, ...waits);
      throw rateRefusal(limits[decision.refused], retryAfterMs);
    }
  }
  const taken = takenRates(admitted, limits);
  running.onDone(taken.giveBack);
  return taken;
}

/**
 * Takes the limits of a model that is to serve a call in place of another, and gives back those of
 * the other; false if they refuse, and then nothing has changed.
 *
 * @throws GatewayError `store_unavailable`
 */
export async function limitFallback(next: Admitted, taken: TakenRates): Promise<boolean> {
  const limits = limitsOf(next).filter(dependsOnModel);
  if (limits.some(isExceeded)) return false;
  if (limits.length > 0 && !(await askLimits(limits, next.received)).granted) return false;
  taken.replaceModel(limits);
  return true;
}

function limitsOf({ key, call, model, received }: Admitted): readonly AppliedLimit[] {
  const tokens = call.operation.isFree ? 0 : maxTokens(call, model);
  return limitsOfModel(key, ratesOf(key, received.settings) ?? [], model, tokens);
}

function maxTokens({ demand }: Admitted['call'], model: Admitted['model']): number {
  const { maxOutputTokens = defaultOutputTokens, candidates, prompt } = demand;
  const outputTokens = Math.min(maxOutputTokens, model.maxOutputTokens ?? maxOutputTokens);
  return promptTokens(prompt, model) + candidates * outputTokens;
}

function isExceeded({ take }: AppliedLimit): boolean {
  return take.amount > take.limit;
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

function takenRates(admitted: Admitted, granted: readonly AppliedLimit[]): TakenRates {
  let limits = granted;
  let isOpen = true;
  const giveBack = (): void => {
    if (isOpen) void adjust(limits, admitted, ({ take }) => -take.amount);
    isOpen = false;
  };
  return {
    giveBack,
    settle: (ending, tokens) => {
      if (ending === 'not_run') return giveBack();
      isOpen = false;
      if (tokens === undefined) return;
      void adjust(limits, admitted, ({ counts, take }) =>
        counts === 'calls' ? 0 : tokens - take.amount,
      );
    },
    replaceModel: (ofModel) => {
      void adjust(limits.filter(dependsOnModel), admitted, ({ take }) => -take.amount);
      limits = [...limits.filter((limit) => !dependsOnModel(limit)), ...ofModel];
    },
  };
}

/** Corrects the limits. Nobody waits for it. */
async function adjust(
  limits: readonly AppliedLimit[],
  { received: { settings, ports } }: Admitted,
  amountOf: (limit: AppliedLimit) => number,
): Promise<void> {
  const changes = limits
    .map((limit): RateTake => ({ ...limit.take, amount: amountOf(limit) }))
    .filter(({ amount }) => amount !== 0);
  if (changes.length === 0) return;
  try {
    await ports.ask('rate_limiter', 'adjust', isAnything, (options) =>
      settings.rateLimiter.adjust(changes, options),
    );
  } catch {
    // A correction that was lost is in an event. It needs no retry: the bucket refills by itself.
  }
}

/**
 * The tokens that a call used: those that it is charged for, or would be if its model had a price.
 * Undefined while nobody knows whether it ran.
 */
export function usedTokens(
  rule: ChargeRule,
  { usage, basis }: Charge,
  { call, model }: Pick<Admitted, 'call' | 'model'>,
): number | undefined {
  if (rule === 'pend') return undefined;
  if (rule === 'release' || rule === 'nothing' || usage === undefined) return 0;
  const { inputTokens, outputTokens } = usage;
  // Free models estimate no prompt where the upstream counts none.
  const isUncounted = model.price.per === 'free' && basis !== 'usage' && inputTokens === 0;
  return (isUncounted ? promptTokens(call.demand.prompt, model) : inputTokens) + outputTokens;
}
