/**
 * Watches one attempt on a channel: how long its upstream has been silent, and how long its caller
 * has not read. It has no timer; the gateway's timer checks it every second.
 */
import type { Clock } from '../clock.ts';
import { UpstreamError } from '../errors.ts';
import type { FailureReason } from '../failure-reasons.ts';
import type { Timeouts } from '../ports/timeouts.ts';

/** `totalMs` counts from the call's start, over all attempts. */
export type AttemptTimeouts = Omit<Timeouts, 'connectMs' | 'firstByteStreamedMs'>;

/** When a model on an account last sent anything, for any call. */
export interface LastActivity {
  atMs: number;
}

interface WatchDeps {
  readonly timeouts: AttemptTimeouts;
  readonly callerStallMs: number;
  readonly clock: Clock;
  /** Ends the attempt, but not the call: the next attempt must not find it aborted. */
  readonly caller: { endAttempt(reason: UpstreamError): void };
}

export interface AttemptWatch {
  readonly deps: WatchDeps;
  awaits: 'head' | 'body' | 'nothing';
  lastReceivedMs: number;
  pausedAtMs: number | undefined;
  progressAtMs: number;
  lastProgress: number;
  progress: (() => number) | undefined;
  endStalledReply: (() => void) | undefined;
  readonly sentMs: number;
  /** Shared by all calls of one model on one account. */
  readonly lastActivity: LastActivity | undefined;
  quietSinceMs: number;
  checkedAtMs: number;
  endQuiet: (() => void) | undefined;
  hasSent: (() => boolean) | undefined;
}

export function watchAttempt(deps: WatchDeps, lastActivity?: LastActivity): AttemptWatch {
  const nowMs = deps.clock.monotonicMs();
  return {
    deps,
    awaits: 'head',
    lastReceivedMs: nowMs,
    pausedAtMs: undefined,
    progressAtMs: nowMs,
    lastProgress: 0,
    progress: undefined,
    endStalledReply: undefined,
    sentMs: nowMs,
    lastActivity,
    quietSinceMs: nowMs,
    checkedAtMs: nowMs,
    endQuiet: undefined,
    hasSent: undefined,
  };
}

export function headReceived(watch: AttemptWatch): void {
  watch.awaits = 'body';
  chunkReceived(watch);
  watch.progressAtMs = watch.lastReceivedMs;
  watch.quietSinceMs = watch.lastReceivedMs;
}

export function chunkReceived(watch: AttemptWatch): void {
  watch.lastReceivedMs = watch.deps.clock.monotonicMs();
  if (watch.lastActivity !== undefined) watch.lastActivity.atMs = watch.lastReceivedMs;
}

/** The gateway has paused the body. From now on silence does not count against the upstream. */
export function bodyPaused(watch: AttemptWatch): void {
  watch.pausedAtMs ??= watch.deps.clock.monotonicMs();
}

export function bodyResumed(watch: AttemptWatch): void {
  const { pausedAtMs } = watch;
  if (pausedAtMs === undefined) return;
  watch.pausedAtMs = undefined;
  // Only the pause itself is excluded. Neither a caller that is always slow nor a change of readers
  // may excuse an upstream that sends nothing.
  const forMs = watch.deps.clock.monotonicMs() - pausedAtMs;
  watch.lastReceivedMs += forMs;
  watch.progressAtMs += forMs;
}

/** `progress` changes with each event that has content, and not with pings. */
export function watchProgress(watch: AttemptWatch, progress: () => number): void {
  watch.progress = progress;
}

export function onStall(watch: AttemptWatch, giveUp: () => void): void {
  watch.endStalledReply = giveUp;
}

/**
 * Registers what to do each time the reply has been quiet for `quietMs`; replaced by the next
 * registration. `hasSent` says whether anything was sent to the caller since it was last asked: it
 * is asked every second, because a clock that is read for each write is too slow.
 */
export function onQuiet(watch: AttemptWatch, endQuiet: () => void, hasSent?: () => boolean): void {
  watch.endQuiet = endQuiet;
  watch.hasSent = hasSent;
}

export function stopWatching(watch: AttemptWatch): void {
  watch.awaits = 'nothing';
}

/** The action for an expired timeout; undefined if none has expired. */
export function overdueAction(watch: AttemptWatch, nowMs: number): (() => void) | undefined {
  const { awaits, pausedAtMs, deps } = watch;
  if (awaits === 'nothing') return undefined;
  if (pausedAtMs !== undefined) {
    return nowMs - pausedAtMs >= deps.callerStallMs ? watch.endStalledReply : undefined;
  }
  const reason = lateReason(watch, nowMs);
  if (reason === undefined) return quietEnds(watch, nowMs);
  return () => deps.caller.endAttempt(new UpstreamError('sent', reason, { timedOut: true }));
}

function quietEnds(watch: AttemptWatch, nowMs: number): (() => void) | undefined {
  const { endQuiet, awaits, deps, checkedAtMs } = watch;
  if (endQuiet === undefined || awaits !== 'body') return undefined;
  // What was sent since the last check counts as sent at it, so that no silence is longer.
  if (watch.hasSent?.()) watch.quietSinceMs = Math.max(watch.quietSinceMs, checkedAtMs);
  watch.checkedAtMs = nowMs;
  if (nowMs - watch.quietSinceMs < deps.timeouts.quietMs) return undefined;
  return () => {
    watch.quietSinceMs = nowMs;
    endQuiet();
  };
}

function lateReason(watch: AttemptWatch, nowMs: number): FailureReason | undefined {
  const { firstByteMs, idleMs } = watch.deps.timeouts;
  const silentMs = nowMs - watch.lastReceivedMs;
  if (watch.awaits === 'head') return silentMs >= firstByteMs ? 'headers_timeout' : undefined;
  if (silentMs >= idleMs) return 'idle_timeout';
  return isSilent(watch, nowMs) ? 'silent_stream' : undefined;
}

function isSilent(watch: AttemptWatch, nowMs: number): boolean {
  if (watch.progress === undefined) return false;
  const now = watch.progress();
  if (now !== watch.lastProgress) watch.progressAtMs = nowMs;
  watch.lastProgress = now;
  return nowMs - watch.progressAtMs >= watch.deps.timeouts.firstTokenMs;
}
