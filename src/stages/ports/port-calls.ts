/**
 * Calls the host's ports with a deadline, checks their answers, and turns every failure into an
 * error that fails closed. A host's store may throw, hang or be down; none of that may look like a
 * mistake of the caller. While a store that a call must ask is known to hang, calls are refused
 * immediately and not after the whole of `storeTimeoutMs`.
 */
import type { Clock } from '../../clock.ts';
import { errorClass, GatewayError } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import { failedPort } from '../../events/thrown.ts';
import {
  type CallOptions,
  isPromiseLike,
  type MaybePromise,
  StoreCorrupt,
  StoreUnavailable,
} from '../../ports/call-options.ts';
import type { PortName } from '../../ports/port-failure.ts';
import { within } from '../../ports/within.ts';
import { safeError } from '../upstream/shown-error.ts';
import type { AnswerCheck, WrongMember } from './port-answers.ts';
import type { PortTimer } from './port-times.ts';

type PortDeadline = Required<Pick<CallOptions, 'timeoutMs'>>;

export interface PortCalls {
  /**
   * Returns the port's answer. The port is called synchronously, in this turn of the event loop,
   * and an answer that it gives directly is returned directly.
   *
   * @throws GatewayError `store_unavailable` if the port throws, takes too long, gives an answer
   *   that `isAnswer` rejects, or is not called because its circuit is open
   */
  ask<T>(
    port: PortName,
    operation: string,
    isAnswer: AnswerCheck,
    request: (options: PortDeadline) => MaybePromise<T>,
  ): MaybePromise<T>;
}

/** Goes on with an answer as soon as it is known, and without a promise if that is now. */
export function whenKnown<T, R>(
  answer: MaybePromise<T>,
  next: (answer: T) => MaybePromise<R>,
): MaybePromise<R> {
  // As `isPending`: a call less, because every stage is here.
  return answer instanceof Promise || answer instanceof OriginalPromise
    ? answer.then(next)
    : next(answer);
}

/**
 * Whether an answer is not known yet. By its prototype, because to look for `then` in answers of
 * many shapes is slow; the promises of async functions are no instances of a `Promise` that the
 * host has replaced, as zone.js does.
 */
export function isPending<T>(answer: MaybePromise<T>): answer is Promise<T> {
  return answer instanceof Promise || answer instanceof OriginalPromise;
}

const OriginalPromise: PromiseConstructor = Object.getPrototypeOf((async () => {})()).constructor;

export interface PortUser {
  /** Undefined for background work. */
  readonly requestId: string | undefined;
  /** What its errors may not quote. */
  readonly secrets?: () => readonly string[];
}

export function portCalls(
  user: PortUser,
  settings: PortSettings,
  emit: EventListener,
  breakers?: StoreBreakers,
  times?: PortTimer,
): PortCalls {
  return new Ports(user, settings, emit, breakers, times);
}

interface PortSettings {
  readonly clock: Clock;
  readonly storeTimeoutMs: number;
}

class Ports implements PortCalls {
  readonly #user: PortUser;
  readonly #settings: PortSettings;
  readonly #emit: EventListener;
  readonly #breakers: StoreBreakers | undefined;
  readonly #times: PortTimer | undefined;

  constructor(
    user: PortUser,
    settings: PortSettings,
    emit: EventListener,
    breakers: StoreBreakers | undefined,
    times: PortTimer | undefined,
  ) {
    this.#user = user;
    this.#settings = settings;
    this.#emit = emit;
    this.#breakers = breakers;
    this.#times = times;
  }

  ask<T>(
    port: PortName,
    operation: string,
    isAnswer: AnswerCheck,
    request: (options: PortDeadline) => MaybePromise<T>,
  ): MaybePromise<T> {
    const { clock, storeTimeoutMs: timeoutMs } = this.#settings;
    const breaker = this.#breakers?.byOperation.get(operation);
    if (breaker?.admits() === false) {
      const { requestId } = this.#user;
      this.#emit(failedPort({ requestId, port, operation }, 'circuit_open', undefined));
      throw unavailable(port, circuitOpen());
    }
    const startedMs = breaker === undefined ? 0 : clock.monotonicMs();
    const portCall = { port, operation, isAnswer, breaker, startedMs };
    let answer: MaybePromise<T>;
    try {
      answer = request({ timeoutMs });
    } catch (error) {
      throw this.#failure(error, portCall);
    }
    // An immediate answer, such as that of a memory store, needs no timer.
    return isPromiseLike(answer)
      ? this.#pending(answer, portCall)
      : this.#accepted(answer, portCall);
  }

  /** Measures how long the answer takes. Measuring immediate answers would cost more CPU. */
  async #pending<T>(pending: PromiseLike<T>, portCall: PortCall): Promise<T> {
    const { port, operation } = portCall;
    const { clock, storeTimeoutMs } = this.#settings;
    const startedMs = clock.monotonicMs();
    let answer: T;
    try {
      answer = await within(Promise.resolve(pending), storeTimeoutMs, clock);
    } catch (error) {
      this.#times?.record(port, operation, clock.monotonicMs() - startedMs, true);
      throw this.#failure(error, portCall);
    }
    this.#times?.record(port, operation, clock.monotonicMs() - startedMs, false);
    return this.#accepted(answer, portCall);
  }

  #accepted<T>(answer: T, portCall: PortCall): T {
    const { isAnswer, breaker } = portCall;
    let wrong: Partial<WrongMember>;
    try {
      if (isAnswer(answer)) {
        breaker?.answered();
        return answer;
      }
      wrong = isAnswer.wrongMember?.(answer) ?? {};
    } catch (error) {
      throw this.#failure(error, portCall);
    }
    const corrupt = new StoreCorrupt('the answer violates the contract of the port');
    throw this.#failure(corrupt, portCall, wrong);
  }

  #failure(
    error: unknown,
    { port, operation, breaker, startedMs }: PortCall,
    wrong?: Partial<WrongMember>,
  ): GatewayError {
    const { requestId, secrets = noSecrets } = this.#user;
    const { clock, storeTimeoutMs } = this.#settings;
    breaker?.failed(clock.monotonicMs() - startedMs, storeTimeoutMs);
    // A wrong answer was not thrown by the port.
    const thrown = wrong === undefined ? safeError(error, secrets()) : undefined;
    const failed = failedPort({ requestId, port, operation, ...wrong }, errorClass(error), thrown);
    this.#emit(failed);
    return unavailable(port, error);
  }
}

/** A call of a port. */
interface PortCall {
  readonly port: PortName;
  readonly operation: string;
  readonly isAnswer: AnswerCheck;
  readonly breaker: StoreBreaker | undefined;
  readonly startedMs: number;
}

const noSecrets = (): readonly string[] => [];

function circuitOpen(): StoreUnavailable {
  const why = 'not asked, because the store has not answered for some time';
  return new StoreUnavailable(why, { outcome: 'not_done' });
}

function unavailable(port: PortName, cause: unknown): GatewayError {
  return new GatewayError(
    'store_unavailable',
    'The gateway could not check this call just now. Try again shortly.',
    { reason: `${port}_unavailable`, retryAfterMs: 1_000, cause },
  );
}

interface StoreBreaker {
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
