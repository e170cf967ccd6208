/**
 * The failure of a call that no channel can serve: 503; 429 if the only channel left is rate
 * limited and another call is trying it; 404 if the upstreams do not know the model. The caller
 * gets the documented text and, where a wait helps, its length; the reason is in the event and in
 * the usage record.
 */
import { GatewayError } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import type { Choice } from '../../upstream/choose.ts';
import type { Admitted } from '../call-record.ts';
import { type CallFailure, errorText } from './failure.ts';
import { unknownModelMessage } from './failure-table.ts';

/** Used if all channels are busy: a call may end at any moment. */
const busyWaitMs = 1_000;

export function noChannel(
  { model, received }: Pick<Admitted, 'model' | 'received'>,
  { reason, untilMs, isRateLimit }: Extract<Choice, { readonly kind: 'none' }>,
  emit: EventListener,
): CallFailure {
  const { settings, responseContext } = received;
  const { requestId } = responseContext;
  const nowMs = settings.clock.monotonicMs();
  const helpsAtMs = reason === 'busy' ? nowMs : untilMs;
  const wait =
    helpsAtMs === undefined ? {} : { retryAfterMs: Math.max(busyWaitMs, helpsAtMs - nowMs) };
  emit({ type: 'no_channel', requestId, modelId: model.id, reason, ...wait });
  const details = { reason, ...(helpsAtMs === undefined ? { shouldRetry: false } : wait) };
  const code = isRateLimit === true ? 'upstream_rate_limited' : 'no_channel';
  return {
    error:
      reason === 'upstream_model_not_found'
        ? new GatewayError('model_not_found', unknownModelMessage, { ...details, param: 'model' })
        : new GatewayError(code, errorText(code, model), details),
    ending: 'not_run',
    retry: 'never',
    healthSignal: { kind: 'neutral' },
    reason,
  };
}
