/** A clock that only a test advances. */
import type { Clock } from '../clock.ts';

/** A {@link Clock} whose time the test controls. */
export interface FakeClock extends Clock {
  /**
   * Advances both times and runs every tick that falls due, in order of time, each at its due time.
   * Ticks with the same due time run in order of registration.
   */
  advance(ms: number): void;
}

/** A clock that begins at `startMs`, in Unix milliseconds. Default: 1 January 2026. */
export function fakeClock(startMs: number = Date.UTC(2026, 0, 1)): FakeClock {
  let passedMs = 0;
  const timers = new Set<Timer>();

  return {
    now: () => startMs + passedMs,
    monotonicMs: () => passedMs,
    every: (intervalMs, tick) => {
      if (!(intervalMs > 0)) throw new RangeError('intervalMs must be above 0');
      const timer: Timer = { intervalMs, tick, dueMs: passedMs + intervalMs };
      timers.add(timer);
      return () => {
        timers.delete(timer);
      };
    },
    advance: (ms) => {
      if (!(ms >= 0)) throw new RangeError('ms must be 0 or above');
      const untilMs = passedMs + ms;
      let timer = nextDue(timers, untilMs);
      while (timer !== undefined) {
        passedMs = timer.dueMs;
        timer.dueMs += timer.intervalMs;
        timer.tick();
        timer = nextDue(timers, untilMs);
      }
      passedMs = untilMs;
    },
  };
}

interface Timer {
  readonly intervalMs: number;
  readonly tick: () => void;
  dueMs: number;
}

function nextDue(timers: ReadonlySet<Timer>, untilMs: number): Timer | undefined {
  let next: Timer | undefined;
  for (const timer of timers) {
    if (timer.dueMs <= untilMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer;
  }
  return next;
}
