/**
 * Records what a call tells about its account and its model: at its start, at the first byte, when
 * the reply begins, and at its end. The rules themselves are in `health-state.ts`.
 */

import type { Clock } from '../clock.ts';
import type { FailureReason } from '../failure-reasons.ts';
import type { Channel } from '../ports/models/catalog.ts';
import { digestSecret } from '../secret.ts';
import { type Account, type AccountTable, healthOf, healthStatus } from './accounts.ts';
import {
  afterCooldown,
  afterDisconnect,
  afterFailure,
  afterNeutral,
  afterSuccess,
  atCallStart,
  type CooldownInput,
  currentPause,
  goodHealth,
  type HealthState,
  type Pause,
} from './health-state.ts';
import { isOvertaken, type WaitingCall, type WaitingCalls } from './waiting-calls.ts';

export interface HealthRecords {
  readonly clock: Clock;
  readonly random: () => number;
  readonly accounts: AccountTable;
  /** The pauses during which a last-resort call is running: one at a time. */
  readonly lastResortInUse: WeakSet<Pause>;
}

export interface CallInProgress {
  readonly account: Account;
  /** The channel's own, which counts the calls of named accounts too. */
  readonly channelAccount: Account;
  /** The calls that it is compared with. */
  readonly calls: WaitingCalls;
  readonly channel: Channel;
  /** The secret of a named account; undefined for the channel's own. */
  readonly secret: string | undefined;
  readonly upstreamModel: string;
  readonly accountAtStart: HealthState;
  readonly modelAtStart: HealthState;
  readonly waiting: WaitingCall;
}

export interface HealthAtStart {
  readonly account: HealthState;
  readonly model: HealthState;
  /** The call is the trial after a timeout of one of them. */
  readonly isTrial: boolean;
}

const healthyAtStart: HealthAtStart = { account: goodHealth, model: goodHealth, isTrial: false };

/** A function may return another credential at any time, without notice. */
const rotatingCredentialMs = 60_000;
/** The cooldown after a 403, for the model or for the account. */
const forbiddenModelMs = 60_000;
const forbiddenAccountMs = 600_000;

export function recordStart(
  records: HealthRecords,
  account: Account,
  upstreamModel: string,
  nowMs: number,
): HealthAtStart {
  if (account.health === undefined) return healthyAtStart;
  const ofAccount = recordStartIn(records, account, undefined, nowMs);
  const ofModel = recordStartIn(records, account, upstreamModel, nowMs);
  const isTrial = ofAccount.isTrial || ofModel.isTrial;
  return { account: ofAccount.health, model: ofModel.health, isTrial };
}

/** Like {@link recordStart}, in one scope: the account (`undefined`) or one model on it. */
function recordStartIn(
  { accounts, lastResortInUse }: HealthRecords,
  account: Account,
  upstreamModel: string | undefined,
  nowMs: number,
): { readonly health: HealthState; readonly isTrial: boolean } {
  const before = healthOf(account, upstreamModel);
  const health = atCallStart(before, nowMs);
  accounts.setHealth(account, upstreamModel, health);
  const pause = currentPause(health, nowMs);
  if (pause?.lastResort === true && pause.state !== 'half_open') lastResortInUse.add(pause);
  const isTrial = health !== before && isTimeoutTrial(health);
  // Another call is the trial, so this one's outcome does not decide it.
  const isNotTrial = health.demotion?.inTrial === true && !isTrial;
  return { health: isNotTrial ? { ...health, demotion: undefined } : health, isTrial };
}

export function updateHealth(
  { accounts }: HealthRecords,
  { account, upstreamModel, accountAtStart, modelAtStart }: CallInProgress,
  rule: (health: HealthState, atStart: HealthState) => HealthState,
): void {
  // A healthy account: there is nothing for a rule to change.
  if (account.health === undefined) return;
  accounts.setHealth(account, undefined, rule(healthOf(account, undefined), accountAtStart));
  const ofModel = rule(healthOf(account, upstreamModel), modelAtStart);
  accounts.setHealth(account, upstreamModel, ofModel);
}

export function recordEnd(
  records: HealthRecords,
  call: CallInProgress,
  signal: HealthSignal,
): void {
  const { account } = call;
  if (account.health !== undefined) releaseLastResort(records, call);
  if (signal.kind === 'served') {
    account.forbiddenModel = undefined;
    return updateHealth(records, call, afterSuccess);
  }
  if (signal.kind === 'refused') recordRefusal(records, call, signal.reason);
  else if (signal.kind === 'forbidden') recordForbidden(records, call, signal.reason);
  else if (signal.kind !== 'neutral') recordFailure(records, call, signal);
  // A trial in the other scope, to which the signal does not apply, is still undecided.
  updateHealth(records, call, afterNeutral);
}

export function releaseLastResort(
  { lastResortInUse }: HealthRecords,
  { accountAtStart, modelAtStart }: CallInProgress,
): void {
  if (accountAtStart.pause !== undefined) lastResortInUse.delete(accountAtStart.pause);
  if (modelAtStart.pause !== undefined) lastResortInUse.delete(modelAtStart.pause);
}

