/**
 * The live figures of this process, fed by the events of the gateway; and which ports of the host
 * were slow lately.
 */
import type { Clock } from '../../clock.ts';
import type { GatewayEvent } from '../../events/events.ts';
import { summaryOf } from '../../events/thrown.ts';
import type { PortFailure } from '../../ports/port-failure.ts';
import { isInDoubt, type UsageRecord } from '../../ports/usage-sink.ts';
import type { PortTimes } from '../../stages/ports/port-times.ts';
import {
  type CountedRefusals,
  latestRefusals,
  refusalCounts,
  rememberRefusal,
  type SeenRefusals,
} from '../calls/refusal-counts.ts';
import { type CallSummary, callSummary, type SeenRefusal } from '../calls/summary.ts';
import { addTime, emptyHistogram, type Histogram, percentilesOf } from './histogram.ts';
import { channelFigures, countChannels, type LiveChannels } from './live-channels.ts';

/**
 * The calls of a minute, an hour or a day. Minutes of this process count a call when it ends, hours
 * and days of the log when it began.
 */
export interface NowBucket {
  /** Unix ms. */
  readonly startMs: number;
  /** Calls whose reply was complete. */
  readonly complete: number;
  /** Refused before they reserved quota; undefined where only the usage log is known. */
  readonly refused: number | undefined;
  /** Calls that had reserved quota, and failed. */
  readonly failed: number;
  /** The caller disconnected. */
  readonly left: number;
  /** From the start of a call to its first byte; undefined without calls. */
  readonly firstByteP50Ms: number | undefined;
  /** The 95th percentile of the same times, in ms. */
  readonly firstByteP95Ms: number | undefined;
  /** What keys were charged for these calls, in nanos. */
  readonly chargeNanos: bigint;
}

/** The events that are counted; others are ignored. */
export type LiveEvent =
  | { readonly type: 'call_ended' | 'call_booked'; readonly record: UsageRecord }
  | ({ readonly type: 'call_refused' } & Omit<SeenRefusal, 'kind' | 'atMs' | keyof Detail> &
      Partial<Detail>)
  | ({ readonly type: 'port_failed' } & Omit<PortFailure, 'requestId'>)
  | {
      readonly type: 'quota_low';
      readonly subject: string;
      readonly period: string;
      readonly percent: number;
    }
  | { readonly type: 'settlement_lost' }
  | { readonly type: 'catalog_loaded' | 'config_loaded'; readonly source: string }
  | {
      readonly type: 'catalog_refused' | 'config_refused';
      readonly source: string;
      readonly reason: string;
    };

/** The types of {@link LiveEvent}. */
export const liveTypes = [
  ...(['call_ended', 'call_booked', 'call_refused', 'port_failed', 'quota_low'] as const),
  ...(['settlement_lost', 'catalog_loaded', 'config_loaded'] as const),
  ...(['catalog_refused', 'config_refused'] as const),
] as const satisfies readonly LiveEvent['type'][];

type Detail = Pick<SeenRefusal, 'limit' | 'param' | 'path' | 'requestedModel'>;

export type Live = ReturnType<typeof liveFigures>;

export function liveFigures(clock: Clock) {
  const state = emptyLiveState();
  const minutes = (count: number) => minutesUntil(state, clock.now(), count);
  return {
    state,
    add: (event: LiveEvent | GatewayEvent): void => count(state, event, clock.now()),
    minutes: (count = liveMinutes) => minutes(count).map(minuteOf),
    /** Sums of the last minutes, most frequent first. */
    refusals: (count = liveMinutes) =>
      refusalCounts(
        minutes(count).flatMap(({ refusals }) => [...refusals.values()]),
        state.refusals,
      ),
    lastUsedMs: (keyId: string) => state.lastUsedMs.get(keyId),
    /** The latest calls and refusals, newest first. */
    recentCalls: () => state.calls.toReversed(),
    recentRefusals: () => latestRefusals(state.refusals),
    channel: (channelId: string) => channelFigures(state.channels, channelId, clock.now()),
  };
}

