/**
 * What the last calls have shown of an upstream account, or of one model on it, and what follows: a
 * rest, an open circuit, a place at the end of the draw, or nothing. Pure: each rule gives the
 * standing that comes after.
 */

/** Why no calls go there for a while. */
export interface Pause {
  /**
   * `cooling_down`: asked for, or the account's own state. `open`: it failed too often.
   * `half_open`: its time is up, and one call finds out whether it is back.
   */
  readonly state: 'cooling_down' | 'open' | 'half_open';
  /** `upstream_rate_limited`, `reset`, …: the finer name of what led to it. */
  readonly reason: string;
  /** On the monotonic clock. */
  readonly untilMs: number;
  /** How long it was to last. */
  readonly spanMs: number;
  /**
   * Takes one call at a time where no other channel is left, after a 429 or a 5xx: the caller gets
   * the upstream's own answer, and the first success ends the pause. Never a refused account, and
   * never one that can't be reached or does not answer: that would cost each caller the wait.
   */
  readonly yields: boolean;
  /** The upstream said 429. */
  readonly isRateLimit: boolean;
  /** It did not answer in time: who tries it out may have to wait. */
  readonly isTimeout: boolean;
}

/** Calls go there only where no other channel can take them. */
export interface Demotion {
  /**
   * `timed_out`: it did not answer in time. `slow`: it keeps three calls waiting while others
   * answer. `compared`: it keeps three calls waiting, and one is sent elsewhere to compare.
   */
  readonly kind: 'timed_out' | 'slow' | 'compared';
  /** As for a pause. */
  readonly reason: string;
  /** On the monotonic clock: then one call tries it out. */
  readonly untilMs: number;
  /** One call is trying it out. */
  readonly isTried: boolean;
}

/** Where an account, or a model on it, stands. */
export interface HealthState {
  /** Failures since the last success, whatever time lies between them. */
  readonly failures: number;
  /** Time-outs since the last success. A caller that left a silent call counts as half of one. */
  readonly timeouts: number;
  /** The keys of those callers: each counts once. */
  readonly leftBy: readonly string[];
  /** Open circuits in a row, and rests whose length nobody named. */
  readonly ejections: number;
  readonly rests: number;
  readonly pause: Pause | undefined;
  readonly demotion: Demotion | undefined;
}

/** A rest that a failure asks for. */
export interface RestAsked {
  readonly reason: string;
  /** As the upstream named it; undefined where it named none. */
  readonly forMs: number | undefined;
  readonly yields: boolean;
  /** The upstream said 429. */
  readonly isRateLimit?: boolean;
}

/** A failure that counts. */
export interface FailureSeen {
  readonly reason: string;
  /** Nothing came in time. */
  readonly isTimeout: boolean;
  /** A call may still be served there where no other channel is left. */
  readonly yields: boolean;
}

/** Nothing is known against it. */
export const goodHealth: HealthState = {
  failures: 0,
  timeouts: 0,
  leftBy: [],
  ejections: 0,
  rests: 0,
  pause: undefined,
  demotion: undefined,
};

const failuresToEject = 5;
/** A time-out costs its caller minutes: five in a row would cost five callers as much. */
const timeoutsToEject = 2;
const timeoutsToDemote = 1;
const ejectionMs = 30_000;
const longestEjectionMs = 300_000;
/** How long a channel is drawn last before one call tries it out. */
const demotionMs = 30_000;
/** Spreads returns, so that several gateways do not probe in step. */
const jitter = 0.2;
const shortestRestMs = 1_000;
const longestRestMs = 3_600_000;
const unnamedRestMs = 10_000;
const longestUnnamedRestMs = 300_000;
/** An image that hangs may have been billed: it tries nothing out that others can serve. */
const imageTrialMs = 3_600_000;

/** What stood when a call began, and now. */
interface Moment {
  /** A call that ran before a pause began adds nothing to it. */
  readonly begun: HealthState;
  readonly nowMs: number;
}

/** Where chance is needed, too: a number in [0, 1). */
interface ChanceMoment extends Moment {
  readonly random: () => number;
}

/**
 * One more failure. The fifth in a row opens the circuit, so does the second time-out, and so does
 * a failed probe. From the first time-out on it is drawn last.
 */
