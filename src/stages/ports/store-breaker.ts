/**
 * A circuit breaker for the stores that a call must ask before it is sent upstream. While a store
 * is known to hang, calls are refused immediately and not after the whole of `storeTimeoutMs`.
 *
 * Only waiting opens the circuit. A store that fails fast, or refuses one call for its content,
 * costs nobody time and is asked each time.
 */
import type { Clock } from '../../clock.ts';

export interface StoreBreaker {
  /** While the circuit is open, one call at a time may ask the store: the half-open trial. */
  admits(): boolean;
  /** Closes the circuit: the store has answered, whatever its answer. */
  answered(): void;
  failed(waitedMs: number, timeoutMs: number): void;
}

export interface StoreBreakers {
  /** Operations that must not be refused, such as the ends of holds, have none. */
  readonly byOperation: ReadonlyMap<string, StoreBreaker>;
  /** Closes all circuits: the host may have replaced its stores. */
  reset(): void;
}

/** This many failures in a row, each after at least half of the timeout, open the circuit. */
const failuresToOpen = 3;
/** The pause between trials: the caller of each waits for the whole timeout. */
const trialPauseMs = 250;

/** What a call must ask of the quota store, the rate limiter and the claims before it is sent. */
const protectedOperations = ['reserve', 'take', 'claim'];

export function storeBreakers(clock: Clock): StoreBreakers {
  const byOperation = new Map<string, StoreBreaker>();
  const reset = (): void => {
    for (const operation of protectedOperations) byOperation.set(operation, storeBreaker(clock));
  };
  reset();
  return { byOperation, reset };
}

export function storeBreaker(clock: Clock): StoreBreaker {
  let failures = 0;
  let isTrialRunning = false;
  let trialDueMs = 0;
  return {
    admits: () => {
      if (failures < failuresToOpen) return true;
      if (isTrialRunning || clock.monotonicMs() < trialDueMs) return false;
      isTrialRunning = true;
      return true;
    },
    answered: () => {
      failures = 0;
      isTrialRunning = false;
    },
    failed: (waitedMs, timeoutMs) => {
      const hung = waitedMs * 2 >= timeoutMs;
      failures = hung ? failures + 1 : 0;
      isTrialRunning = false;
      trialDueMs = clock.monotonicMs() + trialPauseMs;
    },
  };
}
