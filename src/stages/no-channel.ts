/**
 * The 503 of a call that no channel can serve, or the 429 where the last one said so. The caller
 * reads the documented text and when to come back; why it is so stands in the event and in the
 * usage record.
 */
import { GatewayError } from '../errors.ts';
import type { Model } from '../ports/catalog.ts';
import type { Choice } from '../upstream/choose.ts';
import { type CallFailure, sentence } from './failure.ts';
import type { UpstreamContext } from './try-channel.ts';

/** Nothing says when a channel will be there: long enough not to be hammered. */
const unknownWaitMs = 10_000;
/** A call may end at any moment. */
const busyWaitMs = 1_000;

/** Tells the host, and gives the failure. */
export function noChannel(
  model: Model,
  { reason, untilMs, isRateLimit }: Extract<Choice, { readonly kind: 'none' }>,
  { requestId, emit, settings }: UpstreamContext,
): CallFailure {
  const waitMs = untilMs === undefined ? unknownWaitMs : untilMs - settings.clock.monotonicMs();
  const retryAfterMs = reason === 'busy' ? busyWaitMs : Math.max(busyWaitMs, waitMs);
  emit({ type: 'no_channel', requestId, modelId: model.id, reason, retryAfterMs });
  const code = isRateLimit === true ? 'upstream_rate_limited' : 'no_channel';
  return {
    error: new GatewayError(code, sentence(code, model), { reason, retryAfterMs }),
    ending: 'not_run',
    retry: 'never',
    verdict: { kind: 'nothing' },
    reason,
    status: undefined,
  };
}
