/**
 * The running calls, from `call_started` to `call_ended`, by the id of their hold: callers may
 * choose the request id, so two calls may have the same.
 */
import type { CallSpans } from './call-spans.ts';

export interface OpenCall {
  readonly operation: string;
  /** The model that the caller requested. */
  readonly modelId: string;
  /** Undefined until the first attempt, and where the channel's dialect is unknown. */
  provider: string | undefined;
  firstByteMs: number | undefined;
  /** Undefined if the call is not sampled. */
  readonly spans: CallSpans | undefined;
}

export interface OpenCalls {
  add(reservationId: string, call: OpenCall): void;
  of(reservationId: string): OpenCall | undefined;
  take(reservationId: string): OpenCall | undefined;
  clear(): void;
}

/**
 * The most calls that a process can run. Above it the oldest is dropped, whose end a bug has lost.
 */
const maxCalls = 65_535;

export function openCalls(): OpenCalls {
  const calls = new Map<string, OpenCall>();
  return {
    add: (reservationId, call) => {
      calls.set(reservationId, call);
      if (calls.size <= maxCalls) return;
      for (const oldest of calls.keys()) {
        calls.delete(oldest);
        return;
      }
    },
    of: (reservationId) => calls.get(reservationId),
    take: (reservationId) => {
      const call = calls.get(reservationId);
      calls.delete(reservationId);
      return call;
    },
    clear: () => calls.clear(),
  };
}
