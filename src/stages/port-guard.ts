/**
 * Asks a port of the host: with a deadline, with a check of the answer, and with every failure
 * turned into one that fails closed. A host's store may throw, hang, or not be there; none of it
 * may look like a caller's mistake.
 */
import type { Clock } from '../clock.ts';
import { errorName, GatewayError } from '../errors.ts';
import type { EventListener, PortName } from '../events.ts';
import {
  type CallOptions,
  isPromiseLike,
  type MaybePromise,
  StoreCorrupt,
  StoreUnavailable,
} from '../ports/call-options.ts';
import { within } from '../ports/within.ts';
import type { AnswerCheck } from './port-answers.ts';
import type { StoreBreakers } from './store-breaker.ts';

/** Asks ports on behalf of one request, whose id its events carry. */
export interface PortGuard {
  /**
   * The port's answer. The port is asked at once, in this turn of the event loop.
   *
   * @throws GatewayError `store_unavailable` when the port throws, takes too long, answers what
   *   `isAnswer` does not allow, or is not asked because its circuit is open
   */
  ask<T>(
    port: PortName,
    operation: string,
    isAnswer: AnswerCheck,
    question: (options: CallOptions) => MaybePromise<T>,
  ): Promise<T>;
}

/** One guard a request; none is named for what the gateway does by itself. */
export function portGuard(
  requestId: string | undefined,
  settings: { readonly clock: Clock; readonly storeTimeoutMs: number },
  emit: EventListener,
  breakers?: StoreBreakers,
): PortGuard {
  const failure = (port: PortName, operation: string, error: unknown): GatewayError => {
    emit({ type: 'port_failed', requestId, port, operation, reason: errorName(error) });
    return unavailable(port, error);
  };
  const notAsked = (port: PortName, operation: string): GatewayError => {
    emit({ type: 'port_failed', requestId, port, operation, reason: 'circuit_open' });
    const why = 'not asked: the store has not answered for some time';
    return unavailable(port, new StoreUnavailable(why, { outcome: 'not_done' }));
  };
  return {
    ask: async (port, operation, isAnswer, question) => {
      const { clock, storeTimeoutMs: timeoutMs } = settings;
      const breaker = breakers?.of(port, operation);
      if (breaker?.admits() === false) throw notAsked(port, operation);
      const startedMs = breaker === undefined ? 0 : clock.monotonicMs();
      const fail = (error: unknown): GatewayError => {
        breaker?.failed(clock.monotonicMs() - startedMs, timeoutMs);
        return failure(port, operation, error);
      };
      try {
        const asked = question({ timeoutMs });
        // A memory store answers at once, and needs no timer.
        const answer = isPromiseLike(asked)
          ? await within(Promise.resolve(asked), timeoutMs, clock)
          : asked;
        if (!isAnswer(answer)) throw new StoreCorrupt('not in its contract');
        breaker?.answered();
        return answer;
      } catch (error) {
        throw fail(error);
      }
    },
  };
}

function unavailable(port: PortName, cause: unknown): GatewayError {
  return new GatewayError(
    'store_unavailable',
    'The gateway could not check this call just now. Try again shortly.',
    { reason: `${port}_unavailable`, retryAfterMs: 1_000, cause },
  );
}
