/** The health of an upstream account in the words of events, reports and the admin interface. */
import type { FailureReason } from '../failure-reasons.ts';

/**
 * All states, from the worst. A channel that an operator has disabled is `off` whatever else is
 * wrong with it: nobody has to repair it.
 */
export const healthStates = [
  'off',
  'refused',
  'open',
  'half_open',
  'cooling_down',
  'deprioritized',
  'ready',
] as const;

/** The worst of these states; `ready` if there is none. */
export function worstState(states: readonly HealthStatus['state'][]): HealthStatus['state'] {
  return healthStates.find((state) => states.includes(state)) ?? 'ready';
}

/** The health of an upstream account, or of a model on it. */
export interface HealthStatus {
  /**
   * `cooling_down`: after a 429, a 503, a 403, or because the account is exhausted.
   * `deprioritized`: it did not answer in time, or keeps three calls waiting while another channel
   * answers, so that others are chosen first. `open`: its circuit is open, after five failures or
   * two timeouts in a row; `half_open`: one call finds out whether it is back. `refused`: its
   * credential was not accepted. `off`: the host or an operator disabled it.
   */
  readonly state: (typeof healthStates)[number];
  /** The failure that led to it; undefined for `ready` and `off`. */
  readonly reason: FailureReason | undefined;
  /**
   * Unix ms at which it is available again or gets a trial call; undefined if that does not depend
   * on time.
   */
  readonly untilMs: number | undefined;
}
