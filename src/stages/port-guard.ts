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
} from '../ports/call-options.ts';
import { within } from '../ports/within.ts';
import type { AnswerCheck } from './port-answers.ts';

/** Asks ports on behalf of one request, whose id its events carry. */
export interface PortGuard {
  /**
   * The port's answer; directly where the port answers directly.
   *
   * @throws GatewayError `store_unavailable` when the port throws, takes too long, or answers what
   *   `isAnswer` does not allow
   */
  ask<T>(
    port: PortName,
    operation: string,
    isAnswer: AnswerCheck,
    question: (options: CallOptions) => MaybePromise<T>,
  ): MaybePromise<T>;
}

/** One guard a request; none is named for what the gateway does by itself. */
export function portGuard(
  requestId: string | undefined,
  settings: { readonly clock: Clock; readonly storeTimeoutMs: number },
  emit: EventListener,
): PortGuard {
  return {
    ask: (port, operation, isAnswer, question) => {
      const timeoutMs = settings.storeTimeoutMs;
      try {
        const answer = question({ timeoutMs });
        // A memory store answers at once: no promise, no timer.
        if (!isPromiseLike(answer)) return checked(answer, isAnswer);
        return within(Promise.resolve(answer), timeoutMs, settings.clock)
          .then((late) => checked(late, isAnswer))
          .catch((error: unknown) => {
            emit({ type: 'port_failed', requestId, port, operation, reason: errorName(error) });
            throw unavailable(port, error);
          });
      } catch (error) {
        emit({ type: 'port_failed', requestId, port, operation, reason: errorName(error) });
        throw unavailable(port, error);
      }
    },
  };
}

function checked<T>(answer: T, isAnswer: AnswerCheck): T {
  if (!isAnswer(answer)) throw new StoreCorrupt('not in its contract');
  return answer;
}

function unavailable(port: PortName, cause: unknown): GatewayError {
  return new GatewayError(
    'store_unavailable',
    'The gateway could not check this call just now. Try again shortly.',
    { reason: `${port}_unavailable`, retryAfterMs: 1_000, cause },
  );
}
