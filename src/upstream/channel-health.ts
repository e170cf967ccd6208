/**
 * Tracks the health of upstream accounts and of each model on them: cooldowns, circuit breakers,
 * demotions, refused credentials, accounts that the host disabled, and the number of running calls.
 * The state belongs to one gateway.
 */
import type { Clock } from '../clock.ts';
import type { EventListener } from '../events/events.ts';
import type { Channel } from '../ports/models/catalog.ts';
import { type Account, AccountTable, healthOf, healthStatus, nameOf } from './accounts.ts';
import { type ChannelStatus, channelStatuses, switchedOff } from './channel-status.ts';
import type { Availability } from './choose.ts';
import {
  afterComparison,
  afterFirstByte,
  afterReplyBegan,
  afterSlowCalls,
  currentPause,
  goodHealth,
  isDeprioritized,
  type Pause,
} from './health-state.ts';
import {
  type CallInProgress,
  clearRefusal,
  forgetOtherSecret,
  type HealthRecords,
  type HealthSignal,
  hasOtherSecret,
  recordEnd,
  recordStart,
  releaseLastResort,
  updateHealth,
} from './record-health.ts';
import {
  comparedWith,
  type RequestedModel,
  recordAnswer,
  type ServedModel,
  usualLimitMs,
  WaitingCalls,
} from './waiting-calls.ts';

export interface ChannelLease {
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** How long a trial call may wait before another channel is tried. Undefined for other calls. */
  readonly trialMs: number | undefined;
  /** Something was received at this time: the response head, with any status. */
  firstByte(atMs: number): void;
  /** The reply has begun, which is enough for a trial call to succeed. */
  answered(): void;
  /** The call has ended. Only the first call of this method has an effect. */
  end(signal: HealthSignal): void;
}

export interface NamedAccount {
  readonly name: string;
  readonly secret: string;
}

export interface ChannelHealth {
  availability(
    channel: Channel,
    upstreamModel: string,
    call: CallKind,
    named?: NamedAccount,
  ): Availability;
  /** The number of calls that are running through it, on any account. */
  inFlight(channel: Channel): number;
  /** The median of a channel's latest first bytes, on any account: see `WaitingCalls.medianMs`. */
  medianFirstByteMs(channel: Channel, asked: RequestedModel): number | undefined;
  /** Must run in the same turn as the choice: else two calls could both become the trial call. */
  begin(
    channel: Channel,
    upstreamModel: string,
    asked: RequestedModel,
    named?: NamedAccount,
  ): ChannelLease;
  /** Looks for slow channels; called every second. */
  tick(): void;
  /** Every channel that has been called, enabled or disabled, in the order of the first call. */
  statuses(): readonly ChannelStatus[];
  /** Enables a channel, and clears everything recorded against its accounts. */
  enable(channelId: string): void;
  disable(channelId: string): void;
  /** The host reloaded the catalog: rejected credentials may be tried again. */
  reloaded(): void;
}

/** How long a trial call may wait for a first byte if the usual time is unknown. */
const defaultTrialMs = 30_000;

interface ChannelsState extends HealthRecords {
  readonly calls: WaitingCalls;
  /** Not compared with a channel's: one user's account says nothing about the channel's speed. */
  readonly namedCalls: WaitingCalls;
}

export function channelHealth(
  clock: Clock,
  random: () => number,
  emit: EventListener,
): ChannelHealth {
  const accounts = new AccountTable(clock, emit);
  const calls = { calls: new WaitingCalls(), namedCalls: new WaitingCalls() };
  const state = { clock, random, accounts, ...calls, lastResortInUse: new WeakSet<Pause>() };
  return {
    availability: (channel, upstreamModel, call, named) => {
      if (named !== undefined) return namedAvailability(state, channel, upstreamModel, call, named);
      const own = accounts.find(channel.id);
      return own === undefined
        ? available
        : availabilityOf(own, channel, upstreamModel, call, state);
    },
    inFlight: ({ id }) => {
      const own = accounts.find(id);
      return own === undefined ? 0 : own.inFlight + own.namedInFlight;
    },
    medianFirstByteMs: ({ id }, asked) => state.calls.medianMs(asked, id),
    begin: (channel, upstreamModel, asked, named) =>
      named === undefined
        ? beginCall(state, accounts.of(channel.id), channel, upstreamModel, asked)
        : beginNamed(state, channel, upstreamModel, asked, named),
    tick: () => deprioritizeSlow(state),
    statuses: () => channelStatuses(accounts, clock),
    enable: (channelId) => {
      resetChannel(state, channelId).isOff = false;
      accounts.emitChange(accounts.of(channelId), undefined, healthStatus(goodHealth, clock));
    },
    disable: (channelId) => {
      resetChannel(state, channelId).isOff = true;
      accounts.emitChange(accounts.of(channelId), undefined, switchedOff);
    },
    reloaded: () => clearRefusals(state),
  };
}

