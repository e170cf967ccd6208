/** The health of upstream accounts in the form that a host reads. */
import type { Clock } from '../clock.ts';
import type { HealthStatus } from '../ports/health-status.ts';
import { type Account, type AccountTable, healthOf, healthStatus, isKeyScope } from './accounts.ts';
import type { HealthState } from './health-state.ts';

interface AccountHealth extends HealthStatus {
  /** How many calls are running on it in this process. */
  readonly inFlight: number;
  /** The models on it with problems of their own, by their upstream names. */
  readonly models: readonly (HealthStatus & {
    /** The channel's name for the model. */
    readonly upstreamModel: string;
  })[];
}

/** The health of an account that the function of a channel's `credential` has named. */
export interface AccountStatus extends AccountHealth {
  /** Its name. An account of a user is as private as the user's id: use it in no metric. */
  readonly account: string;
}

/** The health of a channel: of its own account, and of those that its `credential` named. */
export interface ChannelStatus extends AccountHealth {
  /** The upstream account, by the `id` of its channel. */
  readonly channelId: string;
  /** The named accounts with problems of their own; the calls of all count in `inFlight`. */
  readonly accounts: readonly AccountStatus[];
}

export const switchedOff: HealthStatus = { state: 'off', reason: undefined, untilMs: undefined };

export function channelStatuses(accounts: AccountTable, clock: Clock): readonly ChannelStatus[] {
  const named = new Map<string, AccountStatus[]>();
  for (const account of accounts.named()) {
    const status = namedStatusOf(account, clock);
    if (status === undefined) continue;
    const others = named.get(account.channelId);
    if (others === undefined) named.set(account.channelId, [status]);
    else others.push(status);
  }
  return [...accounts.own()].map((account) => ({
    channelId: account.channelId,
    ...healthOfAccount(account, clock),
    accounts: named.get(account.channelId) ?? [],
  }));
}

/** Undefined for an account without problems, and for the failing credential of one key. */
function namedStatusOf(account: Account, clock: Clock): AccountStatus | undefined {
  const { name } = account;
  if (name === undefined || isKeyScope(name) || account.health === undefined) return undefined;
  const health = healthOfAccount(account, clock);
  const isReady = health.state === 'ready' && health.models.length === 0;
  return isReady ? undefined : { account: name, ...health };
}

function healthOfAccount(account: Account, clock: Clock): AccountHealth {
  const { isOff, refused, health, inFlight, namedInFlight } = account;
  const own = isOff
    ? switchedOff
    : refused === undefined
      ? currentStatus(healthOf(account, undefined), clock)
      : { state: 'refused' as const, reason: refused.reason, untilMs: undefined };
  const models = [...(health ?? [])].flatMap(([upstreamModel, health]) =>
    upstreamModel === undefined ? [] : [{ upstreamModel, ...currentStatus(health, clock) }],
  );
  return {
    inFlight: inFlight + namedInFlight,
    ...own,
    models: models.filter(({ state }) => state !== 'ready'),
  };
}

/** A cooldown that has ended is not shown, even if no call has come since to remove it. */
function currentStatus(health: HealthState, clock: Clock): HealthStatus {
  const { pause } = health;
  const isOver = pause?.state === 'cooling_down' && clock.monotonicMs() >= pause.untilMs;
  return healthStatus(isOver ? { ...health, pause: undefined } : health, clock);
}
