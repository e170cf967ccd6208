/** The calls that arrived, and the tests that wait for the next. */
import type { RecordedCall } from './exchange.ts';

/** Calls in the order in which their bodies were complete. */
export interface CallLog {
  readonly calls: readonly RecordedCall[];
  add(call: RecordedCall): void;
  /** Hands out each call once, oldest first; waits where all were handed out. */
  next(): Promise<RecordedCall>;
  /** Forgets the calls; who waits goes on waiting. */
  clear(): void;
  /** Rejects whoever waits, now and later: no call will come. */
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
  const untaken: RecordedCall[] = [];
  const waiters: Waiter[] = [];
  let closed = false;
  return {
    calls,
    add: (call) => {
      calls.push(call);
      const waiter = waiters.shift();
      if (waiter === undefined) untaken.push(call);
      else waiter.resolve(call);
    },
    next: () => {
      const call = untaken.shift();
      if (call !== undefined) return Promise.resolve(call);
      if (closed) return Promise.reject(new Error(noMoreCalls));
      return new Promise((resolve, reject) => {
        waiters.push({ resolve, reject });
      });
    },
    clear: () => {
      calls.length = 0;
      untaken.length = 0;
    },
    close: () => {
      closed = true;
      for (const { reject } of waiters.splice(0)) reject(new Error(noMoreCalls));
    },
  };
}
