/**
 * A circuit breaker before the stores that a call must ask before anything goes upstream: while one
 * is known to hang, calls are refused at once instead of each after the whole of `storeTimeoutMs`.
 *
 * Only waiting opens it. A store that fails fast, or refuses one call for what is in it, costs
 * nobody any time and is asked each time.
 */
import type { Clock } from '../clock.ts';
import type { PortName } from '../events.ts';

/** The breaker of one port. */
export interface StoreBreaker {
  /** Whether the store may be asked now. While it is open one call at a time may: the probe. */
  admits(): boolean;
  /** The store has answered, whatever it said: closes the circuit. */
  answered(): void;
  /** It failed after this wait. */
  failed(waitedMs: number, timeoutMs: number): void;
}

/** The breakers of a gateway. */
export interface StoreBreakers {
  /** None for what may not be refused, such as the ends of holds. */
  of(port: PortName, operation: string): StoreBreaker | undefined;
  /** Closes them all: the host may have swapped its stores. */
  reset(): void;
}

/** So many failures in a row, each after half of the timeout or more, open the circuit. */
const failuresToOpen = 3;
/** How long after a failed probe the next one may go: a file that is locked blocks the process. */
const betweenProbesMs = 250;

/** Closed breakers, for the three questions that stand before a call. */
export function storeBreakers(clock: Clock): StoreBreakers {
  let [quota, rateLimiter, idempotency] = closedBreakers(clock);
  return {
    of: (_port, operation) => {
      switch (operation) {
        case 'reserve':
          return quota;
        case 'consume':
          return rateLimiter;
        case 'claim':
          return idempotency;
        default:
          return undefined;
      }
    },
    reset: () => {
      [quota, rateLimiter, idempotency] = closedBreakers(clock);
    },
  };
}

function closedBreakers(clock: Clock): readonly [StoreBreaker, StoreBreaker, StoreBreaker] {
  return [storeBreaker(clock), storeBreaker(clock), storeBreaker(clock)];
}

/** One breaker, closed. */
export function storeBreaker(clock: Clock): StoreBreaker {
  let failures = 0;
  let isProbing = false;
  let probeDueMs = 0;
  return {
    admits: () => {
      if (failures < failuresToOpen) return true;
      if (isProbing || clock.monotonicMs() < probeDueMs) return false;
      isProbing = true;
      return true;
    },
    answered: () => {
      failures = 0;
      isProbing = false;
    },
    failed: (waitedMs, timeoutMs) => {
      const hung = waitedMs * 2 >= timeoutMs;
      failures = hung ? failures + 1 : 0;
      isProbing = false;
      probeDueMs = clock.monotonicMs() + betweenProbesMs;
    },
  };
}
