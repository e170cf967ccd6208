/**
 * Takes a call from the rate limits that depend on its model or count tokens, after its body was
 * read, and again for each model that it falls back to.
 */

import type { Admitted } from '../call-record.ts';
import { promptTokens } from '../settle/hold.ts';
import {
  type AppliedLimit,
  dependsOnModel,
  limitsOfModel,
  type RateLevel,
  type TakenRates,
} from './applied-limits.ts';
import { ratesOf } from './limit.ts';
import { askLimits, takeLimits } from './rate-levels.ts';
import { rateRefusal, tooLargeForRate } from './rate-refusal.ts';
import { takenRates } from './taken-rates.ts';

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