export function afterFailure(
  standing: HealthState,
  seen: FailureSeen,
  moment: ChanceMoment,
): HealthState {
  const { pause } = standing;
  const isProbe = isProbing(standing, moment.begun);
  if (pause !== undefined && pause.state !== 'cooling_down' && !isProbe) return standing;
  const failures = standing.failures + 1;
  const timeouts = standing.timeouts + (seen.isTimeout ? 1 : 0);
  if (isProbe || failures >= failuresToEject || timeouts >= timeoutsToEject) {
    return ejected(standing, seen, moment);
  }
  return demoted({ ...standing, failures, timeouts }, seen.reason, moment);
}

/**
 * A caller left after it had waited long for a first byte: half a time-out, for many callers give
 * up before the gateway does. Once for each key: nobody's impatience alone takes a channel from
 * others.
 */
export function afterLeaving(
  standing: HealthState,
  { reason, keyId }: { readonly reason: string; readonly keyId: string },
  moment: ChanceMoment,
): HealthState {
  const { pause, leftBy } = standing;
  if (pause !== undefined || leftBy.includes(keyId)) return standing;
  const timeouts = standing.timeouts + 0.5;
  if (timeouts >= timeoutsToEject) {
    return ejected(standing, { reason, isTimeout: true, yields: false }, moment);
  }
  return demoted({ ...standing, timeouts, leftBy: [...leftBy, keyId] }, reason, moment);
}

function ejected(
  standing: HealthState,
  { reason, isTimeout, yields }: FailureSeen,
  { nowMs, random }: ChanceMoment,
): HealthState {
  const ejections = standing.ejections + 1;
  const spanMs = spread(Math.min(ejectionMs * ejections, longestEjectionMs), random);
  const fresh: Pause = {
    state: 'open',
    reason,
    untilMs: nowMs + spanMs,
    spanMs,
    yields,
    isRateLimit: false,
    isTimeout,
  };
  const pause = stronger(standing.pause, fresh);
  return { ...goodHealth, rests: standing.rests, ejections, pause };
}

/** Drawn last from the first time-out on; whatever else fails, its next trial is later. */
function demoted(
  standing: HealthState,
  reason: string,
  { nowMs, random }: ChanceMoment,
): HealthState {
  if (standing.timeouts < timeoutsToDemote) return standing;
  const untilMs = nowMs + spread(demotionMs, random);
  return { ...standing, demotion: { kind: 'timed_out', reason, untilMs, isTried: false } };
}

function spread(spanMs: number, random: () => number): number {
  return Math.round(spanMs * (1 - jitter + 2 * jitter * random()));
}

/** Three calls have waited long there: other channels come first until a byte says it is back. */
export function afterSlowness(
  standing: HealthState,
  kind: 'slow' | 'compared',
  { nowMs, random }: Omit<ChanceMoment, 'begun'>,
): HealthState {
  const { demotion } = standing;
  if (demotion !== undefined && demotion.kind !== 'compared') return standing;
  const untilMs = kind === 'slow' ? nowMs + spread(demotionMs, random) : Number.POSITIVE_INFINITY;
  return { ...standing, demotion: { kind, reason: 'slow', untilMs, isTried: false } };
}

/** The comparison has been made, or has become idle. */
export function afterComparison(standing: HealthState): HealthState {
  return standing.demotion?.kind === 'compared' ? { ...standing, demotion: undefined } : standing;
}

/** A first byte came. */
export function afterByte(standing: HealthState): HealthState {
  const { demotion } = standing;
  return demotion === undefined || demotion.kind === 'timed_out'
    ? standing
    : { ...standing, demotion: undefined };
}

/** A probe whose reply has begun is one until somebody has been served. */
function isProbing({ pause, ejections }: HealthState, begun: HealthState): boolean {
  if (begun.pause?.state !== 'half_open') return false;
  return pause === begun.pause || (pause === undefined && ejections > 0);
}

