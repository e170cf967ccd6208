/** The current state: figures, a sentence that sums them up, and what needs a person. */
import { setImmediate } from 'node:timers/promises';
import type { Replica } from '../../ports/cluster-store.ts';
import { callOutcomes } from '../../ports/usage-sink.ts';
import type { ClusterStatus } from '../../stages/cluster.ts';
import type { GatewayStatus } from '../../stages/status.ts';
import type { RefusalReportQuery } from '../../stores/sql/refusal-report.ts';
import type { UsageReportRow } from '../../stores/sql/usage/report.ts';
import { type CountedRefusals, type RefusalCount, refusalCounts } from '../calls/refusal-counts.ts';
import { modelChannels } from '../channels/list.ts';
import type { AdminDeps, AdminUsage } from '../deps.ts';
import { nearlySpentKeys } from '../keys/summary.ts';
import { emptyHistogram, type Histogram, percentilesOf, sumOf } from './histogram.ts';
import {
  type CallSeries,
  minutesUntil,
  type NowBucket,
  seriesOf,
  setBounded,
  slowPorts,
} from './live.ts';
import type { Attention, Clause } from './sentence.ts';

/** How far {@link Now} looks back. */
export type NowRange = '15m' | '1h' | '24h' | '30d';

/** How the gateway is doing. */
export interface Now {
  /** The time that `buckets` cover. */
  readonly range: NowRange;
  /**
   * Where `buckets` and the times to the first byte come from. `process`: minutes of this process,
   * at most 60 of them. `log`: hours or days of the usage log, and so of all processes; their
   * `refused` is undefined if the log has no refusals of that time. Ranges above an hour also have
   * `process` if the log failed or can't be queried.
   */
  readonly source: 'process' | 'log';
  /** The clock of this process, in Unix ms. */
  readonly nowMs: number;
  /** When the admin library of this process was created. */
  readonly startedAtMs: number;
  /** What this process does at the moment. */
  readonly status: GatewayStatus;
  /** This process among the replicas that share its switches. */
  readonly replica: NowReplica;
  /** The length of a bucket: a minute, an hour or a day. */
  readonly bucketMs: number;
  /** Oldest first; the last one is incomplete. */
  readonly buckets: readonly NowBucket[];
  /** Of all buckets together. */
  readonly firstByteP50Ms: number | undefined;
  /** The 95th percentile of the same times, in ms. */
  readonly firstByteP95Ms: number | undefined;
  /**
   * Most frequent first. From the log if `refused` of the buckets is, otherwise of this process, at
   * most of the last hour.
   */
  readonly refusals: readonly RefusalCount[];
  /** Worst first; a single clause if all is well. */
  readonly sentence: readonly Clause[];
  /** At most eight, worst first. */
  readonly attention: readonly Attention[];
  /**
   * The same span a day earlier, by the usage log of all processes; undefined without one, and for
   * `30d`.
   */
  readonly dayBefore: Earlier | undefined;
  /** Today's calls in UTC, by the usage log of all processes; undefined without one. */
  readonly today: Today | undefined;
}

/** A process, and how many there are like it. */
export interface NowReplica extends Pick<Replica, 'host' | 'pid' | 'version'> {
  /** Whether it shares switches with others, so that it knows of them. */
  readonly isShared: boolean;
  /** How many were seen within the last minute, this one included. */
  readonly replicas: number;
}

/** What the usage log says about an earlier span. */
export interface Earlier extends Record<CallSeries, number> {
  /** Unix ms, inclusive. */
  readonly fromMs: number;
  /** Unix ms, exclusive. */
  readonly toMs: number;
  /** The 95th percentile of the same times, in ms. */
  readonly firstByteP95Ms: number | undefined;
  /** What keys were charged in that time, in nanos. */
  readonly chargeNanos: bigint;
}

/** What the usage log says about today. */
export interface Today {
  /** Calls that ended today, by UTC. */
  readonly calls: number;
  /** What keys were charged for them, in nanos. */
  readonly chargeNanos: bigint;
  /** The part of the charge that the quota store has not accepted, or not yet. */
  readonly unbookedNanos: bigint;
  /** What upstreams charged for them, in nanos, where their channels state a cost. */
  readonly costNanos: bigint;
}

/** Reads {@link Now}. Default: `1h`. */
export type ReadNow = (range?: NowRange) => Promise<Now>;

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

const spans: Readonly<Record<NowRange, Span>> = {
  '15m': { count: 15, bucketMs: minuteMs, inLog: false },
  '1h': { count: 60, bucketMs: minuteMs, inLog: false },
  '24h': { count: 24, bucketMs: hourMs, inLog: true },
  '30d': { count: 30, bucketMs: dayMs, inLog: true },
};

interface Span {
  readonly count: number;
  readonly bucketMs: number;
  readonly inLog: boolean;
}

export const nowRanges: readonly NowRange[] = ['15m', '1h', '24h', '30d'];

