/** The health of upstream accounts in the form that a host reads. */
import type { Clock } from '../clock.ts';
import type { HealthStatus } from '../events.ts';
import { type Account, healthOf, healthStatus } from './accounts.ts';
import type { HealthState } from './health-state.ts';

/** The health of a channel and its models. */
export interface ChannelStatus extends HealthStatus {
  readonly channelId: string;
  /** The number of calls that are running through it. */
  readonly inFlight: number;
  /** The models on it with problems of their own, by their upstream names. */
  readonly models: readonly (HealthStatus & { readonly upstreamModel: string })[];
}

/** The host has switched it off. */
export const switchedOff: HealthStatus = { state: 'off', reason: undefined, untilMs: undefined };

/** The status of the account, and of each of its models that has problems of its own. */
export function channelStatusOf(channelId: string, account: Account, clock: Clock): ChannelStatus {
  const { isOff, refused, health, inFlight } = account;
  const own = isOff
    ? switchedOff
    : refused === undefined
      ? currentStatus(healthOf(account, undefined), clock)
      : { state: 'refused' as const, reason: refused.reason, untilMs: undefined };
  const models = [...(health ?? [])].flatMap(([upstreamModel, health]) =>
    upstreamModel === undefined ? [] : [{ upstreamModel, ...currentStatus(health, clock) }],
  );
  return { channelId, inFlight, ...own, models: models.filter(({ state }) => state !== 'ready') };
}

/** A cooldown that has ended is not shown, even if no call has come since to remove it. */
function currentStatus(health: HealthState, clock: Clock): HealthStatus {
  const { pause } = health;
  const isOver = pause?.state === 'cooling_down' && clock.monotonicMs() >= pause.untilMs;
  return healthStatus(isOver ? { ...health, pause: undefined } : health, clock);
}