/**
 * Forgets how a named account itself failed if its user has brought another secret since, so that
 * the new one is used at once. What failed may have been the old secret, or what it paid with.
 */
export function forgetOtherSecret(
  { accounts }: Pick<HealthRecords, 'accounts'>,
  account: Account,
  secret: string,
): void {
  if (!hasOtherSecret(account, secret)) return;
  account.failedDigest = undefined;
  accounts.setHealth(account, undefined, goodHealth);
}

/** True if the account itself failed with another secret than this one. */
export function hasOtherSecret({ failedDigest }: Account, secret: string): boolean {
  return failedDigest !== undefined && failedDigest !== digestSecret(secret);
}

function rememberSecret({ account, secret }: CallInProgress): void {
  if (secret !== undefined) account.failedDigest = digestSecret(secret);
}

/** The account may have another credential than the one that was rejected. */
export function clearRefusal({ accounts, clock }: HealthRecords, account: Account): void {
  account.refused = undefined;
  accounts.emitChange(account, undefined, healthStatus(healthOf(account, undefined), clock));
}

function recordRefusal(
  { accounts, clock }: HealthRecords,
  call: CallInProgress,
  reason: FailureReason,
): void {
  const { account, channel, accountAtStart } = call;
  const { credential } = channel;
  if (typeof credential !== 'string') {
    rememberSecret(call);
    const cooldown = { reason, forMs: rotatingCredentialMs, lastResort: false };
    const moment = { atStart: accountAtStart, nowMs: clock.monotonicMs() };
    const health = afterCooldown(healthOf(account, undefined), cooldown, moment);
    return accounts.setHealth(account, undefined, health);
  }
  if (account.refused?.credential === credential) return;
  account.refused = { credential, reason };
  accounts.emitChange(account, undefined, { state: 'refused', reason, untilMs: undefined });
}

function recordForbidden(
  records: HealthRecords,
  call: CallInProgress,
  reason: FailureReason,
): void {
  const { account, upstreamModel } = call;
  const { forbiddenModel } = account;
  const isAccountScope = forbiddenModel !== undefined && forbiddenModel !== upstreamModel;
  account.forbiddenModel = upstreamModel;
  recordFailure(records, call, {
    kind: 'cooldown',
    where: isAccountScope ? 'account' : 'model',
    reason,
    forMs: isAccountScope ? forbiddenAccountMs : forbiddenModelMs,
    // The first may be about this one request.
    lastResort: forbiddenModel === undefined,
  });
}

type FailureSignal = Extract<
  HealthSignal,
  { readonly kind: 'failed' | 'disconnected_waiting' | 'cooldown' }
>;

function recordFailure(
  { accounts, clock, random }: HealthRecords,
  call: CallInProgress,
  signal: FailureSignal,
): void {
  const { account, upstreamModel, waiting } = call;
  const isAccount = 'where' in signal && signal.where === 'account';
  const scope = isAccount ? undefined : upstreamModel;
  const atStart = isAccount ? call.accountAtStart : call.modelAtStart;
  const moment = { atStart, nowMs: clock.monotonicMs(), random };
  const health = healthOf(account, scope);
  const isTimeout = signal.kind === 'disconnected_waiting' || isTimedOut(signal);
  // The channel has replied to a later call since, so this timeout is outdated.
  if (isTimeout && isOvertaken(waiting)) return;
  if (isAccount) rememberSecret(call);
  accounts.setHealth(account, scope, afterSignal(health, signal, moment));
}

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

function isTimeoutTrial({ pause, demotion }: HealthState): boolean {
  if (pause !== undefined) return pause.state === 'half_open' && pause.isTimeout;
  return demotion?.inTrial === true;
}

/** What a call tells about the health of its channel when it ends. */
export type HealthSignal =
  | { readonly kind: 'served' }
  /** A mistake of the caller or the gateway: it tells nothing about the upstream. */
  | { readonly kind: 'neutral' }
  /** The account could not be reached, or the model failed or timed out. */
  | {
      readonly kind: 'failed';
      readonly reason: FailureReason;
      readonly where: HealthScope;
      /** It timed out, or the upstream itself reported a timeout. */
      readonly timedOut?: boolean;
    }
  /** The caller disconnected after a long wait for the first byte. */
  | {
      readonly kind: 'disconnected_waiting';
      readonly reason: FailureReason;
      readonly keyId: string;
    }
  | ({ readonly kind: 'cooldown'; readonly where: HealthScope } & CooldownInput)
  /** The credential was rejected: the account is out until it has another one. */
  | { readonly kind: 'refused'; readonly reason: FailureReason }
  /**
   * A 403 that does not say what it applies to: this request, the model, or the account. The
   * account is blamed only if a second model is refused before any call was served.
   */
  | { readonly kind: 'forbidden'; readonly reason: FailureReason };

/** The signal of a call that tells nothing about its channel, or of one that did not use it. */
export const noSignal: HealthSignal = { kind: 'neutral' };

/** The account with all its models, or only the model that was called. */
export type HealthScope = 'account' | 'model';
