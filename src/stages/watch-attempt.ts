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
  readonly totalMs: number;
}

/** One try, from its request to the last byte of its answer. */
export interface AttemptWatch {
  /** The head of the answer is here. */
  answered(): void;
  /** A piece of the body is here. */
  heard(): void;
  /** The body is held back by us: from now on its silence is no fault of the upstream. */
  paused(): void;
  resumed(): void;
  /** The answer is a stream; `progress` tells one that speaks from one that only pings. */
  streams(progress: () => number): void;
  /** How to end the reply of a caller that takes nothing any more. */
  onStall(giveUp: () => void): void;
  /** Nothing is waited for any more. */
  over(): void;
  /** What to do about a wait that is over, undefined while none is. */
  overdue(nowMs: number): (() => void) | undefined;
}

/** What a watch goes by. */
export interface WatchGround extends Waits {
  readonly callerStallMs: number;
  readonly clock: Clock;
  /** Ends the try, and nothing but it. */
  readonly end: (reason: UpstreamError) => void;
}

/** The watch of a try that begins now. */
export function watchAttempt(ground: WatchGround): AttemptWatch {
  const { clock, firstByteMs, idleMs, firstTokenMs, callerStallMs } = ground;
  let awaits: 'head' | 'body' | 'nothing' = 'head';
  let heardMs = clock.monotonicMs();
  let pausedMs: number | undefined;
  let spokeMs = heardMs;
  let spoken = 0;
  let progress: (() => number) | undefined;
  let giveUpCaller: (() => void) | undefined;

  const isSilent = (nowMs: number): boolean => {
    if (progress === undefined) return false;
    const now = progress();
    if (now !== spoken) spokeMs = nowMs;
    spoken = now;
    return nowMs - spokeMs >= firstTokenMs;
  };

  const lateReason = (nowMs: number): string | undefined => {
    if (awaits === 'head') return nowMs - heardMs >= firstByteMs ? 'headers_timeout' : undefined;
    if (nowMs - heardMs >= idleMs) return 'idle_timeout';
    return isSilent(nowMs) ? 'silent_stream' : undefined;
  };

  return {
    answered: () => {
      awaits = 'body';
      heardMs = clock.monotonicMs();
      spokeMs = heardMs;
    },
    heard: () => {
      heardMs = clock.monotonicMs();
    },
    paused: () => {
      pausedMs ??= clock.monotonicMs();
    },
    resumed: () => {
      if (pausedMs === undefined) return;
      pausedMs = undefined;
      heardMs = clock.monotonicMs();
      spokeMs = heardMs;
    },
    streams: (ofStream) => {
      progress = ofStream;
    },
    onStall: (giveUp) => {
      giveUpCaller = giveUp;
    },
    over: () => {
      awaits = 'nothing';
    },
    overdue: (nowMs) => {
      if (awaits === 'nothing') return undefined;
      if (pausedMs !== undefined)
        return nowMs - pausedMs >= callerStallMs ? giveUpCaller : undefined;
      const reason = lateReason(nowMs);
      if (reason === undefined) return undefined;
      return () => ground.end(new UpstreamError('sent', reason, { timedOut: true }));
    },
  };
}
