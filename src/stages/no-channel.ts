/**
 * The 503 of a call that no channel can serve, or the 429 where the last one said so. The caller
 * reads the documented text and when to come back; why it is so stands in the event and in the
 * usage record.
 */
import { GatewayError } from '../errors.ts';
import type { EventListener } from '../events.ts';
import type { Choice } from '../upstream/choose.ts';
import type { Admitted } from './call-record.ts';
import { type CallFailure, sentence } from './failure.ts';

/** Nothing says when a channel will be there: long enough not to be hammered. */
const unknownWaitMs = 10_000;
/** A call may end at any moment. */
const busyWaitMs = 1_000;

/** Tells the host, and gives the failure. */
export function noChannel(
  { model, received }: Admitted,
  { reason, untilMs, isRateLimit }: Extract<Choice, { readonly kind: 'none' }>,
  emit: EventListener,
): CallFailure {
  const { settings, answer } = received;
  const { requestId } = answer;
  const waitMs = untilMs === undefined ? unknownWaitMs : untilMs - settings.clock.monotonicMs();
  const retryAfterMs = reason === 'busy' ? busyWaitMs : Math.max(busyWaitMs, waitMs);
  emit({ type: 'no_channel', requestId, modelId: model.id, reason, retryAfterMs });
  const code = isRateLimit === true ? 'upstream_rate_limited' : 'no_channel';
  return {
    error: new GatewayError(code, sentence(code, model), { reason, retryAfterMs }),
    ending: 'not_run',
    retry: 'never',
    verdict: { kind: 'neutral' },
    reason,
    status: undefined,
  };
}
