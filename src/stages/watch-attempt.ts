/**
 * Watches one attempt on a channel: how long its upstream has been silent, and how long its caller
 * has not read. It has no timer; the gateway's timer checks it every second.
 */
import type { Clock } from '../clock.ts';
import { UpstreamError } from '../errors.ts';

/**
 * The time-outs of one attempt, in ms. `totalMs` counts from the call's start, over all attempts.
 */
export interface Waits {
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly firstTokenMs: number;
  readonly quietMs: number;
  readonly totalMs: number;
}

/** When a model on an account last sent anything, for any call. */
export interface LastHeard {
  heardMs: number;
}

/** Dependencies of a watch. */
export interface WatchDeps {
  readonly waits: Waits;
  readonly callerStallMs: number;
  readonly clock: Clock;
  /** Ends the attempt, but not the call. */
  readonly end: (reason: UpstreamError) => void;
}

/**
 * The state of one attempt, from its request to the last byte of its reply. The functions below
 * change it.
 */
export interface AttemptWatch {
  readonly ground: WatchDeps;
  awaits: 'head' | 'body' | 'nothing';
  heardMs: number;
  pausedMs: number | undefined;
  spokeMs: number;
  spoken: number;
  progress: (() => number) | undefined;
  giveUpCaller: (() => void) | undefined;
  readonly sentMs: number;
  /** Shared by all calls of one model on one account. */
  readonly lastHeard: LastHeard | undefined;
  quietSinceMs: number;
  endQuiet: (() => void) | undefined;
}

/** Starts watching an attempt. */
export function watchAttempt(ground: WatchDeps, lastHeard?: LastHeard): AttemptWatch {
  const nowMs = ground.clock.monotonicMs();
  return {
    ground,
    awaits: 'head',
    heardMs: nowMs,
    pausedMs: undefined,
    spokeMs: nowMs,
    spoken: 0,
    progress: undefined,
    giveUpCaller: undefined,
    sentMs: nowMs,
    lastHeard,
    quietSinceMs: nowMs,
    endQuiet: undefined,
  };
}

/** The response's status and headers have arrived. */
export function headCame(watch: AttemptWatch): void {
  watch.awaits = 'body';
  pieceCame(watch);
  watch.spokeMs = watch.heardMs;
  watch.quietSinceMs = watch.heardMs;
}

/** A chunk of the body has arrived. */
export function pieceCame(watch: AttemptWatch): void {
  watch.heardMs = watch.ground.clock.monotonicMs();
  if (watch.lastHeard !== undefined) watch.lastHeard.heardMs = watch.heardMs;
}

/** The gateway has paused the body. From now on silence does not count against the upstream. */
export function paused(watch: AttemptWatch): void {
  watch.pausedMs ??= watch.ground.clock.monotonicMs();
}

/** The gateway has resumed the body. */
export function resumed(watch: AttemptWatch): void {
  const { pausedMs } = watch;
  if (pausedMs === undefined) return;
  watch.pausedMs = undefined;
  // Only the pause itself is excluded. Neither a caller that is always slow nor a change of readers
  // may excuse an upstream that sends nothing.
  const forMs = watch.ground.clock.monotonicMs() - pausedMs;
  watch.heardMs += forMs;
  watch.spokeMs += forMs;
}

/**
 * The reply is a stream. `progress` changes with each event that has content, and not with pings.
 */
export function streams(watch: AttemptWatch, progress: () => number): void {
  watch.progress = progress;
}

/** Registers how to end the reply of a caller that has stopped reading. */
export function onStall(watch: AttemptWatch, giveUp: () => void): void {
  watch.giveUpCaller = giveUp;
}

/**
 * Registers what to do each time the reply has been quiet for `quietMs`; replaced by the next
 * registration.
 */
export function onQuiet(watch: AttemptWatch, endQuiet: () => void): void {
  watch.endQuiet = endQuiet;
}

/** Stops watching. */
export function over(watch: AttemptWatch): void {
  watch.awaits = 'nothing';
}

/** The action for a time-out that is over; undefined if none is. */
export function overdue(watch: AttemptWatch, nowMs: number): (() => void) | undefined {
  const { awaits, pausedMs, ground } = watch;
  if (awaits === 'nothing') return undefined;
  if (pausedMs !== undefined) {
    return nowMs - pausedMs >= ground.callerStallMs ? watch.giveUpCaller : undefined;
  }
  const reason = lateReason(watch, nowMs);
  if (reason === undefined) return quietEnds(watch, nowMs);
  return () => ground.end(new UpstreamError('sent', reason, { timedOut: true }));
}

function quietEnds(watch: AttemptWatch, nowMs: number): (() => void) | undefined {
  const { endQuiet, quietSinceMs, awaits, ground } = watch;
  if (endQuiet === undefined || awaits !== 'body') return undefined;
  if (nowMs - quietSinceMs < ground.waits.quietMs) return undefined;
  return () => {
    watch.quietSinceMs = nowMs;
    endQuiet();
  };
}

function lateReason(watch: AttemptWatch, nowMs: number): string | undefined {
  const { firstByteMs, idleMs } = watch.ground.waits;
  const silentMs = nowMs - watch.heardMs;
  if (watch.awaits === 'head') return silentMs >= firstByteMs ? 'headers_timeout' : undefined;
  if (silentMs >= idleMs) return 'idle_timeout';
  return isSilent(watch, nowMs) ? 'silent_stream' : undefined;
}

function isSilent(watch: AttemptWatch, nowMs: number): boolean {
  if (watch.progress === undefined) return false;
  const now = watch.progress();
  if (now !== watch.spoken) watch.spokeMs = nowMs;
  watch.spoken = now;
  return nowMs - watch.spokeMs >= watch.ground.waits.firstTokenMs;
}
