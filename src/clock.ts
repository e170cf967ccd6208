/** The gateway's clock, which tests replace. */

/** The port for time: `systemClock()` in production, a fake in tests. */
export interface Clock {
  /** Unix milliseconds, for logs and periods. */
  now(): number;
  /** Milliseconds on a monotonic clock, for timeouts. */
  monotonicMs(): number;
  /**
   * Calls `tick` repeatedly until the returned function is called. Does not keep the process
   * running.
   */
  every(intervalMs: number, tick: () => void): () => void;
}

/** The system's clock. */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    every: (intervalMs, tick) => {
      const timer = setInterval(tick, intervalMs);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}
