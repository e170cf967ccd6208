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

/**
 * The most calls that a process can run. Above it the oldest is dropped, whose end a bug has lost.
 */
const maxCalls = 65_535;

export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>();

  add(reservationId: string, call: OpenCall): void {
    this.#calls.set(reservationId, call);
    const [oldest] = this.#calls.size > maxCalls ? this.#calls.keys() : [];
    if (oldest !== undefined) this.#calls.delete(oldest);
  }

  of(reservationId: string): OpenCall | undefined {
    return this.#calls.get(reservationId);
  }

  take(reservationId: string): OpenCall | undefined {
    const call = this.#calls.get(reservationId);
    this.#calls.delete(reservationId);
    return call;
  }

  clear(): void {
    this.#calls.clear();
  }
}
