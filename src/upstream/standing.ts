/**
 * What the last calls have shown of an upstream account, or of one model on it, and what follows: a
 * rest, an ejection, or nothing. Pure: each rule gives the standing that comes after (FAULTS §4.5).
 */

/** Why no calls go there for a while. */
export interface Pause {
  /**
   * `resting`: asked for, or the account's own state. `ejected`: failed too often. `probing`:
   * ejected, its time is up, and one call is finding out.
   */
  readonly state: 'resting' | 'ejected' | 'probing';
  /** `upstream_rate_limited`, `reset`, …: the finer name of what led to it. */
  readonly reason: string;
  /** On the monotonic clock. */
  readonly untilMs: number;
  /** How long it was to last. */
  readonly spanMs: number;
  /** Gives way where no other channel is left (ARCHITECTURE S): a 429 or a 5xx, never a refusal. */
  readonly yields: boolean;
}

/** Where an account, or a model on it, stands. */
export interface Standing {
  /** When the failures in a row came that still count. */
  readonly failedAtMs: readonly number[];
  /** Ejections in a row, and rests whose length nobody named. */
  readonly ejections: number;
  readonly rests: number;
  readonly pause: Pause | undefined;
}

/** A rest that a failure asks for. */
export interface RestAsked {
  readonly reason: string;
  /** As the upstream named it; undefined where it named none. */
  readonly forMs: number | undefined;
  readonly yields: boolean;
}

/** Nothing is known against it. */
export const goodStanding: Standing = {
  failedAtMs: [],
  ejections: 0,
  rests: 0,
  pause: undefined,
};

const failuresToEject = 5;
const failureWindowMs = 60_000;
const ejectionMs = 30_000;
const longestEjectionMs = 300_000;
/** Spreads returns, so that several gateways do not probe in step. */
const jitter = 0.2;
const shortestRestMs = 1_000;
const longestRestMs = 3_600_000;
const unnamedRestMs = 10_000;
const longestUnnamedRestMs = 300_000;

/** What stood when a call began, and now. */
interface Moment {
  /** A call that ran before a pause began adds nothing to it. */
  readonly begun: Pause | undefined;
  readonly nowMs: number;
}

/** One more failure: the fifth in a row within a minute ejects, and so does a failed probe. */
export function afterFailure(
  standing: Standing,
  reason: string,
  { begun, nowMs, random }: Moment & { readonly random: () => number },
): Standing {
  const { pause } = standing;
  const isProbe = isProbing(standing, begun);
  if (pause !== undefined && pause.state !== 'resting' && !isProbe) return standing;
  const recent = standing.failedAtMs.filter((atMs) => nowMs - atMs <= failureWindowMs);
  const failedAtMs = [...recent, nowMs];
  if (!isProbe && failedAtMs.length < failuresToEject) return { ...standing, failedAtMs };
  const ejections = standing.ejections + 1;
  const spread = 1 - jitter + 2 * jitter * random();
  const spanMs = Math.round(Math.min(ejectionMs * ejections, longestEjectionMs) * spread);
  const ejected: Pause = {
    state: 'ejected',
    reason,
    untilMs: nowMs + spanMs,
    spanMs,
    yields: true,
  };
  return { ...standing, failedAtMs: [], ejections, pause: stronger(pause, ejected) };
}

/** A probe whose reply has begun is one until somebody has been served. */
function isProbing({ pause, ejections }: Standing, begun: Pause | undefined): boolean {
  if (begun?.state !== 'probing') return false;
  return pause === begun || (pause === undefined && ejections > 0);
}

/** A rest of the length that was named, or of one that doubles from rest to rest. */
export function afterRest(
  standing: Standing,
  { reason, forMs, yields }: RestAsked,
  { begun, nowMs }: Moment,
): Standing {
  const { pause: old } = standing;
  const isResting = old?.state === 'resting' && nowMs < old.untilMs && old.yields === yields;
  // Calls that were under way when it went to rest say the same once more.
  if (forMs === undefined && isResting && old !== begun) return standing;
  const unnamedMs = Math.min(unnamedRestMs * 2 ** standing.rests, longestUnnamedRestMs);
  const spanMs = Math.min(Math.max(forMs ?? unnamedMs, shortestRestMs), longestRestMs);
  const pause: Pause = { state: 'resting', reason, untilMs: nowMs + spanMs, spanMs, yields };
  const rests = forMs === undefined ? standing.rests + 1 : standing.rests;
  return { ...standing, rests, pause: stronger(old, pause) };
}

/** A call was served: what stood against the upstream when it began is disproved. */
export function afterService({ pause }: Standing, begun: Pause | undefined): Standing {
  return pause === undefined || pause === begun ? goodStanding : { ...goodStanding, pause };
}

/** A reply has begun: calls may go there again, and how it ends is still to be seen. */
export function afterAnswer(standing: Standing, begun: Pause | undefined): Standing {
  return begun !== undefined && standing.pause === begun
    ? { ...standing, pause: undefined }
    : standing;
}

/** A call that said nothing of the upstream: if it was a probe, the next one is another. */
export function afterNothing(standing: Standing, begun: Pause | undefined): Standing {
  const { pause } = standing;
  return pause !== undefined && pause === begun && pause.state === 'probing'
    ? { ...standing, pause: { ...pause, state: 'ejected' } }
    : standing;
}

/** A call goes there: a rest that is over is forgotten, an ejection that is over is probed. */
export function atBegin(standing: Standing, nowMs: number): Standing {
  const { pause } = standing;
  if (pause === undefined || pause.state === 'probing' || nowMs < pause.untilMs) return standing;
  return {
    ...standing,
    pause: pause.state === 'resting' ? undefined : { ...pause, state: 'probing' },
  };
}

/**
 * The pause that still holds for a call, or undefined where it may go. An image is no probe, for it
 * can't be made twice: it waits as long again for a call of text to be one, and goes then.
 */
export function pauseFor(
  { pause }: Standing,
  nowMs: number,
  { isImage }: { readonly isImage: boolean },
): Pause | undefined {
  if (pause === undefined) return undefined;
  if (pause.state === 'probing') return pause;
  const isOver = nowMs >= pause.untilMs;
  if (!isOver || pause.state === 'resting') return isOver ? undefined : pause;
  return isImage && nowMs < pause.untilMs + pause.spanMs ? pause : undefined;
}

/** Of two pauses a refusal comes first, and then the one that lasts longer. */
function stronger(old: Pause | undefined, fresh: Pause): Pause {
  if (old === undefined || old.state === 'probing') return fresh;
  if (old.yields !== fresh.yields) return old.yields ? fresh : old;
  return old.untilMs > fresh.untilMs ? old : fresh;
}
