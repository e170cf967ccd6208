/** Detects that the caller of a Web `Request` has disconnected. Not an entry point. */

/** The caller of one request. */
export interface WebCaller {
  isGone(): boolean;
  /** Calls the listener once if the caller disconnects before it has been answered. */
  onDisconnect(listener: () => void): void;
  /** The host has cancelled the response: nobody will read it. */
  markGone(): void;
  /** The whole response has been passed to the host: a later abort is not a disconnect. */
  markAnswered(): void;
}

/**
 * Listens to the request's signal. The request is referenced for as long as the signal matters,
 * because the signal of a request that was garbage-collected is never aborted.
 */
export function webCaller(request: Request): WebCaller {
  const listeners: (() => void)[] = [];
  let state: 'connected' | 'gone' | 'answered' = request.signal.aborted ? 'gone' : 'connected';

  const end = (as: 'gone' | 'answered'): void => {
    state = as;
    request.signal.removeEventListener('abort', markGone);
  };
  const markGone = (): void => {
    if (state !== 'connected') return;
    end('gone');
    for (const notify of listeners.splice(0)) notify();
  };
  request.signal.addEventListener('abort', markGone);

  return {
    isGone: () => state === 'gone',
    onDisconnect: (listener) => {
      if (state === 'connected') listeners.push(listener);
      else if (state === 'gone') queueMicrotask(listener);
    },
    markGone,
    markAnswered: () => end('answered'),
  };
}
