/**
 * Calls the host's ports with a deadline, checks their answers, and turns every failure into an
 * error that fails closed. A host's store may throw, hang or be down; none of that may look like a
 * mistake of the caller.
 */
import type { Clock } from '../../clock.ts';
import { errorClass, GatewayError } from '../../errors.ts';
import type { EventListener } from '../../events.ts';
import {
  type CallOptions,
  isPromiseLike,
  type MaybePromise,
  StoreCorrupt,
  StoreUnavailable,
} from '../../ports/call-options.ts';
import type { PortName } from '../../ports/port-names.ts';
import { within } from '../../ports/within.ts';
import { failedPort } from '../../thrown.ts';
import { safeError } from '../upstream/shown-error.ts';
import type { AnswerCheck, WrongMember } from './port-answers.ts';
import type { PortTimer } from './port-times.ts';
import type { StoreBreakers } from './store-breaker.ts';

type PortDeadline = Required<Pick<CallOptions, 'timeoutMs'>>;

export interface PortCalls {
  /**
   * Returns the port's answer. The port is called synchronously, in this turn of the event loop.
   *
   * @throws GatewayError `store_unavailable` if the port throws, takes too long, gives an answer
   *   that `isAnswer` rejects, or is not called because its circuit is open
   */
  ask<T>(
    port: PortName,
    operation: string,
    isAnswer: AnswerCheck,
    request: (options: PortDeadline) => MaybePromise<T>,
  ): Promise<T>;
}

export interface PortUser {
  /** Undefined for background work. */
  readonly requestId: string | undefined;
  /** What its errors may not quote. */
  readonly secrets?: () => readonly string[];
}

export function portCalls(
  { requestId, secrets = noSecrets }: PortUser,
  settings: { readonly clock: Clock; readonly storeTimeoutMs: number },
  emit: EventListener,
  breakers?: StoreBreakers,
  times?: PortTimer,
): PortCalls {
  return {
    ask: async (port, operation, isAnswer, request) => {
      const { clock, storeTimeoutMs: timeoutMs } = settings;
      const breaker = breakers?.byOperation.get(operation);
      if (breaker?.admits() === false) {
        emit(failedPort({ requestId, port, operation }, 'circuit_open', undefined));
        throw unavailable(port, circuitOpen());
      }
      const startedMs = breaker === undefined ? 0 : clock.monotonicMs();
      let wrong: Partial<WrongMember> | undefined;
      try {
        const pendingAnswer = request({ timeoutMs });
        // An immediate answer, such as that of a memory store, needs no timer.
        const answer = isPromiseLike(pendingAnswer)
          ? await timed({ port, operation, clock, times, timeoutMs }, pendingAnswer)
          : pendingAnswer;
        if (!isAnswer(answer)) {
          wrong = isAnswer.wrongMember?.(answer) ?? {};
          throw new StoreCorrupt('the answer violates the contract of the port');
        }
        breaker?.answered();
        return answer;
      } catch (error) {
        breaker?.failed(clock.monotonicMs() - startedMs, timeoutMs);
        // A wrong answer was not thrown by the port.
        const thrown = wrong === undefined ? safeError(error, secrets()) : undefined;
        emit(failedPort({ requestId, port, operation, ...wrong }, errorClass(error), thrown));
        throw unavailable(port, error);
      }
    },
  };
}

const noSecrets = (): readonly string[] => [];

interface TimedCall {
  readonly port: PortName;
  readonly operation: string;
  readonly clock: Clock;
  readonly times: PortTimer | undefined;
  readonly timeoutMs: number;
}

/** Measures how long a pending answer takes. Measuring immediate answers would cost more CPU. */
async function timed<T>(
  { port, operation, clock, times, timeoutMs }: TimedCall,
  pending: PromiseLike<T>,
): Promise<T> {
  const answer = within(Promise.resolve(pending), timeoutMs, clock);
  if (times === undefined) return answer;
  const startedMs = clock.monotonicMs();
  let failed = true;
  try {
    const value = await answer;
    failed = false;
    return value;
  } finally {
    times.record(port, operation, clock.monotonicMs() - startedMs, failed);
  }
}

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