function count(state: LiveState, event: LiveEvent | GatewayEvent, nowMs: number): void {
  switch (event.type) {
    case 'call_ended':
      return countCall(state, event.record, nowMs);
    case 'call_booked':
      state.inDoubt.delete(event.record.reservationId);
      return;
    case 'call_refused':
      return countRefused(state, event, nowMs);
    case 'port_failed': {
      const { port, operation, reason, member, problem, code, error } = event;
      const name = [port, operation, reason, member, code].join('\n');
      const { sinceMs = nowMs } = state.ports.get(name) ?? {};
      // Other errors are of the host, whose messages may quote anything.
      const cause = reason === 'StoreUnavailable' && error ? summaryOf(error) : undefined;
      const what = { port, operation, reason, member, problem, code, cause };
      return setBounded(state.ports, name, { ...what, sinceMs, lastMs: nowMs });
    }
    case 'quota_low': {
      const { subject, period, percent } = event;
      return setBounded(state.lowQuotas, `${subject}|${period}`, { subject, percent, atMs: nowMs });
    }
    case 'settlement_lost':
      return addRecent(state.lostSettlements, nowMs);
    case 'catalog_refused':
    case 'config_refused': {
      const { source, reason } = event;
      return setBounded(state.staleSources, source, { reason, sinceMs: nowMs });
    }
    case 'catalog_loaded':
    case 'config_loaded':
      state.staleSources.delete(event.source);
      return;
    default:
  }
}

function countCall(state: LiveState, record: UsageRecord, nowMs: number): void {
  const { keyId, modelId, requestId, firstByteMs } = record;
  const minute = minuteAt(state, nowMs);
  minute[seriesOf(record.outcome)] += 1;
  minute.chargeNanos += record.chargeNanos;
  if (firstByteMs !== undefined) addTime(minute.firstByte, firstByteMs);
  countChannels(state.channels, record, nowMs);
  setBounded(state.lastUsedMs, keyId, nowMs, maxKeys);
  addRecent(state.calls, callSummary(record));
  if (isInDoubt(record)) {
    setBounded(state.inDoubt, record.reservationId, { requestId, keyId, modelId, atMs: nowMs });
  }
}

/** The kinds of outcomes that charts distinguish; a refused request is no call. */
export type CallSeries = 'complete' | 'failed' | 'left';

export function seriesOf(outcome: UsageRecord['outcome']): CallSeries {
  if (outcome === 'caller_left') return 'left';
  return outcome === 'complete' ? outcome : 'failed';
}

function countRefused(
  state: LiveState,
  event: Extract<LiveEvent, { type: 'call_refused' }>,
  nowMs: number,
): void {
  const { requestId, keyId, group, protocol, modelId, code, reason, status } = event;
  const { limit, param, path, requestedModel } = event;
  const minute = minuteAt(state, nowMs);
  minute.refused += 1;
  countRefusal(minute, code, reason ?? '');
  const ids = { requestId, keyId, group, protocol, modelId };
  const why = { code, reason, status, limit, param, path, requestedModel };
  rememberRefusal(state.refusals, { kind: 'refusal', atMs: nowMs, ...ids, ...why });
}

function minuteOf(minute: MinuteState): NowBucket {
  const { startMs, complete, refused, failed, left, chargeNanos, firstByte } = minute;
  const counts = { startMs, complete, refused, failed, left };
  return { ...counts, ...percentilesOf(firstByte), chargeNanos };
}

export const liveMinutes = 60;
const minuteMs = 60_000;
const maxRefusalKinds = 16;
const maxRecent = 200;
const maxKeys = 1_000;
const maxPerList = 64;

