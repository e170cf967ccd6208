/**
 * Whoever waits for a call: a caller that may leave, and what then has to end. Ends what runs for a
 * call at the first reason there is, now and whatever begins later.
 */
import { UpstreamError } from '../errors.ts';
import { swallowErrors } from '../events.ts';

/** The caller of one call, and what runs upstream for it. */
export interface Disconnect {
  /** The caller has gone. */
  readonly hasLeft: boolean;
  /** Notes that the caller has gone, and aborts what runs for it unless that must run on. */
  leave(): void;
  /** From now on the caller's going no longer ends the upstream call. */
  detach(): void;
  /** How to end what runs upstream just now; done at once where the call was aborted before. */
  onAbort(abort: (reason: Error) => void): void;
  /** Ends the call. The first reason counts. */
  abort(reason: UpstreamError): void;
  /** Ends what runs upstream just now, and not the call: the next try is not aborted. */
  endTry(reason: UpstreamError): void;
}

/** A caller who is there. */
export function disconnect(): Disconnect {
  let isDetached = false;
  let aborted: UpstreamError | undefined;
  let abortUpstream: (reason: Error) => void = nothing;

  const abort = (reason: UpstreamError): void => {
    aborted ??= reason;
    const first = aborted;
    swallowErrors(() => abortUpstream(first));
  };

  const caller = {
    hasLeft: false,
    leave: () => {
      caller.hasLeft = true;
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
    endTry: (reason: UpstreamError) => abortUpstream(reason),
  };
  return caller;
}

function nothing(): void {}
