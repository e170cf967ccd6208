/** Measures how long the ports of a gateway take to answer, for `gateway.status()`. */
import type { PortName } from '../../ports/port-failure.ts';

/** How long one operation of a port took. */
export interface PortTimes {
  /** The option of `createGateway` that holds the port. */
  readonly port: PortName;
  /** The method of the port that was called. */
  readonly operation: string;
  /** Calls whose answer was waited for, including failures. A memory store answers immediately. */
  readonly calls: number;
  /** Those of them that threw, timed out or gave an answer that is not allowed. */
  readonly failures: number;
  /** The sum of all times, in ms. */
  readonly sumMs: number;
  /** How many answers took at most `leMs`; each bucket includes the ones before it. */
  readonly buckets: readonly {
    /** The upper bound of the bucket, in ms. */
    readonly leMs: number;
    /** How many answers took no longer. */
    readonly count: number;
  }[];
}

export interface PortTimer {
  record(port: PortName, operation: string, tookMs: number, failed: boolean): void;
  read(): readonly PortTimes[];
}

const boundsMs: readonly number[] = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

interface Counter {
  readonly port: PortName;
  readonly operation: string;
  calls: number;
  failures: number;
  sumMs: number;
  /** Not cumulative; the last one counts the answers above all bounds. */
  readonly counts: number[];
}

export function portTimer(): PortTimer {
  const counters = new Map<string, Counter>();
  return {
    record: (port, operation, tookMs, failed) => {
      const id = `${port}.${operation}`;
      const counter = counters.get(id) ?? newCounter(port, operation);
      counters.set(id, counter);
      const found = boundsMs.findIndex((bound) => tookMs <= bound);
      const at = found === -1 ? boundsMs.length : found;
      counter.calls += 1;
      counter.sumMs += tookMs;
      counter.counts[at] = (counter.counts[at] ?? 0) + 1;
      if (failed) counter.failures += 1;
    },
    read: () => [...counters.values()].map(timesOf),
  };
}

function newCounter(port: PortName, operation: string): Counter {
  const counts = Array.from({ length: boundsMs.length + 1 }, () => 0);
  return { port, operation, calls: 0, failures: 0, sumMs: 0, counts };
}

function timesOf({ counts, ...counter }: Counter): PortTimes {
  let sum = 0;
  const buckets = boundsMs.map((leMs, at) => {
    sum += counts[at] ?? 0;
    return { leMs, count: sum };
  });
  return { ...counter, buckets };
}
