/** The upstream accounts of one gateway, and what stands against them and their models. */
import type { Clock } from '../clock.ts';
import type { EventListener, HealthStatus } from '../events.ts';
import type { Channel } from '../ports/catalog.ts';
import { goodHealth, type HealthState } from './health-state.ts';

/** What is known of one upstream account. */
export interface Account {
  isOff: boolean;
  inFlight: number;
  /** The credential that was not accepted, to know a new one from it. */
  refused: { readonly credential: Channel['credential']; readonly reason: string } | undefined;
  /** The model that was the last to be forbidden, with nothing served since. */
  forbiddenModel: string | undefined;
  /**
   * Of those that have something against them: models by name, the account itself by none.
   * Undefined where nothing stands against any: of a thousand accounts most are well.
   */
  standings: Map<string | undefined, HealthState> | undefined;
}

/** The accounts that have been called or switched. */
export interface AccountTable {
  find(channelId: string): Account | undefined;
  /** A new one where there is none yet. */
  of(channelId: string): Account;
  /** In the order of their first call. */
  all(): Iterable<readonly [channelId: string, account: Account]>;
  /** Puts a standing in place of another, and tells the host where that makes a difference. */
  put(channelId: string, upstreamModel: string | undefined, after: HealthState): void;
  tell(channelId: string, upstreamModel: string | undefined, status: HealthStatus): void;
}

/** A catalog that makes up ids must not fill the memory. */
const mostAccounts = 10_000;
const mostStandings = 1_000;

/** No account is known yet. */
export function accountTable(clock: Clock, emit: EventListener): AccountTable {
  const accounts = new Map<string, Account>();

  const of = (channelId: string): Account => {
    const known = accounts.get(channelId);
    if (known !== undefined) return known;
    if (accounts.size >= mostAccounts) dropOne(accounts, mayGo);
    const account: Account = {
      isOff: false,
      inFlight: 0,
      refused: undefined,
      forbiddenModel: undefined,
      standings: undefined,
    };
    accounts.set(channelId, account);
    return account;
  };

  const tell: AccountTable['tell'] = (channelId, upstreamModel, { state, reason, untilMs }) => {
    emit({ type: 'channel_changed', channelId, upstreamModel, state, reason, untilMs });
  };

  return {
    find: (channelId) => accounts.get(channelId),
    of,
    all: () => accounts,
    put: (channelId, upstreamModel, after) => {
      const account = of(channelId);
      const before = standingOf(account, upstreamModel);
      if (after === before) return;
      const standings = account.standings ?? new Map<string | undefined, HealthState>();
      standings.delete(upstreamModel);
      if (after !== goodHealth) {
        if (standings.size >= mostStandings) dropOne(standings, () => true);
        standings.set(upstreamModel, after);
      }
      account.standings = standings.size === 0 ? undefined : standings;
      const status = standingStatus(after, clock);
      if (standingStatus(before, clock).state !== status.state) {
        tell(channelId, upstreamModel, status);
      }
    },
    tell,
  };
}

/** Where a model on an account stands, or the account itself. */
export function standingOf(
  { standings }: Pick<Account, 'standings'>,
  upstreamModel: string | undefined,
): HealthState {
  return standings?.get(upstreamModel) ?? goodHealth;
}

const ready: HealthStatus = { state: 'ready', reason: undefined, untilMs: undefined };

/** What a standing means to a host; the end of a pause becomes a time of day. */
export function standingStatus({ pause, demotion }: HealthState, clock: Clock): HealthStatus {
  const timeOf = (untilMs: number): number =>
    Math.round(clock.now() + untilMs - clock.monotonicMs());
  if (pause !== undefined) {
    const { state, reason, untilMs } = pause;
    return { state, reason, untilMs: state === 'half_open' ? undefined : timeOf(untilMs) };
  }
  if (demotion === undefined || demotion.kind === 'compared') return ready;
  const { reason, untilMs, isTried } = demotion;
  return { state: 'deprioritized', reason, untilMs: isTried ? undefined : timeOf(untilMs) };
}

function mayGo({ isOff, inFlight }: Account): boolean {
  return !isOff && inFlight === 0;
}

function dropOne<Name, T>(map: Map<Name, T>, isOne: (value: T) => boolean): void {
  for (const [name, value] of map) {
    if (isOne(value)) {
      map.delete(name);
      return;
    }
  }
}
