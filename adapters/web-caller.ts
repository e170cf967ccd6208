/** Detects that the caller of a Web `Request` has disconnected. Not an entry point. */
import { type HostResponse, isGone } from './host.ts';

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
 *
 * With `response`, which the server writes the reply to, listens to its end instead: a signal that
 * nobody else asks for costs half as much as a whole call.
 */
export function webCaller(request: Request, response: HostResponse | undefined): WebCaller {
  const listeners: (() => void)[] = [];
  const wasGone = response === undefined ? request.signal.aborted : isGone(response);
  let state: 'connected' | 'gone' | 'answered' = wasGone ? 'gone' : 'connected';

  const end = (as: 'gone' | 'answered'): void => {
    state = as;
    if (response === undefined) request.signal.removeEventListener('abort', markGone);
    else response.off('close', markGone);
  };
  const markGone = (): void => {
    if (state !== 'connected') return;
    end('gone');
    for (const notify of listeners.splice(0)) notify();
  };
  if (response === undefined) request.signal.addEventListener('abort', markGone);
  else response.on('close', markGone);

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
