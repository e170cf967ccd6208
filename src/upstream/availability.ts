/** Decides whether a channel can take a call now, from the health of its account and model. */
import type { Clock } from '../clock.ts';
import type { Channel } from '../ports/catalog.ts';
import { type Account, healthOf } from './accounts.ts';
import type { Availability } from './choose.ts';
import { currentPause, isDeprioritized, type Pause } from './health-state.ts';

export interface CallKind {
  /** An image call is billed when it is sent, so it is no trial. */
  readonly isBoughtOnce: boolean;
  /** The call has failed elsewhere: its caller has waited enough, so it is no trial. */
  readonly hasTried?: boolean;
}

export const available: Availability = { kind: 'available' };
const deprioritized: Availability = { kind: 'deprioritized' };
const busy: Availability = {
  kind: 'unavailable',
  reason: 'busy',
  untilMs: undefined,
  lastResort: false,
};

function pausedBy(
  { state, reason, untilMs, lastResort, isRateLimit }: Pause,
  isInUse: boolean,
): Availability {
  return {
    kind: 'unavailable',
    reason,
    untilMs,
    // While the trial call is running, no other call is let through.
    lastResort: lastResort && state !== 'half_open',
    isInUse,
    isRateLimit,
    isCircuitOpen: state !== 'cooling_down',
  };
}

export const switchedOffChannel: Availability = {
  kind: 'unavailable',
  reason: 'switched_off',
  untilMs: undefined,
  lastResort: false,
};

export function availabilityOf(
  account: Account,
  { credential, maxConcurrentCalls }: Channel,
  upstreamModel: string,
  call: CallKind,
  {
    clock,
    lastResortInUse,
  }: { readonly clock: Clock; readonly lastResortInUse: { has(pause: Pause): boolean } },
): Availability {
  const { isOff, refused, inFlight, health } = account;
  if (isOff) return switchedOffChannel;
  if (refused !== undefined && refused.credential === credential) {
    return { kind: 'unavailable', reason: refused.reason, untilMs: undefined, lastResort: false };
  }
  if (maxConcurrentCalls !== undefined && inFlight >= maxConcurrentCalls) return busy;
  if (health === undefined) return available;
  const nowMs = clock.monotonicMs();
  const ofAccount = healthOf(account, undefined);
  const ofModel = healthOf(account, upstreamModel);
  const pause = stricter(currentPause(ofAccount, nowMs), currentPause(ofModel, nowMs));
  if (pause !== undefined) return pausedBy(pause, lastResortInUse.has(pause));
  return isDeprioritized(ofAccount, nowMs, call) || isDeprioritized(ofModel, nowMs, call)
    ? deprioritized
    : available;
}

/** One that excludes last-resort calls comes before one that allows them, then the longer. */
function stricter(a: Pause | undefined, b: Pause | undefined): Pause | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.lastResort !== b.lastResort) return a.lastResort ? b : a;
  return a.untilMs > b.untilMs ? a : b;
}
