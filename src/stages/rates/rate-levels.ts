/**
 * Asks the rate limiter for a call's limits, and keeps what remains in them for the headers of the
 * response.
 */

import type { HeaderMap } from '../../http.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { RateDecision } from '../../ports/limits/rate-limiter.ts';
import type { Caller, RateState } from '../../protocols/protocol.ts';
import type { Received } from '../call-record.ts';
import { isRateDecision } from '../ports/port-answers.ts';
import type { AppliedLimit, RateLevel } from './applied-limits.ts';

/** Takes all the limits or none, and adds them to the headers of the response. */
export async function takeLimits(
  limits: readonly AppliedLimit[],
  received: Received,
  caller: Caller,
): Promise<RateDecision> {
  const { responseContext, settings } = received;
  const decision = await askLimits(limits, received);
  const atMs = settings.clock.monotonicMs();
  const taken = limits.map((limit, index) => ({
    limit,
    remaining: Math.floor(decision.remaining[index] ?? 0),
    atMs,
  }));
  const levels = [...(responseContext.rates?.levels ?? []), ...taken];
  responseContext.rates = { levels, headers: headersOf(levels, caller, settings.clock.now()) };
  return decision;
}

export function askLimits(
  limits: readonly AppliedLimit[],
  { settings, ports }: Received,
): MaybePromise<RateDecision> {
  const takes = limits.map(({ take }) => take);
  return ports.ask('rate_limiter', 'take', isRateDecision(takes.length), (options) =>
    settings.rateLimiter.take(takes, options),
  );
}

function headersOf(
  levels: readonly RateLevel[],
  { rateHeaders }: Caller,
  nowMs: number,
): HeaderMap {
  if (rateHeaders === undefined) return {};
  return rateHeaders({ calls: nearest(levels, 'calls'), tokens: nearest(levels, 'tokens') }, nowMs);
}

/** The limit that refuses first if more is used, of those that callers may see. */
function nearest(
  levels: readonly RateLevel[],
  counts: AppliedLimit['counts'],
): RateState | undefined {
  let found: RateState | undefined;
  for (const { limit, remaining } of levels) {
    if (limit.counts !== counts || !limit.isVisible) continue;
    const { limit: size, periodMs } = limit.take;
    const resetMs = Math.max(0, Math.ceil(((size - remaining) * periodMs) / size));
    const isNearer =
      found === undefined ||
      remaining < found.remaining ||
      (remaining === found.remaining && resetMs > found.resetMs);
    if (isNearer) found = { limit: size, remaining, resetMs };
  }
  return found;
}
