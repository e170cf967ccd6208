/**
 * The health of upstream accounts, and of each model on them: who rests, whose circuit is open, who
 * is drawn last, who was refused, who was switched off, and how many calls each has. Kept by one
 * gateway, for itself.
 */
import type { Clock } from '../clock.ts';
import type { EventListener } from '../events.ts';
import type { Channel } from '../ports/catalog.ts';
import { type Account, accountTable, standingOf, standingStatus } from './accounts.ts';
import { availabilityOf, type CallKind, open } from './availability.ts';
import { type ChannelStatus, statusOf, switchedOff } from './channel-status.ts';
import type { Availability } from './choose.ts';
import {
  afterAnswer,
  afterByte,
  afterComparison,
  afterFailure,
  afterLeaving,
  afterNothing,
  afterRest,
  afterService,
  afterSlowness,
  atBegin,
  goodHealth,
  type HealthState,
  type Pause,
  pauseFor,
  type RestAsked,
} from './health-state.ts';
import {
  isOutrun,
  type ModelAsked,
  type ServedModel,
  usualLimitMs,
  type WaitingCall,
  waitingCalls,
} from './waiting-calls.ts';

/** What a call has shown of the channel it went through. */
export type HealthSignal =
  | { readonly kind: 'served' }
  /** The caller's mistake or ours: the upstream is neither better nor worse for it. */
  | { readonly kind: 'nothing' }
  /** Could not be reached (`account`), or failed or took too long (`model`). */
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly where: HealthScope;
      /** It did not answer in time, or said itself that it could not. */
      readonly timedOut?: boolean;
    }
  /** The caller left after it had waited long for a first byte. */
  | { readonly kind: 'left_waiting'; readonly reason: string; readonly keyId: string }
  | ({ readonly kind: 'rest'; readonly where: HealthScope } & RestAsked)
  /** The credential is not accepted: nothing can be done with it until it is another. */
  | { readonly kind: 'refused'; readonly reason: string }
  /**
   * Refused without a word about whom it blames. It may be this one request, or the right to this
   * model; it is the account only if a second model is refused before any was served.
   */
  | { readonly kind: 'forbidden'; readonly reason: string };

/** The account with all its models, or the one model that was asked. */
export type HealthScope = 'account' | 'model';

/** A channel in use by one call. */
export interface ChannelLease {
  /** On the monotonic clock. */
  readonly startedMs: number;
  /**
   * How long this call may wait for a first byte before another channel is asked, in ms: it tries
   * out one that did not answer in time, and its caller is not to pay for that with minutes.
   * Undefined for all other calls.
   */
  readonly trialMs: number | undefined;
  /** Something came, at this time: the head of an answer, whatever it says. */
  firstByte(atMs: number): void;
  /** The reply has begun: if the call tries the channel out, that is proof enough. */
  answered(): void;
  /** The call is done with the channel; a second time does nothing. */
  end(verdict: HealthSignal): void;
}

/** Watches the channels of one gateway. */
export interface ChannelHealth {
  /** Whether a call may go through this channel just now. */
  availability(channel: Channel, upstreamModel: string, call: CallKind): Availability;
  /** The calls that run through it. */
  inFlight(channel: Channel): number;
  /**
   * A call goes there. To be called in the same turn of the event loop as the choice, or two calls
   * could both be the one that tries a channel out.
   */
  begin(channel: Channel, upstreamModel: string, asked: ModelAsked): ChannelLease;
  /** Looks for channels that keep their callers waiting; called every second. */
  tick(): void;
  /** Every account that has been called or switched, in the order of their first call. */
  statuses(): readonly ChannelStatus[];
  /** Puts an account back, with everything forgotten that was recorded against it. */
  enable(channelId: string): void;
  /** Takes an account out. */
  disable(channelId: string): void;
  /** The host gave another catalog: refused credentials may be tried again. */
  reloaded(): void;
}

/** A call on its way through a channel, and what stood against that when it began. */
interface CallInProgress {
  readonly account: Account;
  readonly channel: Channel;
  readonly upstreamModel: string;
  readonly begunAccount: HealthState;
  readonly begunModel: HealthState;
  readonly waiting: WaitingCall;
}

/** What stood against an account or a model when a call began. */
interface BegunAt {
  readonly standing: HealthState;
  /** The call is the one that tries it out after a time-out. */
  readonly isTrial: boolean;
}

const nothingStood: BegunAt = { standing: goodHealth, isTrial: false };

/** A function gives another secret one day, and nobody tells us when. */
const rotatingRestMs = 60_000;
/** How long a trial may wait for a first byte where nobody knows how long one usually takes. */
const unknownTrialMs = 30_000;
/** What a 403 costs the model that was asked for, and the account where it is to blame. */
const forbiddenModelMs = 60_000;
const forbiddenAccountMs = 600_000;

