/**
 * The health of an upstream account, or of one model on it: failure counts, cooldown, circuit
 * breaker and demotion. Every rule is a pure function from one state to the next.
 */
import type { FailureReason } from '../failure-reasons.ts';

/** A cooldown or an open circuit: the channel receives no calls until it ends. */
export interface Pause {
  /**
   * `cooling_down`: requested by the upstream, or required by the state of the account. `open`: the
   * circuit opened after repeated failures. `half_open`: the time is up, and one trial call finds
   * out whether the channel has recovered.
   */
  readonly state: 'cooling_down' | 'open' | 'half_open';
  readonly reason: FailureReason;
  /** On the monotonic clock. */
  readonly untilMs: number;
  readonly spanMs: number;
  /**
   * Whether the channel still takes one call at a time when no other channel is left. Set after a
   * 429 or a 5xx: the caller receives the upstream's own reply, and the first success ends the
   * pause. Never set for a refused account, nor for one that is unreachable or timing out, because
   * every caller would pay for the attempt with a long wait.
   */
  readonly lastResort: boolean;
  /** The upstream replied 429. */
  readonly isRateLimit: boolean;
  /** It was caused by a timeout, so the trial call may have to wait too. */
  readonly isTimeout: boolean;
}

/** A deprioritized channel: it is chosen only when no other channel is available. */
export interface Demotion {
  /**
   * `timed_out`: a call timed out. `slow`: three calls are waiting for it while other channels have
   * replied. `compared`: three calls are waiting for it, and one call is sent elsewhere to compare.
   */
  readonly kind: 'timed_out' | 'slow' | 'compared';
  readonly reason: FailureReason;
  /** On the monotonic clock. After this time one trial call is sent. */
  readonly untilMs: number;
  readonly inTrial: boolean;
}

export interface HealthState {
  /** Failures since the last success, no matter how far apart. */
  readonly failures: number;
  /** Since the last success. A caller that disconnects from a silent call counts as half. */
  readonly timeouts: number;
  /** The keys of the callers that disconnected; each key counts once. */
  readonly disconnectedKeys: readonly string[];
  /** How many times in a row the circuit has opened. */
  readonly circuitOpenings: number;
  /** Cooldowns in a row for which the upstream named no length. */
  readonly unnamedCooldowns: number;
  readonly pause: Pause | undefined;
  readonly demotion: Demotion | undefined;
}

export interface CooldownInput {
  readonly reason: FailureReason;
  /** The length that the upstream named, in ms; undefined if it named none. */
  readonly forMs: number | undefined;
  readonly lastResort: boolean;
  readonly isRateLimit?: boolean;
}

export interface FailureInput {
  readonly reason: FailureReason;
  readonly isTimeout: boolean;
  readonly lastResort: boolean;
}

export const goodHealth: HealthState = {
  failures: 0,
  timeouts: 0,
  disconnectedKeys: [],
  circuitOpenings: 0,
  unnamedCooldowns: 0,
  pause: undefined,
  demotion: undefined,
};

const failuresToOpen = 5;
/** Lower than for other failures, because each timeout costs its caller minutes. */
const timeoutsToOpen = 2;
const timeoutsToDemote = 1;
const openMs = 30_000;
const maxOpenMs = 300_000;
/** How long a channel is deprioritized before one trial call is sent. */
const demotionMs = 30_000;
/** Jitter keeps several gateways from sending their trial calls at the same moment. */
const jitter = 0.2;
const minCooldownMs = 1_000;
const maxCooldownMs = 3_600_000;
const defaultCooldownMs = 10_000;
const maxDefaultCooldownMs = 300_000;
/** An image call that hangs may have been billed: it is no trial while others can serve it. */
const imageTrialMs = 3_600_000;

interface Moment {
  /** Tells whether the call began before the current pause: such a call adds nothing to it. */
  readonly atStart: HealthState;
  readonly nowMs: number;
}

/** A {@link Moment} for the rules that use jitter. `random` returns a number in [0, 1). */
interface RandomMoment extends Moment {
  readonly random: () => number;
}

/**
 * Counts a failure. The fifth in a row opens the circuit, and so does the second timeout or a
 * failed half-open trial. The first timeout deprioritizes the channel.
 */
