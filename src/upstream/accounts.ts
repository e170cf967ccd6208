/**
 * The table of upstream accounts of one gateway, with the health of each account and its models.
 */
import type { Clock } from '../clock.ts';
import type { EventListener, HealthStatus } from '../events.ts';
import type { Channel } from '../ports/catalog.ts';
import { goodHealth, type HealthState } from './health-state.ts';

/** The state of one upstream account. */
export interface Account {
  isOff: boolean;
  inFlight: number;
  /** The rejected credential, by which a new one is recognised. */
  refused: { readonly credential: Channel['credential']; readonly reason: string } | undefined;
  /** The last model that was answered with 403, if nothing has been served since. */
  forbiddenModel: string | undefined;
  /**
   * The health of each model with failures on record, by name; of the account itself under
   * `undefined`. The map is undefined if there are no failures, as for most of a thousand accounts.
   */
  health: Map<string | undefined, HealthState> | undefined;
}

/** The accounts that have been called, enabled or disabled. */
export interface AccountTable {
  find(channelId: string): Account | undefined;
  /** Creates the account if it is not known yet. */
  of(channelId: string): Account;
  /** In the order of their first call. */
  all(): Iterable<readonly [channelId: string, account: Account]>;
  /** Replaces the health of an account or model, and emits an event if its state has changed. */
  setHealth(channelId: string, upstreamModel: string | undefined, after: HealthState): void;
  emitChange(channelId: string, upstreamModel: string | undefined, status: HealthStatus): void;
}

/** A bound on memory, in case a catalog keeps making up new ids. */
const maxAccounts = 10_000;
const maxUnhealthyModels = 1_000;

/** Starts empty. */
export function accountTable(clock: Clock, emit: EventListener): AccountTable {
  const accounts = new Map<string, Account>();

  const of = (channelId: string): Account => {
    const known = accounts.get(channelId);
    if (known !== undefined) return known;
    if (accounts.size >= maxAccounts) removeFirst(accounts, isRemovable);
    const account = newAccount();
    accounts.set(channelId, account);
    return account;
  };

  const tell: AccountTable['emitChange'] = (
    channelId,
    upstreamModel,
    { state, reason, untilMs },
  ) => {
    emit({ type: 'channel_changed', channelId, upstreamModel, state, reason, untilMs });
  };

  return {
    find: (channelId) => accounts.get(channelId),
    of,
    all: () => accounts,
    setHealth: (channelId, upstreamModel, after) => {
      const account = of(channelId);
      const before = healthOf(account, upstreamModel);
      if (after === before) return;
      replaceHealth(account, upstreamModel, after);
      const status = healthStatus(after, clock);
      if (healthStatus(before, clock).state !== status.state) {
        tell(channelId, upstreamModel, status);
      }
    },
    emitChange: tell,
  };
}

function newAccount(): Account {
  return {
    isOff: false,
    inFlight: 0,
    refused: undefined,
    forbiddenModel: undefined,
    health: undefined,
  };
}

function replaceHealth(
  account: Account,
  upstreamModel: string | undefined,
  after: HealthState,
): void {
  const health = account.health ?? new Map<string | undefined, HealthState>();
  health.delete(upstreamModel);
  if (after !== goodHealth) {
    if (health.size >= maxUnhealthyModels) removeFirst(health, () => true);
    health.set(upstreamModel, after);
  }
  account.health = health.size === 0 ? undefined : health;
}

/** The health of a model on an account, or of the account itself (`undefined`). */
export function healthOf(
  { health }: Pick<Account, 'health'>,
  upstreamModel: string | undefined,
): HealthState {
  return health?.get(upstreamModel) ?? goodHealth;
}

const ready: HealthStatus = { state: 'ready', reason: undefined, untilMs: undefined };

/** The health as a host reads it. The end of a pause becomes a time of day. */
export function healthStatus({ pause, demotion }: HealthState, clock: Clock): HealthStatus {
  const timeOf = (untilMs: number): number =>
    Math.round(clock.now() + untilMs - clock.monotonicMs());
  if (pause !== undefined) {
    const { state, reason, untilMs } = pause;
    return { state, reason, untilMs: state === 'half_open' ? undefined : timeOf(untilMs) };
  }
  if (demotion === undefined || demotion.kind === 'compared') return ready;
  const { reason, untilMs, inTrial } = demotion;
  return { state: 'deprioritized', reason, untilMs: inTrial ? undefined : timeOf(untilMs) };
}

function isRemovable({ isOff, inFlight }: Account): boolean {
  return !isOff && inFlight === 0;
}

function removeFirst<Name, T>(map: Map<Name, T>, isMatch: (value: T) => boolean): void {
  for (const [name, value] of map) {
    if (isMatch(value)) {
      map.delete(name);
      return;
    }
  }
}