export function adminNow(deps: AdminDeps): ReadNow {
  const { clock, gateway, live } = deps;
  const startedAtMs = clock.now();
  const log = logBuckets(deps.stores.usage);
  const nearlySpent = nearlySpentKeys(deps);
  const slow = slowPorts();
  return async (range = '1h') => {
    const { attentionOf, sentenceOf } = await import('./sentence.ts');
    const nowMs = clock.now();
    const status = gateway.status();
    const figures = await figuresOf(deps, log, range, nowMs);
    const today = await readToday(log, nowMs);
    const dayBefore = await readDayBefore(log, spans[range], nowMs);
    const situation = {
      state: live.state,
      nowMs,
      models: modelChannels(deps),
      status,
      slowPorts: slow(status.ports, nowMs),
      nearlySpent: await nearlySpent(),
      isLogDown: log.isSupported && today === undefined,
    };
    return {
      range,
      nowMs,
      startedAtMs,
      status,
      replica: replicaOf(gateway.cluster()),
      ...figures,
      sentence: sentenceOf(situation),
      attention: attentionOf(situation),
      today,
      dayBefore,
    };
  };
}

function replicaOf({
  self: { host, pid, version },
  isShared,
  replicas,
}: ClusterStatus): NowReplica {
  return { host, pid, version, isShared, replicas: replicas.length };
}

type Figures = Pick<
  Now,
  'source' | 'bucketMs' | 'buckets' | 'firstByteP50Ms' | 'firstByteP95Ms' | 'refusals'
>;

async function figuresOf(
  deps: AdminDeps,
  log: LogBuckets,
  range: NowRange,
  nowMs: number,
): Promise<Figures> {
  const span = spans[range];
  const figures = liveFigures(deps, span.inLog ? spans['1h'] : span, nowMs);
  return { ...figures, ...(span.inLog ? await logFigures(deps, log, span, nowMs) : {}) };
}

function liveFigures({ live }: AdminDeps, { count, bucketMs }: Span, nowMs: number): Figures {
  const firstBytes = minutesUntil(live.state, nowMs, count).map(({ firstByte }) => firstByte);
  const [buckets, refusals] = [live.minutes(count), live.refusals(count)];
  return { source: 'process', bucketMs, buckets, refusals, ...percentilesOf(sumOf(firstBytes)) };
}

/** Nothing if any bucket can't be read: part of a range would look like the whole. */
async function logFigures(
  { live }: AdminDeps,
  log: LogBuckets,
  { count, bucketMs }: Span,
  nowMs: number,
): Promise<Partial<Figures>> {
  const lastMs = Math.floor(nowMs / bucketMs) * bucketMs;
  const found: LogBucket[] = [];
  for (let index = count - 1; index >= 0; index -= 1) {
    const bucket = await log.read(lastMs - index * bucketMs, bucketMs, nowMs);
    if (bucket === undefined) return {};
    found.push(bucket);
  }
  const refusals = refusalCounts(
    found.flatMap((bucket) => bucket.refusals),
    live.state.refusals,
  );
  const isRecorded = refusals.length > 0;
  return {
    source: 'log',
    bucketMs,
    buckets: found.map((bucket) => logBucket(bucket, isRecorded)),
    ...percentilesOf(sumOf(found.map(({ firstByte }) => firstByte))),
    ...(isRecorded ? { refusals } : {}),
  };
}

/** A log without any refusal is taken for one that does not record them. */
function logBucket(bucket: LogBucket, isRecorded: boolean): NowBucket {
  const { startMs, complete, failed, left, chargeNanos, firstByte, refusals } = bucket;
  const refused = isRecorded ? refusals.reduce((sum, { count }) => sum + count, 0) : undefined;
  return { startMs, complete, refused, failed, left, chargeNanos, ...percentilesOf(firstByte) };
}

async function readToday(log: LogBuckets, nowMs: number): Promise<Today | undefined> {
  const bucket = await log.read(Math.floor(nowMs / dayMs) * dayMs, dayMs, nowMs);
  if (bucket === undefined) return undefined;
  const { calls, chargeNanos, unbookedNanos, costNanos } = bucket;
  return { calls, chargeNanos, unbookedNanos, costNanos };
}

/** One query of at most a day. */
async function readDayBefore(
  log: LogBuckets,
  { count, bucketMs }: Span,
  nowMs: number,
): Promise<Earlier | undefined> {
  const lengthMs = count * bucketMs;
  if (lengthMs > dayMs) return undefined;
  const toMs = Math.floor(nowMs / bucketMs) * bucketMs - dayMs + bucketMs;
  const fromMs = toMs - lengthMs;
  const bucket = await log.read(fromMs, lengthMs, nowMs);
  if (bucket === undefined) return undefined;
  const { complete, failed, left, firstByte, chargeNanos } = bucket;
  const { firstByteP95Ms } = percentilesOf(firstByte);
  return { fromMs, toMs, complete, failed, left, firstByteP95Ms, chargeNanos };
}

interface LogBucket extends Record<CallSeries, number> {
  readonly startMs: number;
  /** The recorded refusals of that time; none also if no gateway records them. */
  readonly refusals: readonly CountedRefusals[];
  calls: number;
  chargeNanos: bigint;
  unbookedNanos: bigint;
  costNanos: bigint;
  firstByte: Histogram;
}

type LogBuckets = ReturnType<typeof logBuckets>;

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

/**
 * Each hour or day is a query of its own, so that no statement reads more than a day. It is cached,
 * because many open consoles may show it.
 */
function logBuckets(usage: AdminUsage) {
  const known = new Map<string, { readonly readMs: number; readonly sums: Promise<Found> }>();
  return {
    isSupported: usage.usageReport !== undefined,
    /** The sums from `startMs` on; undefined if the log failed, or can't be queried. */
    read: async (startMs: number, lengthMs: number, nowMs: number): Promise<Found> => {
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
