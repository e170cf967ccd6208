/**
 * Sums of the usage log by hour or day. Each hour or day is a query of its own, so that no
 * statement reads more than a day, and is cached, because many open consoles may show it.
 */
import { setImmediate } from 'node:timers/promises';
import { callOutcomes } from '../ports/usage-sink.ts';
import type { RefusalReportQuery } from '../stores/sql/refusal-report.ts';
import type { UsageReportRow } from '../stores/sql/usage-report.ts';
import type { AdminUsage } from './deps.ts';
import { type CallSeries, seriesOf } from './live.ts';
import { emptyHistogram, type Histogram, setBounded } from './live-state.ts';
import type { CountedRefusals } from './refusal-counts.ts';

export interface LogBucket extends Record<CallSeries, number> {
  readonly startMs: number;
  /** The recorded refusals of that time; none also if no gateway records them. */
  readonly refusals: readonly CountedRefusals[];
  calls: number;
  chargeNanos: bigint;
  unbookedNanos: bigint;
  costNanos: bigint;
  firstByte: Histogram;
}

export interface LogBuckets {
  readonly isSupported: boolean;
  /** The sums from `startMs` on; undefined if the log failed, or can't be queried. */
  read(startMs: number, lengthMs: number, nowMs: number): Promise<LogBucket | undefined>;
}

/** A bucket counts as settled after this: until then, calls that began in it may still end. */
const settledMs = 3_600_000;
const freshMs = 10_000;
/**
 * Settled buckets are read again too: a call in doubt may be resolved, or a charge booked, later.
 */
const settledFreshMs = 600_000;
/** Enough for the ranges of 24 hours and 30 days together, with a few that have passed since. */
const maxBuckets = 64;
const timeoutMs = 5_000;

export function logBuckets(usage: AdminUsage): LogBuckets {
  const known = new Map<string, { readonly readMs: number; readonly sums: Promise<Found> }>();
  return {
    isSupported: usage.usageReport !== undefined,
    read: async (startMs, lengthMs, nowMs) => {
      const name = `${startMs} ${lengthMs}`;
      const found = known.get(name);
      const isSettled = startMs + lengthMs + settledMs < nowMs && (await found?.sums) !== undefined;
      const maxAgeMs = isSettled ? settledFreshMs : freshMs;
      if (found !== undefined && nowMs - found.readMs < maxAgeMs) return found.sums;
      // A database in this process blocks the event loop: calls run between two statements.
      const sums = setImmediate().then(() => readBucket(usage, startMs, lengthMs));
      setBounded(known, name, { readMs: nowMs, sums }, maxBuckets);
      return sums;
    },
  };
}

type Found = LogBucket | undefined;

/** The figures of this process are shown even if the log fails. */
async function readBucket(usage: AdminUsage, startMs: number, lengthMs: number): Promise<Found> {
  const span = { fromMs: startMs, toMs: startMs + lengthMs };
  try {
    const rows = await usage.usageReport?.({ by: 'outcome', ...span }, { timeoutMs });
    if (rows === undefined) return undefined;
    const counts = await usage.usageFirstBytes?.(span, { timeoutMs });
    return bucketOf(startMs, rows, counts ?? [], await refusalsIn(usage, span));
  } catch {
    return undefined;
  }
}

/** The recorded refusals by code and reason; none if the log fails. */
export async function refusalsIn(
  usage: AdminUsage,
  span: Omit<RefusalReportQuery, 'by'>,
): Promise<readonly CountedRefusals[]> {
  try {
    const query: RefusalReportQuery = { ...span, by: ['code', 'reason'] };
    const rows = (await usage.refusalReport?.(query, { timeoutMs })) ?? [];
    return rows.map(({ names: [code = '', reason = ''], refusals: count }) => {
      return { code, reason, count };
    });
  } catch {
    return [];
  }
}

function bucketOf(
  startMs: number,
  rows: readonly UsageReportRow[],
  counts: readonly number[],
  refusals: readonly CountedRefusals[],
): LogBucket {
  const firstByte = emptyHistogram();
  firstByte.set(counts.slice(0, firstByte.length));
  const bucket: LogBucket = {
    ...{ startMs, calls: 0, complete: 0, failed: 0, left: 0, firstByte, refusals },
    ...{ chargeNanos: 0n, unbookedNanos: 0n, costNanos: 0n },
  };
  for (const { names, calls, chargeNanos, unbookedNanos, costNanos } of rows) {
    const outcome = callOutcomes.find((known) => known === names[0]) ?? 'unknown';
    bucket[seriesOf(outcome)] += calls;
    bucket.calls += calls;
    bucket.chargeNanos += chargeNanos;
    bucket.unbookedNanos += unbookedNanos;
    bucket.costNanos += costNanos;
  }
  return bucket;
}
