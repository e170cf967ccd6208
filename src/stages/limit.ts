/** Asks the host's rate limiter, if there is one, whether this key may call now. */
import { GatewayError } from '../errors.ts';
import type { Authenticated } from './call-record.ts';
import { isRateDecision } from './port-answers.ts';

/** @throws GatewayError `rate_limited`, with the time to wait */
export async function limit({ key, received }: Authenticated): Promise<void> {
  const { settings, guard } = received;
  const { rateLimiter } = settings;
  if (rateLimiter === undefined) return;
  const decision = await guard.ask('rate_limiter', 'consume', isRateDecision, () =>
    rateLimiter.consume(key.id, 1),
  );
  if (decision.granted) return;
  throw new GatewayError(
    'rate_limited',
    'Too many requests. Reduce concurrency and retry after the time in Retry-After.',
    { reason: 'rate', retryAfterMs: decision.retryAfterMs },
  );
}
