/** Takes a call from the rate limits of its key and of its group, before its body is read. */
import type { Settings } from '../../options.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import type { KeyRateLimits } from '../../ports/limits/rates.ts';
import type { Model } from '../../ports/models/catalog.ts';
import type { Caller } from '../../protocols/protocol.ts';
import type { Authenticated } from '../call-record.ts';
import { limitsOfCalls } from './applied-limits.ts';
import { takeLimits } from './rate-levels.ts';
import { rateRefusal } from './rate-refusal.ts';

export function ratesOf(
  { rates, sharedRates }: ApiKey,
  { defaultRates }: Settings,
): readonly KeyRateLimits[] | undefined {
  const own = rates ?? defaultRates;
  return sharedRates === undefined ? own : [...(own ?? []), ...sharedRates];
}

/** True if limits may apply once the model is known: a fallback may have limits of its own. */
export function mayBeLimited(
  key: ApiKey,
  { rates, fallbacks }: Model,
  settings: Settings,
): boolean {
  return (ratesOf(key, settings) ?? rates ?? fallbacks) !== undefined;
}

/** @throws GatewayError `rate_limited`, with the time to wait; `store_unavailable` */
export async function limit({ key, received }: Authenticated, caller: Caller): Promise<void> {
  const rates = ratesOf(key, received.settings);
  const limits = rates === undefined ? [] : limitsOfCalls(key, rates);
  if (limits.length === 0) return;
  const decision = await takeLimits(limits, received, caller);
  if (!decision.granted) throw rateRefusal(limits[decision.refused], decision.retryAfterMs);
}
