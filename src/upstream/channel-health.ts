/**
 * Tracks the health of upstream accounts and of each model on them: cooldowns, circuit breakers,
 * demotions, refused credentials, accounts that the host disabled, and the number of running calls.
 * The state belongs to one gateway.
 */
import type { Clock } from '../clock.ts';
import type { EventListener } from '../events.ts';
import type { Channel } from '../ports/catalog.ts';
import { type Account, accountTable, healthOf, healthStatus } from './accounts.ts';
import { availabilityOf, available, type CallKind } from './availability.ts';
import { type ChannelStatus, channelStatusOf, switchedOff } from './channel-status.ts';
import type { Availability } from './choose.ts';
import type { HealthSignal } from './health-signal.ts';
import {
  afterComparison,
  afterFirstByte,
  afterReplyBegan,
  afterSlowCalls,
  goodHealth,
} from './health-state.ts';
import {
  type CallInProgress,
  clearRefusal,
  type HealthRecords,
  recordEnd,
  recordStart,
  releaseLastResort,
  updateHealth,
} from './record-health.ts';
import {
  type RequestedModel,
  type ServedModel,
  usualLimitMs,
  type WaitingCalls,
  waitingCalls,
} from './waiting-calls.ts';

/** A channel in use by one call. */
export interface ChannelLease {
  /** On the monotonic clock. */
  readonly startedMs: number;
  /**
   * For a trial call after a timeout: how long it may wait for a first byte before another channel
   * is tried, in ms, so that its caller doesn't wait for minutes. Undefined for all other calls.
   */
  readonly trialMs: number | undefined;
  /** Something was received at this time: the response head, with any status. */
  firstByte(atMs: number): void;
  /** The reply has begun, which is enough for a trial call to succeed. */
  answered(): void;
  /** The call has ended. Only the first call of this method has an effect. */
  end(signal: HealthSignal): void;
}

/** The health of the channels of one gateway. */
export interface ChannelHealth {
  /** Whether the channel can take a call now. */
  availability(channel: Channel, upstreamModel: string, call: CallKind): Availability;
  /** The number of calls that are running through it. */
  inFlight(channel: Channel): number;
  /**
   * Starts a call. Must be called in the same turn of the event loop as the choice; otherwise two
   * calls could both become the trial call.
   */
  begin(channel: Channel, upstreamModel: string, asked: RequestedModel): ChannelLease;
  /** Looks for slow channels; called every second. */
  tick(): void;
  /** Every account that has been called, enabled or disabled, in the order of the first call. */
  statuses(): readonly ChannelStatus[];
  /** Enables an account, and clears everything recorded against it. */
  enable(channelId: string): void;
  /** Disables an account. */
  disable(channelId: string): void;
  /** The host reloaded the catalog: rejected credentials may be tried again. */
  reloaded(): void;
}

/** How long a trial call may wait for a first byte if the usual time is unknown. */
const defaultTrialMs = 30_000;

/** The state of one gateway's channels. */
interface ChannelsState extends HealthRecords {
  readonly calls: WaitingCalls;
}

/** Starts with all channels ready. */
export function channelHealth(
  clock: Clock,
  random: () => number,
  emit: EventListener,
): ChannelHealth {
  const accounts = accountTable(clock, emit);
  const calls = waitingCalls();
  const state: ChannelsState = { clock, random, accounts, calls, lastResortInUse: new WeakSet() };
  return {
    availability: (channel, upstreamModel, call) => {
      const account = accounts.find(channel.id);
      return account === undefined
        ? available
        : availabilityOf(account, channel, upstreamModel, call, state);
    },
    inFlight: ({ id }) => accounts.find(id)?.inFlight ?? 0,
    begin: (channel, upstreamModel, asked) => beginCall(state, channel, upstreamModel, asked),
    tick: () => deprioritizeSlow(state),
    statuses: () =>
      [...accounts.all()].map(([channelId, account]) => channelStatusOf(channelId, account, clock)),
    enable: (channelId) => {
      resetAccount(state, channelId).isOff = false;
      accounts.emitChange(channelId, undefined, healthStatus(goodHealth, clock));
    },
    disable: (channelId) => {
      resetAccount(state, channelId).isOff = true;
      accounts.emitChange(channelId, undefined, switchedOff);
    },
    reloaded: () => {
      for (const [channelId, account] of accounts.all()) {
        if (account.refused !== undefined) clearRefusal(state, channelId, account);
      }
    },
  };
}

function beginCall(
  state: ChannelsState,
  channel: Channel,
  upstreamModel: string,
  asked: RequestedModel,
): ChannelLease {
  const { clock, accounts, calls } = state;
  const { id } = channel;
  const account = accounts.of(id);
  account.inFlight += 1;
  if (account.refused !== undefined && account.refused.credential !== channel.credential) {
    clearRefusal(state, id, account);
  }
  const nowMs = clock.monotonicMs();
  const atStart = recordStart(state, account, channel, upstreamModel, nowMs);
  const waiting = calls.begin({ channelId: id, upstreamModel }, asked, nowMs);
  const compared = calls.comparedWith(waiting);
  if (compared !== undefined) endComparison(state, compared);
  const isTrial = atStart.isTrial && asked.reply !== 'image';
  const call: CallInProgress = {
    account,
    channel,
    upstreamModel,
    accountAtStart: atStart.account,
    modelAtStart: atStart.model,
    waiting,
  };
  return leaseOf(state, call, isTrial ? (usualLimitMs(waiting) ?? defaultTrialMs) : undefined);
}

function leaseOf(
  state: ChannelsState,
  call: CallInProgress,
  trialMs: number | undefined,
): ChannelLease {
  const { calls, clock } = state;
  const { account, waiting } = call;
  let ended = false;
  return {
    startedMs: waiting.startedMs,
    trialMs,
    firstByte: (atMs) => {
      calls.firstByte(waiting, atMs);
      if (account.health === undefined) return;
      releaseLastResort(state, call);
      updateHealth(state, call, afterFirstByte);
    },
    answered: () => {
      if (account.health !== undefined) updateHealth(state, call, afterReplyBegan);
      if (calls.answered(waiting)) deprioritizeSlow(state);
    },
    end: (signal) => {
      if (ended) return;
      ended = true;
      account.inFlight -= 1;
      // A call that has received its first byte is no longer waiting, so the clock need not be
      // read.
      if (waiting.position !== undefined) calls.end(waiting, clock.monotonicMs());
      recordEnd(state, call, signal);
    },
  };
}

function deprioritizeSlow({ accounts, calls, clock, random }: ChannelsState): void {
  const nowMs = clock.monotonicMs();
  for (const { channelId, upstreamModel, kind } of calls.slowChannels(nowMs)) {
    const health = healthOf(accounts.of(channelId), upstreamModel);
    accounts.setHealth(channelId, upstreamModel, afterSlowCalls(health, kind, { nowMs, random }));
  }
}

function endComparison(
  { accounts }: ChannelsState,
  { channelId, upstreamModel }: ServedModel,
): void {
  const health = healthOf(accounts.of(channelId), upstreamModel);
  accounts.setHealth(channelId, upstreamModel, afterComparison(health));
}

/** Clears everything recorded against an account. */
function resetAccount({ accounts, calls, clock }: ChannelsState, channelId: string): Account {
  const account = accounts.of(channelId);
  account.refused = undefined;
  account.forbiddenModel = undefined;
  account.health = undefined;
  calls.forget(channelId, clock.monotonicMs());
  return account;
}
