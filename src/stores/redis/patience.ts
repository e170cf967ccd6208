/** The deadline of one operation, however many calls it takes. */
import { setMaxListeners } from 'node:events';
import { type CallOptions, StoreUnavailable } from '../../ports/call-options.ts';

/**
 * Does the work until the asker's time is up or the asker gives up, and then aborts what it waits
 * for. What has been sent by then may have taken effect.
 *
 * @throws StoreUnavailable `not_done` where nothing had been sent, else `unknown`
 */
export function patiently<T>(
  options: CallOptions | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, timeoutMs } = options ?? {};
  if (signal?.aborted === true) {
    return Promise.reject(new StoreUnavailable('given up', { outcome: 'not_done' }));
  }
  const patience = new AbortController();
  // A batch waits for many commands on one signal, and Node would take that for a leak.
  setMaxListeners(0, patience.signal);
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      patience.abort();
      // A client that could take the command back says so at once, and then it is not done.
      setImmediate(() => reject(new StoreUnavailable('Redis did not answer in time')));
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs).unref();
    signal?.addEventListener('abort', giveUp, { once: true });
    work(patience.signal)
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
      });
  });
}
