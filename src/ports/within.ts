/** A deadline for what a host's code promises. */
import type { Clock } from '../clock.ts';
import { StoreUnavailable } from './call-options.ts';

/** The promise's own outcome, or a rejection with StoreUnavailable once the time is up. */
export function within<T>(promise: Promise<T>, timeoutMs: number, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = clock.every(timeoutMs, () => {
      stop();
      reject(new StoreUnavailable(`no answer within ${timeoutMs} ms`));
    });
    promise.then(resolve, reject).finally(stop);
  });
}
