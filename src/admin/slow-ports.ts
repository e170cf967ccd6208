/** Ports of the host that were slow lately, from the counters of the gateway. */
import type { PortTimes } from '../stages/ports/port-times.ts';

export interface SlowPort {
  readonly port: string;
  readonly operation: string;
  /** 95 % of the answers took at most this long; undefined if it is above all buckets. */
  readonly p95Ms: number | undefined;
}

const windowMs = 60_000;
const slowMs = 250;
/** Below this many answers a percentile is not meaningful. */
const minAnswers = 10;

interface Sample {
  readonly atMs: number;
  readonly ports: readonly PortTimes[];
}

/**
 * Compares the counters, which only grow, with a sample that is at least a minute old; in the first
 * minute, with the start of the process.
 */
export function slowPorts(): (ports: readonly PortTimes[], nowMs: number) => readonly SlowPort[] {
  let before: Sample = { atMs: Number.NEGATIVE_INFINITY, ports: [] };
  let latest: Sample | undefined;
  return (ports, nowMs) => {
    if (latest === undefined || nowMs - latest.atMs >= windowMs) {
      before = latest ?? before;
      latest = { atMs: nowMs, ports };
    }
    return ports.flatMap((now) => slowness(now, earlier(before, now)));
  };
}

function earlier({ ports }: Sample, { port, operation }: PortTimes): PortTimes | undefined {
  return ports.find((times) => times.port === port && times.operation === operation);
}

function slowness(now: PortTimes, before: PortTimes | undefined): readonly SlowPort[] {
  const { port, operation } = now;
  const answers = now.calls - (before?.calls ?? 0);
  if (answers < minAnswers) return [];
  const wanted = 0.95 * answers;
  const bucket = now.buckets.find(
    ({ count }, index) => count - (before?.buckets[index]?.count ?? 0) >= wanted,
  );
  const isSlow = bucket === undefined || bucket.leMs > slowMs;
  return isSlow ? [{ port, operation, p95Ms: bucket?.leMs }] : [];
}