function namedAvailability(
  state: ChannelsState,
  channel: Channel,
  upstreamModel: string,
  call: CallKind,
  { name, secret }: NamedAccount,
): Availability {
  const { accounts } = state;
  if (accounts.find(channel.id)?.isOff === true) return switchedOffChannel;
  const account = accounts.find(channel.id, name);
  if (account === undefined) return available;
  // The failures of an earlier secret are removed only when a call begins.
  const health = hasOtherSecret(account, secret) ? withoutOwn(account.health) : account.health;
  return availabilityOf({ ...account, health }, channel, upstreamModel, call, state);
}

function clearRefusals(state: ChannelsState): void {
  for (const account of state.accounts.own()) {
    if (account.refused !== undefined) clearRefusal(state, account);
  }
}

function withoutOwn(health: Account['health']): Account['health'] {
  const models = new Map(health);
  models.delete(undefined);
  return models;
}

/** Starts a call on a named account. Its channel counts it too, and shows it in its status. */
function beginNamed(
  state: ChannelsState,
  channel: Channel,
  upstreamModel: string,
  asked: RequestedModel,
  { name, secret }: NamedAccount,
): ChannelLease {
  const own = state.accounts.of(channel.id);
  const account = state.accounts.of(channel.id, name);
  forgetOtherSecret(state, account, secret);
  own.namedInFlight += 1;
  return beginCall(state, account, channel, upstreamModel, asked, secret, own);
}

function beginCall(
  state: ChannelsState,
  account: Account,
  channel: Channel,
  upstreamModel: string,
  asked: RequestedModel,
  secret?: string,
  channelAccount: Account = account,
): ChannelLease {
  const { clock } = state;
  const { channelId, name } = account;
  const calls = name === undefined ? state.calls : state.namedCalls;
  account.inFlight += 1;
  if (account.refused !== undefined && account.refused.credential !== channel.credential) {
    clearRefusal(state, account);
  }
  const nowMs = clock.monotonicMs();
  const atStart = recordStart(state, account, upstreamModel, nowMs);
  const comparedId = name === undefined ? channelId : nameOf(channelId, name);
  const waiting = calls.begin({ channelId: comparedId, upstreamModel }, asked, nowMs);
  // The speed of an endpoint is that of all its accounts.
  if (name !== undefined) state.calls.measureFor(channelId, waiting, asked);
  const compared = comparedWith(waiting);
  if (compared !== undefined) endComparison(state, compared);
  const isTrial = atStart.isTrial && asked.reply !== 'image';
  const call: CallInProgress = {
    account,
    channelAccount,
    calls,
    channel,
    secret,
    upstreamModel,
    accountAtStart: atStart.account,
    modelAtStart: atStart.model,
    waiting,
  };
  return new Lease(state, call, isTrial ? (usualLimitMs(waiting) ?? defaultTrialMs) : undefined);
}

class Lease implements ChannelLease {
  readonly startedMs: number;
  readonly trialMs: number | undefined;
  readonly #state: ChannelsState;
  readonly #call: CallInProgress;
  #hasEnded = false;

  constructor(state: ChannelsState, call: CallInProgress, trialMs: number | undefined) {
    this.startedMs = call.waiting.startedMs;
    this.trialMs = trialMs;
    this.#state = state;
    this.#call = call;
  }

