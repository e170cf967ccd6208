/** Whether a call may go through a channel just now, by what stands against its account. */
import type { Clock } from '../clock.ts';
import type { Channel } from '../ports/catalog.ts';
import { type Account, standingOf } from './accounts.ts';
import type { Availability } from './choose.ts';
import { isLast, type Pause, pauseFor } from './health-state.ts';

/** What decides whether a call may be a probe. */
export interface CallKind {
  /** An image is bought with its request: it tries nothing out. */
  readonly isBoughtOnce: boolean;
  /** It has failed elsewhere: its caller has waited enough to try nothing out. */
  readonly hasTried?: boolean;
}

/** Nothing stands against it. */
export const open: Availability = { kind: 'open' };
const last: Availability = { kind: 'last' };
const busy: Availability = { kind: 'out', reason: 'busy', untilMs: undefined, yields: false };

function outBy(
  { state, reason, untilMs, yields, isRateLimit }: Pause,
  isInUse: boolean,
): Availability {
  return {
    kind: 'out',
    reason,
    untilMs,
    // While a call finds out, nobody else goes there.
    yields: yields && state !== 'half_open',
    isInUse,
    isRateLimit,
    isEjected: state !== 'cooling_down',
  };
}

/** What a look at an account takes. */
export interface AvailabilityInput {
  readonly clock: Clock;
  /** The pauses of last channels that a call is using. */
  readonly inUse: { has(pause: Pause): boolean };
}

/** What a call of this model, by its upstream's name for it, meets there. */
export function availabilityOf(
  account: Account,
  { credential, maxConcurrentCalls }: Channel,
  upstreamModel: string,
  call: CallKind,
  { clock, inUse }: AvailabilityInput,
): Availability {
  const { isOff, refused, inFlight, standings } = account;
  if (isOff) return { kind: 'out', reason: 'switched_off', untilMs: undefined, yields: false };
  if (refused !== undefined && refused.credential === credential) {
    return { kind: 'out', reason: refused.reason, untilMs: undefined, yields: false };
  }
  if (maxConcurrentCalls !== undefined && inFlight >= maxConcurrentCalls) return busy;
  if (standings === undefined) return open;
  const nowMs = clock.monotonicMs();
  const ofAccount = standingOf(account, undefined);
  const ofModel = standingOf(account, upstreamModel);
  const pause = longer(pauseFor(ofAccount, nowMs), pauseFor(ofModel, nowMs));
  if (pause !== undefined) return outBy(pause, inUse.has(pause));
  return isLast(ofAccount, nowMs, call) || isLast(ofModel, nowMs, call) ? last : open;
}

/** The pause that a call has to wait for; one that yields to nobody stands before one that does. */
function longer(a: Pause | undefined, b: Pause | undefined): Pause | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.yields !== b.yields) return a.yields ? b : a;
  return a.untilMs > b.untilMs ? a : b;
}
