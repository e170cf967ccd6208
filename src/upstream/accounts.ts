/**
 * The table of upstream accounts of one gateway, with the health of each account and its models:
 * each channel's own account, and the accounts that credential functions name.
 */

import type { Clock } from '../clock.ts';
import type { EventListener } from '../events/events.ts';
import type { FailureReason } from '../failure-reasons.ts';
import type { HealthStatus } from '../ports/health-status.ts';
import type { Channel } from '../ports/models/catalog.ts';
import { goodHealth, type HealthState } from './health-state.ts';

export interface Account {
  readonly channelId: string;
  /** The name that the channel's credential gave it; undefined for the channel's own account. */
  readonly name: string | undefined;
  isOff: boolean;
  inFlight: number;
  /** Only of a channel's own account: the calls that run through its named accounts. */
  namedInFlight: number;
  /** The rejected credential, by which a new one is recognised. */
  refused:
    | { readonly credential: Channel['credential']; readonly reason: FailureReason }
    | undefined;
  /** Only of a named account: the digest of the secret with which the account itself failed. */
  failedDigest: string | undefined;
  /** The last model that was answered with 403, if nothing has been served since. */
  forbiddenModel: string | undefined;
  /**
   * The health of each model with failures on record, by name; of the account itself under
   * `undefined`. The map is undefined if there are no failures, as for most of a thousand accounts.
   */
  health: Map<string | undefined, HealthState> | undefined;
}

/** Bounds the memory, because a host's catalog may keep returning new ids. */
const maxAccounts = 10_000;
const maxNamedAccounts = 10_000;
const maxUnhealthyModels = 1_000;

export class AccountTable {
  readonly #clock: Clock;
  readonly #emit: EventListener;
  readonly #own = new Map<string, Account>();
  readonly #named = new Map<string, Account>();

  constructor(clock: Clock, emit: EventListener) {
    this.#clock = clock;
    this.#emit = emit;
  }

  /** The account of this name; the channel's own if the name is undefined. */
  find(channelId: string, name?: string): Account | undefined {
    return name === undefined ? this.#own.get(channelId) : this.#named.get(nameOf(channelId, name));
  }

  /** Creates the account if it is not known yet. */
  of(channelId: string, name?: string): Account {
    if (name !== undefined) return this.#namedAccount(channelId, name);
    const known = this.#own.get(channelId);
    if (known !== undefined) return known;
    if (this.#own.size >= maxAccounts) removeFirst(this.#own, isRemovable);
    const account = newAccount(channelId, undefined);
    this.#own.set(channelId, account);
    return account;
  }

  #namedAccount(channelId: string, name: string): Account {
    const id = nameOf(channelId, name);
    const account = this.#named.get(id) ?? newAccount(channelId, name);
    // Inserted again, so that the first entry is the least recently used one.
    this.#named.delete(id);
    if (this.#named.size >= maxNamedAccounts) removeFirst(this.#named, () => true);
    this.#named.set(id, account);
    return account;
  }

  /** The channels' own accounts, in the order of their first call. */
  own(): Iterable<Account> {
    return this.#own.values();
  }

  /** The accounts that were named, least recently used first. */
  named(): Iterable<Account> {
    return this.#named.values();
  }

  /** Replaces the health of an account or model, and emits an event if its state has changed. */
  setHealth(account: Account, upstreamModel: string | undefined, after: HealthState): void {
    const before = healthOf(account, upstreamModel);
    if (after === before) return;
    replaceHealth(account, upstreamModel, after);
    const status = healthStatus(after, this.#clock);
    if (healthStatus(before, this.#clock).state !== status.state) {
      this.emitChange(account, upstreamModel, status);
    }
  }

  /** Emits nothing for a named account, whose state is not the channel's. */
  emitChange(account: Account, upstreamModel: string | undefined, status: HealthStatus): void {
    if (account.name !== undefined) return;
    const { channelId } = account;
    const { state, reason, untilMs } = status;
    this.#emit({ type: 'channel_changed', channelId, upstreamModel, state, reason, untilMs });
  }
}

/**
 * The name under which the failures of a credential function are counted until it has named the
 * account of a key. No account that it names begins with a control character.
 */
export function keyScope(keyId: string): string {
  return `\n${keyId}`;
}

export function isKeyScope(name: string): boolean {
  return name.startsWith('\n');
}

/** Unambiguous, because a channel's id has no control characters. */
export function nameOf(channelId: string, name: string): string {
  return `${channelId}\n${name}`;
}

function newAccount(channelId: string, name: string | undefined): Account {
  return {
    channelId,
    name,
    isOff: false,
    inFlight: 0,
    namedInFlight: 0,
    refused: undefined,
    failedDigest: undefined,
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
    // Callers of a wildcard choose the names of models, so those that the upstream does not know go
    // first. That of the account itself stays.
    if (health.size >= maxUnhealthyModels && !removeFirst(health, isUnknown)) {
      removeFirst(health, (_, name) => name !== undefined);
    }
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

function isRemovable({ isOff, inFlight, namedInFlight }: Account): boolean {
  return !isOff && inFlight === 0 && namedInFlight === 0;
}

function isUnknown({ pause }: HealthState, name: string | undefined): boolean {
  return name !== undefined && pause?.reason === 'upstream_model_not_found';
}

/** Whether there was one. */
function removeFirst<Name, T>(
  map: Map<Name, T>,
  isMatch: (value: T, name: Name) => boolean,
): boolean {
  for (const [name, value] of map) {
    if (isMatch(value, name)) return map.delete(name);
  }
  return false;
}
