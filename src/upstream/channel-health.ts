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
import {
  afterComparison,
  afterCooldown,
  afterDisconnect,
  afterFailure,
  afterFirstByte,
  afterNeutral,
  afterReplyBegan,
  afterSlowCalls,
  afterSuccess,
  atCallStart,
  type CooldownInput,
  currentPause,
  goodHealth,
  type HealthState,
  type Pause,
} from './health-state.ts';
import {
  isOvertaken,
  type RequestedModel,
  type ServedModel,
  usualLimitMs,
  type WaitingCall,
  waitingCalls,
} from './waiting-calls.ts';

/** What a call tells about the health of its channel. */
export type HealthSignal =
  | { readonly kind: 'served' }
  /** A mistake of the caller or the gateway: it tells nothing about the upstream. */
  | { readonly kind: 'neutral' }
  /** The account could not be reached, or the model failed or timed out. */
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly where: HealthScope;
      /** It timed out, or the upstream itself reported a timeout. */
      readonly timedOut?: boolean;
    }
  /** The caller disconnected after a long wait for the first byte. */
  | { readonly kind: 'disconnected_waiting'; readonly reason: string; readonly keyId: string }
  | ({ readonly kind: 'cooldown'; readonly where: HealthScope } & CooldownInput)
  /** The credential was rejected: the account is out until it has another one. */
  | { readonly kind: 'refused'; readonly reason: string }
  /**
   * A 403 that does not say what it applies to: this request, the model, or the account. The
   * account is blamed only if a second model is refused before any call was served.
   */
  | { readonly kind: 'forbidden'; readonly reason: string };

/** The account with all its models, or only the model that was called. */
export type HealthScope = 'account' | 'model';

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

/** A call that is running through a channel, and the health of account and model when it began. */
interface CallInProgress {
  readonly account: Account;
  readonly channel: Channel;
  readonly upstreamModel: string;
  readonly accountAtStart: HealthState;
  readonly modelAtStart: HealthState;
  readonly waiting: WaitingCall;
}

/** The health of an account or a model when a call began. */
interface HealthAtStart {
  readonly health: HealthState;
  /** The call is the trial after a timeout. */
  readonly isTrial: boolean;
}

const healthyAtStart: HealthAtStart = { health: goodHealth, isTrial: false };

/**
 * The cooldown of a rejected credential that comes from a function: it may return another one at
 * any time, without notice.
 */
const rotatingCredentialMs = 60_000;
/** How long a trial call may wait for a first byte if the usual time is unknown. */
const defaultTrialMs = 30_000;
/** The cooldown after a 403, for the model or for the account. */
const forbiddenModelMs = 60_000;
const forbiddenAccountMs = 600_000;

