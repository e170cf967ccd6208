/**
 * Watches one try on a channel: how long its upstream has been silent, and how long its caller has
 * taken nothing. It has no timer of its own; the gateway's asks it every second.
 */
import type { Clock } from '../clock.ts';
import { UpstreamError } from '../errors.ts';

/** How long one try may wait, in ms. `totalMs` counts from the call's start, over all tries. */
export interface Waits {
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly firstTokenMs: number;
  readonly quietMs: number;
  readonly totalMs: number;
}

/** When a model on an account was last heard of, by whichever call. */
export interface LastHeard {
  heardMs: number;
}

/** What a watch goes by. */
export interface WatchDeps {
  readonly waits: Waits;
  readonly callerStallMs: number;
  readonly clock: Clock;
  /** Ends the try, and nothing but it. */
  readonly end: (reason: UpstreamError) => void;
}

/** One try, from its request to the last byte of its answer; the functions here keep it. */
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

/** The watch of a try that begins now. */
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

/** The head of the answer is here. */
export function headCame(watch: AttemptWatch): void {
  watch.awaits = 'body';
  pieceCame(watch);
  watch.spokeMs = watch.heardMs;
  watch.quietSinceMs = watch.heardMs;
}

/** A piece of the body is here. */
export function pieceCame(watch: AttemptWatch): void {
  watch.heardMs = watch.ground.clock.monotonicMs();
  if (watch.lastHeard !== undefined) watch.lastHeard.heardMs = watch.heardMs;
}

/** The body is held back by us: from now on its silence is no fault of the upstream. */
export function paused(watch: AttemptWatch): void {
  watch.pausedMs ??= watch.ground.clock.monotonicMs();
}

/** The body may flow again. */
export function resumed(watch: AttemptWatch): void {
  const { pausedMs } = watch;
  if (pausedMs === undefined) return;
  watch.pausedMs = undefined;
  // Only the pause is forgiven: neither a caller that is always slow nor a change of readers may
  // excuse an upstream that says nothing.
  const forMs = watch.ground.clock.monotonicMs() - pausedMs;
  watch.heardMs += forMs;
  watch.spokeMs += forMs;
}

/** The answer is a stream; `progress` tells one that speaks from one that only pings. */
export function streams(watch: AttemptWatch, progress: () => number): void {
  watch.progress = progress;
}

/** How to end the reply of a caller that takes nothing any more. */
export function onStall(watch: AttemptWatch, giveUp: () => void): void {
  watch.giveUpCaller = giveUp;
}

/** What to do each time the reply has been quiet for as long as it may, until there is another. */
export function onQuiet(watch: AttemptWatch, endQuiet: () => void): void {
  watch.endQuiet = endQuiet;
}

/** Nothing is waited for any more. */
export function over(watch: AttemptWatch): void {
  watch.awaits = 'nothing';
}

/** What to do about a wait that is over, undefined while none is. */
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