export function afterFailure(
  health: HealthState,
  seen: FailureInput,
  moment: RandomMoment,
): HealthState {
  const { pause } = health;
  const isTrial = isHalfOpenTrial(health, moment.atStart);
  if (pause !== undefined && pause.state !== 'cooling_down' && !isTrial) return health;
  const failures = health.failures + 1;
  const timeouts = health.timeouts + (seen.isTimeout ? 1 : 0);
  if (isTrial || failures >= failuresToOpen || timeouts >= timeoutsToOpen) {
    return openCircuit(health, seen, moment);
  }
  return demoteAfterTimeout({ ...health, failures, timeouts }, seen.reason, moment);
}

/**
 * Counts a caller that disconnected after a long wait for the first byte as half a timeout,
 * because many callers give up before the gateway does. Each key counts once, so that one
 * caller can't take a channel from the others.
 */
export function afterDisconnect(
  health: HealthState,
  { reason, keyId }: { readonly reason: FailureReason; readonly keyId: string },
  moment: RandomMoment,
): HealthState {
  const { pause, disconnectedKeys } = health;
  if (pause !== undefined || disconnectedKeys.includes(keyId)) return health;
  const timeouts = health.timeouts + 0.5;
  if (timeouts >= timeoutsToOpen) {
    return openCircuit(health, { reason, isTimeout: true, lastResort: false }, moment);
  }
  return demoteAfterTimeout(
    { ...health, timeouts, disconnectedKeys: [...disconnectedKeys, keyId] },
    reason,
    moment,
  );
}

function openCircuit(
  health: HealthState,
  { reason, isTimeout, lastResort }: FailureInput,
  { nowMs, random }: RandomMoment,
): HealthState {
  const circuitOpenings = health.circuitOpenings + 1;
  const spanMs = withJitter(Math.min(openMs * circuitOpenings, maxOpenMs), random);
  const fresh: Pause = {
    state: 'open',
    reason,
    untilMs: nowMs + spanMs,
    spanMs,
    lastResort,
    isRateLimit: false,
    isTimeout,
  };
  const pause = stronger(health.pause, fresh);
  return { ...goodHealth, unnamedCooldowns: health.unnamedCooldowns, circuitOpenings, pause };
}

/** Deprioritizes from the first timeout on. Any later failure postpones the next trial. */
function demoteAfterTimeout(
  health: HealthState,
  reason: FailureReason,
  { nowMs, random }: RandomMoment,
): HealthState {
  if (health.timeouts < timeoutsToDemote) return health;
  const untilMs = nowMs + withJitter(demotionMs, random);
  return { ...health, demotion: { kind: 'timed_out', reason, untilMs, inTrial: false } };
}

function withJitter(spanMs: number, random: () => number): number {
  return Math.round(spanMs * (1 - jitter + 2 * jitter * random()));
}

/** Other channels are preferred until a byte arrives from this one. */
export function afterSlowCalls(
  health: HealthState,
  kind: 'slow' | 'compared',
  { nowMs, random }: Omit<RandomMoment, 'atStart'>,
): HealthState {
  const { demotion } = health;
  if (demotion !== undefined && demotion.kind !== 'compared') return health;
  const untilMs =
    kind === 'slow' ? nowMs + withJitter(demotionMs, random) : Number.POSITIVE_INFINITY;
  return { ...health, demotion: { kind, reason: 'slow', untilMs, inTrial: false } };
}

export function afterComparison(health: HealthState): HealthState {
  return health.demotion?.kind === 'compared' ? { ...health, demotion: undefined } : health;
}

export function afterFirstByte(health: HealthState): HealthState {
  const { demotion } = health;
  return demotion === undefined || demotion.kind === 'timed_out'
    ? health
    : { ...health, demotion: undefined };
}

/** A half-open trial remains one after its reply has begun, until a call has been served. */
function isHalfOpenTrial({ pause, circuitOpenings }: HealthState, atStart: HealthState): boolean {
  if (atStart.pause?.state !== 'half_open') return false;
  return pause === atStart.pause || (pause === undefined && circuitOpenings > 0);
}