/** All channels are ready. */
export function channelHealth(
  clock: Clock,
  random: () => number,
  emit: EventListener,
): ChannelHealth {
  const accounts = accountTable(clock, emit);
  const calls = waitingCalls();
  /** The pauses of last channels that a call is using: one at a time. */
  const inUse = new WeakSet<Pause>();
  const look = { clock, inUse };

  const accept = (channelId: string, account: Account): void => {
    account.refused = undefined;
    accounts.tell(channelId, undefined, standingStatus(standingOf(account, undefined), clock));
  };

  const refuse = ({ account, channel, begunAccount }: CallInProgress, reason: string): void => {
    const { id, credential } = channel;
    if (typeof credential !== 'string') {
      const asked = { reason, forMs: rotatingRestMs, yields: false };
      const moment = { begun: begunAccount, nowMs: clock.monotonicMs() };
      return accounts.put(id, undefined, afterRest(standingOf(account, undefined), asked, moment));
    }
    if (account.refused?.credential === credential) return;
    account.refused = { credential, reason };
    accounts.tell(id, undefined, { state: 'refused', reason, untilMs: undefined });
  };

  const beginAt = (
    account: Account,
    { id }: Channel,
    upstreamModel: string | undefined,
    nowMs: number,
  ): BegunAt => {
    if (account.standings === undefined) return nothingStood;
    const before = standingOf(account, upstreamModel);
    const standing = atBegin(before, nowMs);
    accounts.put(id, upstreamModel, standing);
    const pause = pauseFor(standing, nowMs);
    if (pause?.yields === true && pause.state !== 'half_open') inUse.add(pause);
    const isTrial = standing !== before && triesOut(standing);
    // Another call is trying it out: how this one ends says nothing of that.
    const isBeside = standing.demotion?.isTried === true && !isTrial;
    return { standing: isBeside ? { ...standing, demotion: undefined } : standing, isTrial };
  };

  const each = (
    { account, channel, upstreamModel, begunAccount, begunModel }: CallInProgress,
    rule: (standing: HealthState, begun: HealthState) => HealthState,
  ): void => {
    // No rule finds anything against what nothing stands against.
    if (account.standings === undefined) return;
    accounts.put(channel.id, undefined, rule(standingOf(account, undefined), begunAccount));
    accounts.put(channel.id, upstreamModel, rule(standingOf(account, upstreamModel), begunModel));
  };

  const note = (visit: CallInProgress, verdict: Counted): void => {
    const { account, channel, upstreamModel, waiting } = visit;
    const isAccount = 'where' in verdict && verdict.where === 'account';
    const place = isAccount ? undefined : upstreamModel;
    const begun = isAccount ? visit.begunAccount : visit.begunModel;
    const moment = { begun, nowMs: clock.monotonicMs(), random };
    const standing = standingOf(account, place);
    const isTimeout = verdict.kind === 'left_waiting' || isTimedOut(verdict);
    // A later call has been answered there since: the silence of this one says nothing of now.
    if (isTimeout && isOutrun(waiting)) return;
    accounts.put(channel.id, place, counted(standing, verdict, moment));
  };

  const forbid = (visit: CallInProgress, reason: string): void => {
    const { account, upstreamModel } = visit;
    const { forbiddenModel } = account;
    const isOfAccount = forbiddenModel !== undefined && forbiddenModel !== upstreamModel;
    account.forbiddenModel = upstreamModel;
    note(visit, {
      kind: 'rest',
      where: isOfAccount ? 'account' : 'model',
      reason,
      forMs: isOfAccount ? forbiddenAccountMs : forbiddenModelMs,
      yields: !isOfAccount,
    });
  };

  const freePauses = ({ begunAccount, begunModel }: CallInProgress): void => {
    if (begunAccount.pause !== undefined) inUse.delete(begunAccount.pause);
    if (begunModel.pause !== undefined) inUse.delete(begunModel.pause);
  };

  const demoteSlow = (): void => {
    const nowMs = clock.monotonicMs();
    for (const { channelId, upstreamModel, kind } of calls.slowChannels(nowMs)) {
      const standing = standingOf(accounts.of(channelId), upstreamModel);
      accounts.put(channelId, upstreamModel, afterSlowness(standing, kind, { nowMs, random }));
    }
  };

  const endComparison = ({ channelId, upstreamModel }: ServedModel): void => {
    accounts.put(
      channelId,
      upstreamModel,
      afterComparison(standingOf(accounts.of(channelId), upstreamModel)),
    );
  };

  const forget = (channelId: string): Account => {
    const account = accounts.of(channelId);
    account.refused = undefined;
    account.forbiddenModel = undefined;
    account.standings = undefined;
    calls.forget(channelId, clock.monotonicMs());
    return account;
  };

  const leaseOf = (visit: CallInProgress, trialMs: number | undefined): ChannelLease => {
    const { account, waiting } = visit;
    let ended = false;
    return {
      startedMs: waiting.startedMs,
      trialMs,
      firstByte: (atMs) => {
        calls.firstByte(waiting, atMs);
        if (account.standings === undefined) return;
        freePauses(visit);
        each(visit, afterByte);
      },
      answered: () => {
        each(visit, afterAnswer);
        if (calls.answered(waiting)) demoteSlow();
      },
      end: (verdict) => {
        if (ended) return;
        ended = true;
        account.inFlight -= 1;
        // Whose first byte has come waits for nothing: no need of the time.
        if (waiting.position !== undefined) calls.over(waiting, clock.monotonicMs());
        if (account.standings !== undefined) freePauses(visit);
        if (verdict.kind === 'served') {
          account.forbiddenModel = undefined;
          return each(visit, afterService);
        }
        if (verdict.kind === 'refused') refuse(visit, verdict.reason);
        else if (verdict.kind === 'forbidden') forbid(visit, verdict.reason);
        else if (verdict.kind !== 'nothing') note(visit, verdict);
        // What the verdict says nothing of has not been proved by it.
        each(visit, afterNothing);
      },
    };
  };

  return {
    availability: (channel, upstreamModel, call) => {
      const account = accounts.find(channel.id);
      return account === undefined
        ? open
        : availabilityOf(account, channel, upstreamModel, call, look);
    },
    inFlight: ({ id }) => accounts.find(id)?.inFlight ?? 0,
    begin: (channel, upstreamModel, asked) => {
      const { id } = channel;
      const account = accounts.of(id);
      account.inFlight += 1;
      if (account.refused !== undefined && account.refused.credential !== channel.credential) {
        accept(id, account);
      }
      const nowMs = clock.monotonicMs();
      const ofAccount = beginAt(account, channel, undefined, nowMs);
      const ofModel = beginAt(account, channel, upstreamModel, nowMs);
      const waiting = calls.begin({ channelId: id, upstreamModel }, asked, nowMs);
      const compared = calls.comparedWith(waiting);
      if (compared !== undefined) endComparison(compared);
      const isTrial = (ofAccount.isTrial || ofModel.isTrial) && asked.reply !== 'image';
      const visit: CallInProgress = {
        account,
        channel,
        upstreamModel,
        begunAccount: ofAccount.standing,
        begunModel: ofModel.standing,
        waiting,
      };
      return leaseOf(visit, isTrial ? (usualLimitMs(waiting) ?? unknownTrialMs) : undefined);
    },
    tick: demoteSlow,
    statuses: () =>
      [...accounts.all()].map(([channelId, account]) => statusOf(channelId, account, clock)),
    enable: (channelId) => {
      forget(channelId).isOff = false;
      accounts.tell(channelId, undefined, standingStatus(goodHealth, clock));
    },
    disable: (channelId) => {
      forget(channelId).isOff = true;
      accounts.tell(channelId, undefined, switchedOff);
    },
    reloaded: () => {
      for (const [channelId, account] of accounts.all()) {
        if (account.refused !== undefined) accept(channelId, account);
      }
    },
  };
}

/** A verdict that stands against a channel for a while. */
type Counted = Extract<HealthSignal, { readonly kind: 'failed' | 'left_waiting' | 'rest' }>;

function counted(
  standing: HealthState,
  verdict: Counted,
  moment: Parameters<typeof afterFailure>[2],
): HealthState {
  if (verdict.kind === 'rest') return afterRest(standing, verdict, moment);
  if (verdict.kind === 'left_waiting') return afterLeaving(standing, verdict, moment);
  const isTimeout = isTimedOut(verdict);
  // Who can't be reached, or does not answer, has no words of its own that a caller could be given.
  const yields = !isTimeout && verdict.where === 'model';
  return afterFailure(standing, { reason: verdict.reason, isTimeout, yields }, moment);
}

function isTimedOut(verdict: Counted): boolean {
  return verdict.kind === 'failed' && verdict.timedOut === true;
}

/** Whether a call that begins so tries out what did not answer in time. */
function triesOut({ pause, demotion }: HealthState): boolean {
  if (pause !== undefined) return pause.state === 'half_open' && pause.isTimeout;
  return demotion?.isTried === true;
}
