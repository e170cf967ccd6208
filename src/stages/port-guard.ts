/**
 * Asks a port of the host: with a deadline, and with every failure turned into one that fails
 * closed. A host's store may throw, hang, or not be there; none of it may look like a caller's
 * mistake.
 */
import type { Clock } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import type { EventListener, PortName } from '../events.ts';
import {
  type CallOptions,
  type MaybePromise,
  StoreCorrupt,
  StoreUnavailable,
} from '../ports/call-options.ts';

export interface PortGuard {
  /**
   * The port's answer.
   *
   * @throws GatewayError `store_unavailable` when the port throws or takes too long
   */
  ask<T>(
    port: PortName,
    operation: string,
    question: (options: CallOptions) => MaybePromise<T>,
  ): MaybePromise<T>;
  /** The failure for an answer that the port's contract does not allow. */
  corrupt(port: PortName, operation: string): GatewayError;
}

/** One guard a request, so that events carry its id. */
export function portGuard(
  requestId: string | undefined,
  settings: { readonly clock: Clock; readonly storeTimeoutMs: number },
  emit: EventListener,
): PortGuard {
  const failed = (port: PortName, operation: string, error: unknown): GatewayError => {
    const reason = error instanceof Error ? error.name : 'thrown';
    emit({ type: 'port_failed', requestId, port, operation, reason });
    return new GatewayError(
      'store_unavailable',
      'The gateway could not check this call just now. Try again shortly.',
      { reason: `${port}_unavailable`, retryAfterMs: 1_000, cause: error },
    );
  };
  return {
    corrupt: (port, operation) => failed(port, operation, new StoreCorrupt('not in its contract')),
    ask: (port, operation, question) => {
      const timeoutMs = settings.storeTimeoutMs;
      try {
        const answer = question({ timeoutMs });
        // A memory store answers at once: no promise, no timer.
        if (!isPromiseLike(answer)) return answer;
        return within(Promise.resolve(answer), timeoutMs, settings.clock).catch(
          (error: unknown) => {
            throw failed(port, operation, error);
          },
        );
      } catch (error) {
        throw failed(port, operation, error);
      }
    },
  };
}

/** Any thenable: a host's store may come with promises of its own. */
function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}

/** The promise's own outcome, or StoreUnavailable once the time is up. */
function within<T>(promise: Promise<T>, timeoutMs: number, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = clock.every(timeoutMs, () => {
      stop();
      reject(new StoreUnavailable(`no answer within ${timeoutMs} ms`));
    });
    promise.then(resolve, reject).finally(stop);
  });
}