/** Starts a cooldown of the length that the upstream named, or else one that doubles each time. */
export function afterCooldown(
  health: HealthState,
  { reason, forMs, lastResort, isRateLimit = false }: CooldownInput,
  { atStart, nowMs }: Moment,
): HealthState {
  const { pause: old } = health;
  const isCoolingDown =
    old?.state === 'cooling_down' && nowMs < old.untilMs && old.lastResort === lastResort;
  // Calls that were running when the cooldown began report the same state again.
  if (forMs === undefined && isCoolingDown && old !== atStart.pause) return health;
  // A call that was let through as a last resort during a cooldown reports nothing new.
  const isSameCooldown = forMs === undefined && isCoolingDown;
  const unnamedMs = isSameCooldown
    ? Math.max(old.untilMs - nowMs, defaultCooldownMs)
    : Math.min(defaultCooldownMs * 2 ** health.unnamedCooldowns, maxDefaultCooldownMs);
  const spanMs = Math.min(Math.max(forMs ?? unnamedMs, minCooldownMs), maxCooldownMs);
  const pause: Pause = {
    state: 'cooling_down',
    reason,
    untilMs: nowMs + spanMs,
    spanMs,
    lastResort,
    isRateLimit,
    isTimeout: false,
  };
  const unnamedCooldowns =
    forMs === undefined && !isSameCooldown ? health.unnamedCooldowns + 1 : health.unnamedCooldowns;
  return { ...health, unnamedCooldowns, pause: stronger(old, pause) };
}

/** A call was served: everything on record when it began is disproved. */
export function afterSuccess({ pause }: HealthState, atStart: HealthState): HealthState {
  return pause === undefined || pause === atStart.pause ? goodHealth : { ...goodHealth, pause };
}

/**
 * A reply has begun. Ends a demotion or a half-open pause that was due to silence; how the reply
 * ends is still open. A cooldown that the upstream asked for lasts until a call has been served.
 */
export function afterReplyBegan(health: HealthState, atStart: HealthState): HealthState {
  const { pause, demotion } = health;
  const isRecovered = pause?.state === 'half_open' && pause === atStart.pause;
  if (!isRecovered && demotion === undefined) return health;
  return { ...health, pause: isRecovered ? undefined : pause, demotion: undefined };
}

/** If it was the trial call, the next call becomes the trial. */
export function afterNeutral(health: HealthState, atStart: HealthState): HealthState {
  const { pause, demotion } = health;
  if (pause?.state === 'half_open' && pause === atStart.pause) {
    return { ...health, pause: { ...pause, state: 'open' } };
  }
  return demotion?.inTrial === true && demotion === atStart.demotion
    ? { ...health, demotion: { ...demotion, inTrial: false } }
    : health;
}

/**
 * A call begins: a cooldown that has ended is forgotten; an open circuit or a demotion that has
 * ended makes this call its trial.
 */
export function atCallStart(health: HealthState, nowMs: number): HealthState {
  const { pause, demotion } = health;
  if (pause !== undefined) {
    if (pause.state === 'half_open' || nowMs < pause.untilMs) return health;
    const isOver = pause.state === 'cooling_down';
    return { ...health, pause: isOver ? undefined : { ...pause, state: 'half_open' } };
  }
  if (demotion === undefined || demotion.inTrial || nowMs < demotion.untilMs) return health;
  return { ...health, demotion: { ...demotion, inTrial: true } };
}

export function currentPause({ pause }: HealthState, nowMs: number): Pause | undefined {
  if (pause === undefined || pause.state === 'half_open') return pause;
  return nowMs < pause.untilMs ? pause : undefined;
}

/**
 * Whether a call uses this channel only when no other can take it. An image call can't be repeated,
 * so it is no trial while others can serve it: not until text calls have had as much time again to
 * be the trial, or an hour if the trial may hang.
 */
export function isDeprioritized(
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
    demotion.inTrial || nowMs < demotion.untilMs + (isBoughtOnce || hasTried ? imageTrialMs : 0)
  );
}

/** Of two pauses the stricter one, with the later end of both. */
function stronger(old: Pause | undefined, fresh: Pause): Pause {
  if (old === undefined || old.state === 'half_open') return fresh;
  const isLonger = old.untilMs > fresh.untilMs;
  if (old.lastResort === fresh.lastResort) return isLonger ? old : fresh;
  const stricter = old.lastResort ? fresh : old;
  return { ...stricter, untilMs: Math.max(old.untilMs, fresh.untilMs) };
}