  firstByte(atMs: number): void {
    const { account, calls, waiting } = this.#call;
    calls.firstByte(waiting, atMs);
    if (account.health === undefined) return;
    releaseLastResort(this.#state, this.#call);
    updateHealth(this.#state, this.#call, afterFirstByte);
  }

  answered(): void {
    const { account, waiting } = this.#call;
    if (account.health !== undefined) updateHealth(this.#state, this.#call, afterReplyBegan);
    if (recordAnswer(waiting)) deprioritizeSlow(this.#state);
  }

  end(signal: HealthSignal): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { account, calls, waiting, channelAccount } = this.#call;
    account.inFlight -= 1;
    if (channelAccount !== account) channelAccount.namedInFlight -= 1;
    // A call that has received its first byte is no longer waiting, so the clock need not be read.
    if (waiting.position !== undefined) calls.end(waiting, this.#state.clock.monotonicMs());
    recordEnd(this.#state, this.#call, signal);
  }
}

function deprioritizeSlow({ accounts, calls, clock, random }: ChannelsState): void {
  const nowMs = clock.monotonicMs();
  for (const { channelId, upstreamModel, kind } of calls.slowChannels(nowMs)) {
    const account = accounts.of(channelId);
    const health = healthOf(account, upstreamModel);
    accounts.setHealth(account, upstreamModel, afterSlowCalls(health, kind, { nowMs, random }));
  }
}

function endComparison(
  { accounts }: ChannelsState,
  { channelId, upstreamModel }: ServedModel,
): void {
  const account = accounts.of(channelId);
  const health = healthOf(account, upstreamModel);
  accounts.setHealth(account, upstreamModel, afterComparison(health));
}

function resetChannel(
  { accounts, calls, namedCalls, clock }: ChannelsState,
  channelId: string,
): Account {
  const nowMs = clock.monotonicMs();
  const own = accounts.of(channelId);
  resetAccount(own);
  calls.forget(channelId, nowMs);
  for (const account of accounts.named()) {
    const { name = '' } = account;
    if (account.channelId !== channelId) continue;
    resetAccount(account);
    namedCalls.forget(nameOf(channelId, name), nowMs);
  }
  return own;
}

function resetAccount(account: Account): void {
  account.refused = undefined;
  account.failedDigest = undefined;
  account.forbiddenModel = undefined;
  account.health = undefined;
}

interface CallKind {
  /** An image call is billed when it is sent, so it is no trial. */
  readonly isBoughtOnce: boolean;
  /** The call has failed elsewhere: its caller has waited enough, so it is no trial. */
  readonly hasTried?: boolean;
}

const available: Availability = { kind: 'available' };
const deprioritized: Availability = { kind: 'deprioritized' };
const busy: Availability = {
  kind: 'unavailable',
  reason: 'busy',
  untilMs: undefined,
  lastResort: false,
};

function pausedBy(
  { state, reason, untilMs, lastResort, isRateLimit }: Pause,
  isInUse: boolean,
): Availability {
  return {
    kind: 'unavailable',
    reason,
    untilMs,
    // While the trial call is running, no other call is let through.
    lastResort: lastResort && state !== 'half_open',
    isInUse,
    isRateLimit,
    isCircuitOpen: state !== 'cooling_down',
  };
}

const switchedOffChannel: Availability = {
  kind: 'unavailable',
  reason: 'switched_off',
  untilMs: undefined,
  lastResort: false,
};

function availabilityOf(
  account: Account,
  { credential, maxConcurrentCalls }: Channel,
  upstreamModel: string,
  call: CallKind,
  {
    clock,
    lastResortInUse,
  }: { readonly clock: Clock; readonly lastResortInUse: { has(pause: Pause): boolean } },
): Availability {
  const { isOff, refused, inFlight, health } = account;
  if (isOff) return switchedOffChannel;
  if (refused !== undefined && refused.credential === credential) {
    return { kind: 'unavailable', reason: refused.reason, untilMs: undefined, lastResort: false };
  }
  if (maxConcurrentCalls !== undefined && inFlight >= maxConcurrentCalls) return busy;
  if (health === undefined) return available;
  const nowMs = clock.monotonicMs();
  const ofAccount = healthOf(account, undefined);
  const ofModel = healthOf(account, upstreamModel);
  const pause = stricter(currentPause(ofAccount, nowMs), currentPause(ofModel, nowMs));
  if (pause !== undefined) return pausedBy(pause, lastResortInUse.has(pause));
  return isDeprioritized(ofAccount, nowMs, call) || isDeprioritized(ofModel, nowMs, call)
    ? deprioritized
    : available;
}

/** One that excludes last-resort calls comes before one that allows them, then the longer. */
function stricter(a: Pause | undefined, b: Pause | undefined): Pause | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.lastResort !== b.lastResort) return a.lastResort ? b : a;
  return a.untilMs > b.untilMs ? a : b;
}
