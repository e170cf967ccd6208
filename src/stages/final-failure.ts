/**
 * What the caller is told when all tries have failed: of which failure, when to come back, and
 * whether its SDK may by itself.
 */
import { type GatewayError, type GatewayErrorDetails, withDetails } from '../errors.ts';
import type { Channel } from '../ports/catalog.ts';
import type { ChannelHealth } from '../upstream/channel-health.ts';
import type { Admitted } from './call-record.ts';
import type { CallFailure } from './failure.ts';

/** SDKs take a shorter wait for none. */
const leastWaitMs = 1_000;

/** A call that failed, with all its tries. */
export interface FailedCall {
  readonly admitted: Admitted;
  readonly ending: CallFailure['ending'];
  /** The ids of the channels that it was sent to, or could not be sent to. */
  readonly passed: readonly string[];
}

/** The failure as the caller is told of it. */
export function finalFailure(
  failure: CallFailure,
  failed: FailedCall,
  health: ChannelHealth,
): CallFailure {
  const { ending } = failed;
  const details = { ...waitOf(failure.error, failed, health), ...adviceOf(failure.error, ending) };
  const error =
    Object.keys(details).length === 0 ? failure.error : withDetails(failure.error, details);
  return { ...failure, ending, error };
}

/**
 * The upstream's own wait says when it may be asked again, but other channels may be back before
 * it, and one that named no time cools down all the same.
 */
function waitOf(
  { code }: GatewayError,
  failed: FailedCall,
  health: ChannelHealth,
): GatewayErrorDetails {
  if (code !== 'upstream_rate_limited' && code !== 'no_channel') return {};
  const waitMs = soonestReturnMs(failed, health);
  return waitMs === undefined ? {} : { retryAfterMs: Math.max(waitMs, leastWaitMs) };
}

/** What surely did not run costs nothing when it is sent again. */
function adviceOf(
  { shouldRetry }: GatewayError,
  ending: CallFailure['ending'],
): GatewayErrorDetails {
  return shouldRetry === undefined && ending === 'not_run' ? { shouldRetry: true } : {};
}

/** Until the first channel that may serve such calls is back; undefined where no time is known. */
function soonestReturnMs(
  { admitted, passed }: FailedCall,
  health: ChannelHealth,
): number | undefined {
  const { call, key, plan, route, received } = admitted;
  const pool = plan.pool(route.protocol, key.group);
  if (typeof pool === 'string') return undefined;
  const nowMs = received.settings.clock.monotonicMs();
  const kind = { isBoughtOnce: call.operation.isBoughtOnce };
  const returnMs = (channel: Channel): number => {
    const standing = health.availability(channel, plan.channel(channel).upstreamModel, kind);
    const isUsable = standing.kind !== 'unavailable' || standing.reason === 'busy';
    // One that was tried and is not cooling down has failed: nothing says when it will do better.
    if (isUsable) return passed.includes(channel.id) ? Number.POSITIVE_INFINITY : 0;
    return (standing.untilMs ?? Number.POSITIVE_INFINITY) - nowMs;
  };
  const soonest = Math.min(...pool.channels.map(returnMs));
  return Number.isFinite(soonest) ? soonest : undefined;
}
