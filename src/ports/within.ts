/** A deadline for promises of a host's code. */
import type { Clock } from '../clock.ts';
import { StoreUnavailable } from './call-options.ts';

/** The promise's own outcome, or a rejection with StoreUnavailable after `timeoutMs`. */
export function within<T>(promise: Promise<T>, timeoutMs: number, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.every(timeoutMs, () => {
      cancel();
      reject(new StoreUnavailable(`no answer within ${timeoutMs} ms`));
    });
    promise.then(resolve, reject).finally(cancel);
  });
}
