/**
 * Takes a call from the rate limits of its key and of its group, before its body is read. The
 * errors name the limit, and state its numbers only if those reveal nothing about other tenants.
 * What remains in the limits is kept for the headers of the response.
 */
import { GatewayError } from '../../errors.ts';
import type { HeaderMap } from '../../http.ts';
import type { Settings } from '../../options.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import type { RateDecision } from '../../ports/limits/rate-limiter.ts';
import type { KeyRateLimits } from '../../ports/limits/rates.ts';
import type { Model } from '../../ports/models/catalog.ts';
import type { Caller, RateState } from '../../protocols/protocol.ts';
import type { Authenticated, Received } from '../call-record.ts';
import { isRateDecision } from '../ports/port-answers.ts';
import { type AppliedLimit, limitsOfCalls, type RateLevel } from './applied-limits.ts';

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

export function rateRefusal(limit: AppliedLimit | undefined, retryAfterMs: number): GatewayError {
  const where = limit === undefined ? '' : ` for ${named(limit)}`;
  return new GatewayError(
    'rate_limited',
    `Rate limit reached${where}. Reduce concurrency and retry after the time in Retry-After.`,
    { reason: 'rate', retryAfterMs, limit: limit && limitName(limit) },
  );
}

/** The error for a call that takes more tokens than the full bucket has. No wait helps. */
export function tooLargeForRate(limit: AppliedLimit): GatewayError {
  const tokens = limit.take.amount.toLocaleString('en');
  return new GatewayError(
    'rate_limited',
    `This request may use up to ${tokens} tokens, which is above the rate limit for ` +
      `${named(limit)}. Shorten the input, or lower the limit of output tokens.`,
    { reason: 'rate_too_large', shouldRetry: false, limit: limitName(limit) },
  );
}

const owners = { key: 'this key', quota: "this key's quota", model: 'this model' } as const;

/** `this key: 60 calls per minute`, `this key's quota: calls per day` */
function named({ of, isForOneModel, isVisible, counts, period, take }: AppliedLimit): string {
  const owner = isForOneModel ? `${owners[of]} on this model` : owners[of];
  if (!isVisible) return `${owner}: ${counts} per ${period}`;
  const counted = take.limit === 1 ? counts.slice(0, -1) : counts;
  return `${owner}: ${take.limit.toLocaleString('en')} ${counted} per ${period}`;
}

/** For operators: `key:calls/minute`, `quota/model:tokens/day`. */
function limitName({ of, isForOneModel, counts, period }: AppliedLimit): string {
  return `${of}${isForOneModel ? '/model' : ''}:${counts}/${period}`;
}

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
