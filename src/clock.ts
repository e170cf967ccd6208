/** Time as the gateway sees it, so that tests bring their own. */

/** The port for time: `systemClock()` in a host's app, a fake in tests. */
export interface Clock {
  /** Unix milliseconds, for logs and periods. */
  now(): number;
  /** Milliseconds that never jump, for waits. */
  monotonicMs(): number;
  /** Calls back again and again until the returned function is called; holds no process open. */
  every(intervalMs: number, tick: () => void): () => void;
}

/** The machine's own clock. */
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