/** A rest of the length that was named, or of one that doubles from rest to rest. */
export function afterRest(
  standing: HealthState,
  { reason, forMs, yields, isRateLimit = false }: RestAsked,
  { begun, nowMs }: Moment,
): HealthState {
  const { pause: old } = standing;
  const isResting = old?.state === 'cooling_down' && nowMs < old.untilMs && old.yields === yields;
  // Calls that were under way when it went to rest say the same once more.
  if (forMs === undefined && isResting && old !== begun.pause) return standing;
  // A call that was let through during a rest, for want of another channel, tells nothing new.
  const isSameRest = forMs === undefined && isResting;
  const unnamedMs = isSameRest
    ? Math.max(old.untilMs - nowMs, unnamedRestMs)
    : Math.min(unnamedRestMs * 2 ** standing.rests, longestUnnamedRestMs);
  const spanMs = Math.min(Math.max(forMs ?? unnamedMs, shortestRestMs), longestRestMs);
  const pause: Pause = {
    state: 'cooling_down',
    reason,
    untilMs: nowMs + spanMs,
    spanMs,
    yields,
    isRateLimit,
    isTimeout: false,
  };
  const rests = forMs === undefined && !isSameRest ? standing.rests + 1 : standing.rests;
  return { ...standing, rests, pause: stronger(old, pause) };
}

/** A call was served: what stood against the upstream when it began is disproved. */
export function afterService({ pause }: HealthState, begun: HealthState): HealthState {
  return pause === undefined || pause === begun.pause ? goodHealth : { ...goodHealth, pause };
}

/**
 * A reply has begun. Calls may go there again where they were kept out for its silence, and how it
 * ends is still to be seen. A rest that was asked for lasts until somebody has been served.
 */
export function afterAnswer(standing: HealthState, begun: HealthState): HealthState {
  const { pause, demotion } = standing;
  const isProved = pause?.state === 'half_open' && pause === begun.pause;
  if (!isProved && demotion === undefined) return standing;
  return { ...standing, pause: isProved ? undefined : pause, demotion: undefined };
}

/** A call that said nothing of the upstream: if it tried it out, the next one does. */
export function afterNothing(standing: HealthState, begun: HealthState): HealthState {
  const { pause, demotion } = standing;
  if (pause?.state === 'half_open' && pause === begun.pause) {
    return { ...standing, pause: { ...pause, state: 'open' } };
  }
  return demotion?.isTried === true && demotion === begun.demotion
    ? { ...standing, demotion: { ...demotion, isTried: false } }
    : standing;
}

/** A call goes there: a rest that is over is forgotten, whatever else is over is tried out. */
export function atBegin(standing: HealthState, nowMs: number): HealthState {
  const { pause, demotion } = standing;
  if (pause !== undefined) {
    if (pause.state === 'half_open' || nowMs < pause.untilMs) return standing;
    const isOver = pause.state === 'cooling_down';
    return { ...standing, pause: isOver ? undefined : { ...pause, state: 'half_open' } };
  }
  if (demotion === undefined || demotion.isTried || nowMs < demotion.untilMs) return standing;
  return { ...standing, demotion: { ...demotion, isTried: true } };
}

/** The pause that still holds, or undefined where a call may go. */
export function pauseFor({ pause }: HealthState, nowMs: number): Pause | undefined {
  if (pause === undefined || pause.state === 'half_open') return pause;
  return nowMs < pause.untilMs ? pause : undefined;
}

/**
 * Whether a call goes there only where no other channel can take it. An image tries nothing out
 * that others can serve, for it can't be made twice: not until text has had as long again to do so,
 * or an hour where the trial may hang.
 */
export function isLast(
  { pause, demotion }: HealthState,
  nowMs: number,
  {
    isBoughtOnce,
    hasTried = false,
  }: { readonly isBoughtOnce: boolean; readonly hasTried?: boolean },
): boolean {
  if (pause !== undefined && pause.state === 'open') {
    const untilMs = pause.untilMs + (pause.isTimeout ? imageTrialMs : pause.spanMs);
    return (isBoughtOnce || hasTried) && nowMs < untilMs;
  }
  if (demotion === undefined) return false;
  return (
    demotion.isTried || nowMs < demotion.untilMs + (isBoughtOnce || hasTried ? imageTrialMs : 0)
  );
}

/** Of two pauses the one that nothing may pass, and the later end of both. */
function stronger(old: Pause | undefined, fresh: Pause): Pause {
  if (old === undefined || old.state === 'half_open') return fresh;
  const isLonger = old.untilMs > fresh.untilMs;
  if (old.yields === fresh.yields) return isLonger ? old : fresh;
  const closed = old.yields ? fresh : old;
  return { ...closed, untilMs: Math.max(old.untilMs, fresh.untilMs) };
}
