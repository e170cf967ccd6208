/** How upstream accounts stand, as a host reads it. */
import type { Clock } from '../clock.ts';
import type { HealthStatus } from '../events.ts';
import { type Account, standingOf, standingStatus } from './accounts.ts';
import type { HealthState } from './health-state.ts';

/** How a channel stands, as a host reads it. */
export interface ChannelStatus extends HealthStatus {
  readonly channelId: string;
  /** Calls that run through it now. */
  readonly inFlight: number;
  /** The models on it that have trouble of their own, by their upstream's names for them. */
  readonly models: readonly (HealthStatus & { readonly upstreamModel: string })[];
}

/** The host has switched it off. */
export const switchedOff: HealthStatus = { state: 'off', reason: undefined, untilMs: undefined };

/** The account, and each of its models that has trouble of its own. */
export function statusOf(channelId: string, account: Account, clock: Clock): ChannelStatus {
  const { isOff, refused, standings, inFlight } = account;
  const own = isOff
    ? switchedOff
    : refused === undefined
      ? currentStatus(standingOf(account, undefined), clock)
      : { state: 'refused' as const, reason: refused.reason, untilMs: undefined };
  const models = [...(standings ?? [])].flatMap(([upstreamModel, standing]) =>
    upstreamModel === undefined ? [] : [{ upstreamModel, ...currentStatus(standing, clock) }],
  );
  return { channelId, inFlight, ...own, models: models.filter(({ state }) => state !== 'ready') };
}

/** A rest that is over is over, though no call has come since to see it. */
function currentStatus(standing: HealthState, clock: Clock): HealthStatus {
  const { pause } = standing;
  const isOver = pause?.state === 'cooling_down' && clock.monotonicMs() >= pause.untilMs;
  return standingStatus(isOver ? { ...standing, pause: undefined } : standing, clock);
}
