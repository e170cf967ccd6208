/** The received calls, and the tests that wait for the next one. */
import type { RecordedCall } from './exchange.ts';

/** Calls in the order in which their bodies were received. */
export interface CallLog {
  readonly calls: readonly RecordedCall[];
  add(call: RecordedCall): void;
  /** Returns each call once, oldest first; waits if there is no further call. */
  next(): Promise<RecordedCall>;
  /** Removes the calls; pending waits continue. */
  clear(): void;
  /** Rejects pending and later waits, since no call will arrive. */
  close(): void;
}

interface Waiter {
  readonly resolve: (call: RecordedCall) => void;
  readonly reject: (error: Error) => void;
}

const noMoreCalls = 'The fake upstream was closed before another call arrived.';

/** An empty log. */
export function callLog(): CallLog {
  const calls: RecordedCall[] = [];
  const unread: RecordedCall[] = [];
  const waiters: Waiter[] = [];
  let closed = false;
  return {
    calls,
    add: (call) => {
      calls.push(call);
      const waiter = waiters.shift();
      if (waiter === undefined) unread.push(call);
      else waiter.resolve(call);
    },
    next: () => {
      const call = unread.shift();
      if (call !== undefined) return Promise.resolve(call);
      if (closed) return Promise.reject(new Error(noMoreCalls));
      return new Promise((resolve, reject) => {
        waiters.push({ resolve, reject });
      });
    },
    clear: () => {
      calls.length = 0;
      unread.length = 0;
    },
    close: () => {
      closed = true;
      for (const { reject } of waiters.splice(0)) reject(new Error(noMoreCalls));
    },
  };
}
