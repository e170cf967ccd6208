/** Applies the deadline and abort signal of a port call to all the commands it needs. */
import { setMaxListeners } from 'node:events';
import { type CallOptions, StoreUnavailable } from '../../ports/call-options.ts';

/**
 * Does the work; at the deadline, or when the caller's signal is aborted, it aborts pending
 * commands and rejects. Commands that were sent may still take effect.
 *
 * @throws StoreUnavailable `not_done` where nothing had been sent, else `unknown`
 */
export function withDeadline<T>(
  options: CallOptions | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, timeoutMs } = options ?? {};
  if (signal?.aborted === true) {
    return Promise.reject(
      new StoreUnavailable('the call was aborted before it was sent', { outcome: 'not_done' }),
    );
  }
  const deadline = new AbortController();
  // A batch has many commands on one signal, for which Node would warn of a leak.
  setMaxListeners(0, deadline.signal);
  return new Promise((resolve, reject) => {
    const onDeadline = (): void => {
      deadline.abort();
      // A client that has not sent the command rejects it now, and `work` reports `not_done`.
      setImmediate(() => reject(new StoreUnavailable('Redis did not answer in time')));
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(onDeadline, timeoutMs).unref();
    signal?.addEventListener('abort', onDeadline, { once: true });
    work(deadline.signal)
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onDeadline);
      });
  });
}