/** Starts with all channels ready. */
export function channelHealth(
  clock: Clock,
  random: () => number,
  emit: EventListener,
): ChannelHealth {
  const accounts = accountTable(clock, emit);
  const calls = waitingCalls();
  /** The pauses during which a last-resort call is running: one at a time. */
  const lastResortInUse = new WeakSet<Pause>();
  const input = { clock, lastResortInUse };

  const clearRefusal = (channelId: string, account: Account): void => {
    account.refused = undefined;
    accounts.emitChange(channelId, undefined, healthStatus(healthOf(account, undefined), clock));
  };

  const recordRefusal = (
    { account, channel, accountAtStart }: CallInProgress,
    reason: string,
  ): void => {
    const { id, credential } = channel;
    if (typeof credential !== 'string') {
      const cooldown = { reason, forMs: rotatingCredentialMs, lastResort: false };
      const moment = { atStart: accountAtStart, nowMs: clock.monotonicMs() };
      return accounts.setHealth(
        id,
        undefined,
        afterCooldown(healthOf(account, undefined), cooldown, moment),
      );
    }
    if (account.refused?.credential === credential) return;
    account.refused = { credential, reason };
    accounts.emitChange(id, undefined, { state: 'refused', reason, untilMs: undefined });
  };

  const recordStart = (
    account: Account,
    { id }: Channel,
    upstreamModel: string | undefined,
    nowMs: number,
  ): HealthAtStart => {
    if (account.health === undefined) return healthyAtStart;
    const before = healthOf(account, upstreamModel);
    const health = atCallStart(before, nowMs);
    accounts.setHealth(id, upstreamModel, health);
    const pause = currentPause(health, nowMs);
    if (pause?.lastResort === true && pause.state !== 'half_open') lastResortInUse.add(pause);
    const isTrial = health !== before && isTimeoutTrial(health);
    // Another call is the trial, so this one's outcome does not decide it.
    const isNotTrial = health.demotion?.inTrial === true && !isTrial;
    return { health: isNotTrial ? { ...health, demotion: undefined } : health, isTrial };
  };

  const updateHealth = (
    { account, channel, upstreamModel, accountAtStart, modelAtStart }: CallInProgress,
    rule: (health: HealthState, atStart: HealthState) => HealthState,
  ): void => {
    // A healthy account: there is nothing for a rule to change.
    if (account.health === undefined) return;
    accounts.setHealth(channel.id, undefined, rule(healthOf(account, undefined), accountAtStart));
    accounts.setHealth(
      channel.id,
      upstreamModel,
      rule(healthOf(account, upstreamModel), modelAtStart),
    );
  };

  const recordFailure = (call: CallInProgress, signal: FailureSignal): void => {
    const { account, channel, upstreamModel, waiting } = call;
    const isAccount = 'where' in signal && signal.where === 'account';
    const scope = isAccount ? undefined : upstreamModel;
    const atStart = isAccount ? call.accountAtStart : call.modelAtStart;
    const moment = { atStart, nowMs: clock.monotonicMs(), random };
    const health = healthOf(account, scope);
    const isTimeout = signal.kind === 'disconnected_waiting' || isTimedOut(signal);
    // The channel has replied to a later call since, so this timeout is outdated.
    if (isTimeout && isOvertaken(waiting)) return;
    accounts.setHealth(channel.id, scope, afterSignal(health, signal, moment));
  };

  const recordForbidden = (call: CallInProgress, reason: string): void => {
    const { account, upstreamModel } = call;
    const { forbiddenModel } = account;
    const isAccountScope = forbiddenModel !== undefined && forbiddenModel !== upstreamModel;
    account.forbiddenModel = upstreamModel;
    recordFailure(call, {
      kind: 'cooldown',
      where: isAccountScope ? 'account' : 'model',
      reason,
      forMs: isAccountScope ? forbiddenAccountMs : forbiddenModelMs,
      lastResort: !isAccountScope,
    });
  };

  const releaseLastResort = ({ accountAtStart, modelAtStart }: CallInProgress): void => {
    if (accountAtStart.pause !== undefined) lastResortInUse.delete(accountAtStart.pause);
    if (modelAtStart.pause !== undefined) lastResortInUse.delete(modelAtStart.pause);
  };

  const deprioritizeSlow = (): void => {
    const nowMs = clock.monotonicMs();
    for (const { channelId, upstreamModel, kind } of calls.slowChannels(nowMs)) {
      const health = healthOf(accounts.of(channelId), upstreamModel);
      accounts.setHealth(channelId, upstreamModel, afterSlowCalls(health, kind, { nowMs, random }));
    }
  };

  const endComparison = ({ channelId, upstreamModel }: ServedModel): void => {
    accounts.setHealth(
      channelId,
      upstreamModel,
      afterComparison(healthOf(accounts.of(channelId), upstreamModel)),
    );
  };

  const resetAccount = (channelId: string): Account => {
    const account = accounts.of(channelId);
    account.refused = undefined;
    account.forbiddenModel = undefined;
    account.health = undefined;
    calls.forget(channelId, clock.monotonicMs());
    return account;
  };

  const leaseOf = (call: CallInProgress, trialMs: number | undefined): ChannelLease => {
    const { account, waiting } = call;
    let ended = false;
    return {
      startedMs: waiting.startedMs,
      trialMs,
      firstByte: (atMs) => {
        calls.firstByte(waiting, atMs);
        if (account.health === undefined) return;
        releaseLastResort(call);
        updateHealth(call, afterFirstByte);
      },
      answered: () => {
        updateHealth(call, afterReplyBegan);
        if (calls.answered(waiting)) deprioritizeSlow();
      },
      end: (signal) => {
        if (ended) return;
        ended = true;
        account.inFlight -= 1;
        // A call that has received its first byte is no longer waiting, so the clock need not be
        // read.
        if (waiting.position !== undefined) calls.end(waiting, clock.monotonicMs());
        if (account.health !== undefined) releaseLastResort(call);
        if (signal.kind === 'served') {
          account.forbiddenModel = undefined;
          return updateHealth(call, afterSuccess);
        }
        if (signal.kind === 'refused') recordRefusal(call, signal.reason);
        else if (signal.kind === 'forbidden') recordForbidden(call, signal.reason);
        else if (signal.kind !== 'neutral') recordFailure(call, signal);
        // A trial in the other scope, to which the signal does not apply, is still undecided.
        updateHealth(call, afterNeutral);
      },
    };
  };

  return {
    availability: (channel, upstreamModel, call) => {
      const account = accounts.find(channel.id);
      return account === undefined
        ? available
        : availabilityOf(account, channel, upstreamModel, call, input);
    },
    inFlight: ({ id }) => accounts.find(id)?.inFlight ?? 0,
    begin: (channel, upstreamModel, asked) => {
      const { id } = channel;
      const account = accounts.of(id);
      account.inFlight += 1;
      if (account.refused !== undefined && account.refused.credential !== channel.credential) {
        clearRefusal(id, account);
      }
      const nowMs = clock.monotonicMs();
      const accountStart = recordStart(account, channel, undefined, nowMs);
      const modelStart = recordStart(account, channel, upstreamModel, nowMs);
      const waiting = calls.begin({ channelId: id, upstreamModel }, asked, nowMs);
      const compared = calls.comparedWith(waiting);
      if (compared !== undefined) endComparison(compared);
      const isTrial = (accountStart.isTrial || modelStart.isTrial) && asked.reply !== 'image';
      const call: CallInProgress = {
        account,
        channel,
        upstreamModel,
        accountAtStart: accountStart.health,
        modelAtStart: modelStart.health,
        waiting,
      };
      return leaseOf(call, isTrial ? (usualLimitMs(waiting) ?? defaultTrialMs) : undefined);
    },
    tick: deprioritizeSlow,
    statuses: () =>
      [...accounts.all()].map(([channelId, account]) => channelStatusOf(channelId, account, clock)),
    enable: (channelId) => {
      resetAccount(channelId).isOff = false;
      accounts.emitChange(channelId, undefined, healthStatus(goodHealth, clock));
    },
    disable: (channelId) => {
      resetAccount(channelId).isOff = true;
      accounts.emitChange(channelId, undefined, switchedOff);
    },
    reloaded: () => {
      for (const [channelId, account] of accounts.all()) {
        if (account.refused !== undefined) clearRefusal(channelId, account);
      }
    },
  };
}

/** A signal that counts against a channel. */
type FailureSignal = Extract<
  HealthSignal,
  { readonly kind: 'failed' | 'disconnected_waiting' | 'cooldown' }
>;

function afterSignal(
  health: HealthState,
  signal: FailureSignal,
  moment: Parameters<typeof afterFailure>[2],
): HealthState {
  if (signal.kind === 'cooldown') return afterCooldown(health, signal, moment);
  if (signal.kind === 'disconnected_waiting') return afterDisconnect(health, signal, moment);
  const isTimeout = isTimedOut(signal);
  // A channel that is unreachable or timed out sends no reply that a caller could be given.
  const lastResort = !isTimeout && signal.where === 'model';
  return afterFailure(health, { reason: signal.reason, isTimeout, lastResort }, moment);
}

function isTimedOut(signal: FailureSignal): boolean {
  return signal.kind === 'failed' && signal.timedOut === true;
}

/** Whether a call that starts with this health is the trial after a timeout. */
function isTimeoutTrial({ pause, demotion }: HealthState): boolean {
  if (pause !== undefined) return pause.state === 'half_open' && pause.isTimeout;
  return demotion?.inTrial === true;
}