interface MinuteState {
  startMs: number;
  complete: number;
  refused: number;
  failed: number;
  left: number;
  chargeNanos: bigint;
  readonly firstByte: Histogram;
  /** By code and reason. */
  readonly refusals: Map<string, CountedRefusals>;
}

interface FailingPort extends Pick<PortFailure, 'operation' | 'reason'> {
  readonly port: string;
  readonly member: string | undefined;
  readonly problem: string | undefined;
  readonly code: string | undefined;
  /** Of a store that is down: what it says, in a line. */
  readonly cause: string | undefined;
  readonly sinceMs: number;
  readonly lastMs: number;
}

/** A call of which nobody knows whether it ran. */
interface CallInDoubt extends Pick<UsageRecord, 'requestId' | 'keyId' | 'modelId'> {
  readonly atMs: number;
}

/** Every list is bounded: the state stays below a megabyte, whatever callers send. */
function emptyLiveState() {
  const minutes: MinuteState[] = [];
  const calls: CallSummary[] = [];
  const refusals: SeenRefusals = { kinds: new Map(), size: 0 };
  /** When each was lost. */
  const lostSettlements: number[] = [];
  const channels: LiveChannels = new Map();
  return {
    ...{ minutes, calls, refusals, lostSettlements, channels },
    lastUsedMs: new Map<string, number>(),
    ports: new Map<string, FailingPort>(),
    inDoubt: new Map<string, CallInDoubt>(),
    lowQuotas: new Map<string, { subject: string; percent: number; atMs: number }>(),
    /** Catalogs and files whose newest version is invalid, so that an older one is in use. */
    staleSources: new Map<string, { readonly reason: string; readonly sinceMs: number }>(),
  };
}

export type LiveState = ReturnType<typeof emptyLiveState>;

/** The minute of a time. It is emptied first if it still holds the counts of an hour ago. */
function minuteAt({ minutes }: LiveState, nowMs: number): MinuteState {
  const startMs = Math.floor(nowMs / minuteMs) * minuteMs;
  const index = (startMs / minuteMs) % liveMinutes;
  const known = minutes[index];
  if (known !== undefined && known.startMs === startMs) return known;
  const fresh = emptyMinute(startMs);
  minutes[index] = fresh;
  return fresh;
}

/** The minutes until now, oldest first; those without calls are empty. */
export function minutesUntil(state: LiveState, nowMs: number, count: number): MinuteState[] {
  const lastMs = Math.floor(nowMs / minuteMs) * minuteMs;
  return Array.from({ length: count }, (_, index) => {
    const startMs = lastMs - (count - 1 - index) * minuteMs;
    const known = state.minutes[(startMs / minuteMs) % liveMinutes];
    return known?.startMs === startMs ? known : emptyMinute(startMs);
  });
}

function emptyMinute(startMs: number): MinuteState {
  return {
    startMs,
    complete: 0,
    refused: 0,
    failed: 0,
    left: 0,
    chargeNanos: 0n,
    firstByte: emptyHistogram(),
    refusals: new Map(),
  };
}

/** Counts a refusal by its code and reason; after 16 kinds in a minute, as `other`. */
function countRefusal(minute: MinuteState, code: string, reason: string): void {
  const name = `${code}\n${reason}`;
  const isOther = minute.refusals.size >= maxRefusalKinds && !minute.refusals.has(name);
  const kind = isOther ? { code: 'other', reason: '' } : { code, reason };
  const { count } = minute.refusals.get(isOther ? 'other' : name) ?? { count: 0 };
  minute.refusals.set(isOther ? 'other' : name, { ...kind, count: count + 1 });
}

function addRecent<T>(list: T[], entry: T): void {
  list.push(entry);
  if (list.length > maxRecent) list.shift();
}

/** Sets an entry; if the map becomes too large, the entry that was set longest ago is dropped. */
export function setBounded<T>(
  map: Map<string, T>,
  name: string,
  value: T,
  max: number = maxPerList,
): void {
  map.delete(name);
  map.set(name, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}

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
