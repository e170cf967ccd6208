/**
 * The connection of a call's caller, and how its upstream requests are aborted. An abort applies to
 * the upstream request that is running and to every later one. The first reason counts.
 */
import { UpstreamError } from '../../errors.ts';
import { swallowErrors } from '../../events/thrown.ts';

export class CallerConnection {
  isDisconnected = false;
  #isDetached = false;
  #aborted: UpstreamError | undefined;
  #abortUpstream: (reason: Error) => void = nothing;

  /** Marks the caller as disconnected, and aborts the call unless it was detached. */
  markDisconnected(): void {
    this.isDisconnected = true;
    if (!this.#isDetached) this.abort(new UpstreamError('sent', 'caller_left'));
  }

  /** From now on the call continues if the caller disconnects. */
  detach(): void {
    this.#isDetached = true;
  }

  /** Called back immediately if the call was aborted before. */
  onAbort(abort: (reason: Error) => void): void {
    this.#abortUpstream = abort;
    const reason = this.#aborted;
    if (reason !== undefined) swallowErrors(() => abort(reason));
  }

  /** Aborts the call. The first reason counts. */
  abort(reason: UpstreamError): void {
    this.#aborted ??= reason;
    const first = this.#aborted;
    swallowErrors(() => this.#abortUpstream(first));
  }

  /** The call continues: its next attempt is not aborted. */
  endAttempt(reason: UpstreamError): void {
    this.#abortUpstream(reason);
  }
}

function nothing(): void {}
