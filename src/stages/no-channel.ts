/**
 * The failure of a call that no channel can serve: 503, or 429 if the only channel left is rate
 * limited and another call is trying it. The caller gets the documented text and a time to wait;
 * the reason is in the event and in the usage record.
 */
import { GatewayError } from '../errors.ts';
import type { EventListener } from '../events.ts';
import type { Choice } from '../upstream/choose.ts';
import type { Admitted } from './call-record.ts';
import { type CallFailure, errorText } from './failure.ts';

/**
 * Used if nothing says when a channel will be available: long enough to spare the gateway a flood
 * of retries.
 */
const defaultWaitMs = 10_000;
/** Used if all channels are busy: a call may end at any moment. */
const busyWaitMs = 1_000;

/** Emits the event and returns the failure. */
export function noChannel(
  { model, received }: Pick<Admitted, 'model' | 'received'>,
  { reason, untilMs, isRateLimit }: Extract<Choice, { readonly kind: 'none' }>,
  emit: EventListener,
): CallFailure {
  const { settings, responseContext } = received;
  const { requestId } = responseContext;
  const waitMs = untilMs === undefined ? defaultWaitMs : untilMs - settings.clock.monotonicMs();
  const retryAfterMs = reason === 'busy' ? busyWaitMs : Math.max(busyWaitMs, waitMs);
  emit({ type: 'no_channel', requestId, modelId: model.id, reason, retryAfterMs });
  const code = isRateLimit === true ? 'upstream_rate_limited' : 'no_channel';
  // Another try would not find a secret for this key either.
  const details = reason === 'no_credential' ? { shouldRetry: false } : { retryAfterMs };
  return {
    error: new GatewayError(code, errorText(code, model), { reason, ...details }),
    ending: 'not_run',
    retry: 'never',
    healthSignal: { kind: 'neutral' },
    reason,
  };
}
