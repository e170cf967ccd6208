/**
 * The connection of a call's caller, and how its upstream requests are aborted. An abort applies to
 * the upstream request that is running and to every later one. The first reason counts.
 */
import { UpstreamError } from '../../errors.ts';
import { swallowErrors } from '../../thrown.ts';

export interface CallerConnection {
  readonly isDisconnected: boolean;
  /** Marks the caller as disconnected, and aborts the call unless it was detached. */
  markDisconnected(): void;
  /** From now on the call continues if the caller disconnects. */
  detach(): void;
  /** Called back immediately if the call was aborted before. */
  onAbort(abort: (reason: Error) => void): void;
  /** Aborts the call. The first reason counts. */
  abort(reason: UpstreamError): void;
  /** The call continues: its next attempt is not aborted. */
  endAttempt(reason: UpstreamError): void;
}

export function callerConnection(): CallerConnection {
  let isDetached = false;
  let aborted: UpstreamError | undefined;
  let abortUpstream: (reason: Error) => void = nothing;

  const abort = (reason: UpstreamError): void => {
    aborted ??= reason;
    const first = aborted;
    swallowErrors(() => abortUpstream(first));
  };

  const caller = {
    isDisconnected: false,
    markDisconnected: () => {
      caller.isDisconnected = true;
      if (!isDetached) abort(new UpstreamError('sent', 'caller_left'));
    },
    detach: () => {
      isDetached = true;
    },
    onAbort: (end: (reason: Error) => void) => {
      abortUpstream = end;
      const reason = aborted;
      if (reason !== undefined) swallowErrors(() => end(reason));
    },
    abort,
    endAttempt: (reason: UpstreamError) => abortUpstream(reason),
  };
  return caller;
}

function nothing(): void {}
