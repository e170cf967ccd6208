/**
 * Completes the error of a call whose attempts have all failed: when to retry, and whether the
 * caller's SDK should.
 */
import { type GatewayError, type GatewayErrorDetails, withDetails } from '../../errors.ts';
import type { Channel } from '../../ports/catalog.ts';
import type { ChannelHealth } from '../../upstream/channel-health.ts';
import type { Admitted } from '../call-record.ts';
import { accountFor, type CallCredentials, type PerKeyFunctions } from './credential.ts';
import type { CallFailure } from './failure.ts';

/** SDKs ignore a shorter wait. */
const minWaitMs = 1_000;

export interface FailedCall {
  readonly admitted: Admitted;
  readonly ending: CallFailure['ending'];
  /** The ids of the channels that were tried, or could not serve the call. */
  readonly passed: readonly string[];
  readonly credentials: CallCredentials | undefined;
  readonly perKey: PerKeyFunctions;
}

export function finalFailure(
  failure: CallFailure,
  failed: FailedCall,
  health: ChannelHealth,
): CallFailure {
  const { ending } = failed;
  const details = {
    ...retryWait(failure.error, failed, health),
    ...retryAdvice(failure.error, ending),
  };
  const error =
    Object.keys(details).length === 0 ? failure.error : withDetails(failure.error, details);
  return { ...failure, ending, error };
}

/**
 * The wait until any channel is available, which may be shorter than the one that this upstream
 * stated. A channel whose upstream stated none cools down as well.
 */
function retryWait(
  { code }: GatewayError,
  failed: FailedCall,
  health: ChannelHealth,
): GatewayErrorDetails {
  if (code !== 'upstream_rate_limited' && code !== 'no_channel') return {};
  const waitMs = soonestAvailableMs(failed, health);
  return waitMs === undefined ? {} : { retryAfterMs: Math.max(waitMs, minWaitMs) };
}

/** A call that certainly did not run can be sent again without cost. */
function retryAdvice(
  { shouldRetry }: GatewayError,
  ending: CallFailure['ending'],
): GatewayErrorDetails {
  return shouldRetry === undefined && ending === 'not_run' ? { shouldRetry: true } : {};
}

function soonestAvailableMs(
  { admitted, passed, credentials, perKey }: FailedCall,
  health: ChannelHealth,
): number | undefined {
  const { call, key, plan, route, received } = admitted;
  const pool = plan.pool(route.protocol, key.group);
  if (typeof pool === 'string') return undefined;
  const nowMs = received.settings.clock.monotonicMs();
  const kind = { isBoughtOnce: call.operation.isBoughtOnce };
  const availableInMs = (channel: Channel): number => {
    if (credentials?.get(channel.id)?.kind === 'none') return Number.POSITIVE_INFINITY;
    const account = accountFor(channel, key, credentials, perKey);
    const { upstreamModel } = plan.channel(channel);
    const availability = health.availability(channel, upstreamModel, kind, account);
    const isUsable = availability.kind !== 'unavailable' || availability.reason === 'busy';
    // A channel that was tried and is not cooling down has failed. Nothing says when it will
    // recover.
    if (isUsable) return passed.includes(channel.id) ? Number.POSITIVE_INFINITY : 0;
    return (availability.untilMs ?? Number.POSITIVE_INFINITY) - nowMs;
  };
  const soonest = Math.min(...pool.channels.map(availableInMs));
  return Number.isFinite(soonest) ? soonest : undefined;
}
