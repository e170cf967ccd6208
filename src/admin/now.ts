/** The current state: figures, a sentence that sums them up, and what needs a person. */
import type { GatewayStatus } from '../stages/status.ts';
import { modelChannels } from './channels.ts';
import type { AdminDeps } from './deps.ts';
import type { NowBucket } from './live.ts';
import { minutesUntil, percentilesOf, sumOf } from './live-state.ts';
import { type LogBucket, type LogBuckets, logBuckets } from './log-buckets.ts';
import { nearlySpentKeys } from './nearly-spent.ts';
import { type RefusalCount, refusalCounts } from './refusal-counts.ts';
import { type Attention, attentionOf, type Clause, sentenceOf, slowPorts } from './sentence.ts';

/** How far {@link Now} looks back. */
export type NowRange = '15m' | '1h' | '24h' | '30d';

/** How the gateway is doing. */
export interface Now {
  readonly range: NowRange;
  /**
   * Where `buckets` and the times to the first byte come from. `process`: minutes of this process,
   * at most 60 of them. `log`: hours or days of the usage log, and so of all processes; their
   * `refused` is undefined if the log has no refusals of that time. Ranges above an hour also have
   * `process` if the log failed or can't be queried.
   */
  readonly source: 'process' | 'log';
  readonly nowMs: number;
  /** When the admin library of this process was created. */
  readonly startedAtMs: number;
  /** What this process does at the moment. */
  readonly status: GatewayStatus;
  /** The length of a bucket: a minute, an hour or a day. */
  readonly bucketMs: number;
  /** Oldest first; the last one is incomplete. */
  readonly buckets: readonly NowBucket[];
  /** Of all buckets together. */
  readonly firstByteP50Ms: number | undefined;
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
  /** Today's calls in UTC, by the usage log of all processes; undefined without one. */
  readonly today: Today | undefined;
}

/** What the usage log says about today. */
export interface Today {
  readonly calls: number;
  readonly chargeNanos: bigint;
  /** The part of the charge that the quota store has not accepted, or not yet. */
  readonly unbookedNanos: bigint;
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
  const log = logBuckets(deps.usage);
  const nearlySpent = nearlySpentKeys(deps);
  const slow = slowPorts();
  return async (range = '1h') => {
    const nowMs = clock.now();
    const status = gateway.status();
    const figures = await figuresOf(deps, log, range, nowMs);
    const today = await readToday(log, nowMs);
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
      ...figures,
      sentence: sentenceOf(situation),
      attention: attentionOf(situation),
      today,
    };
  };
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
