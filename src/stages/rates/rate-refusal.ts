/**
 * The errors for calls above a rate limit. They name the limit, and state its numbers only if those
 * reveal nothing about other tenants.
 */
import { GatewayError } from '../../errors.ts';
import type { AppliedLimit } from './applied-limits.ts';

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
