/** The live figures of this process, fed by the events of the gateway. */
import type { Clock } from '../clock.ts';
import type { GatewayEvent } from '../events.ts';
import { isInDoubt, type UsageRecord } from '../ports/usage-sink.ts';
import { summaryOf } from '../thrown.ts';
import { type CallSummary, callSummary, type SeenRefusal } from './call-summary.ts';
import {
  addRecent,
  addTime,
  countFirstByte,
  countRefusal,
  emptyLiveState,
  firstBytesOf,
  type LiveState,
  liveMinutes,
  type MinuteState,
  minuteAt,
  minutesUntil,
  percentile,
  percentilesOf,
  recordKeyUse,
  setBounded,
} from './live-state.ts';
import {
  latestRefusals,
  type RefusalCount,
  refusalCounts,
  rememberRefusal,
} from './refusal-counts.ts';

/**
 * The calls of a minute, an hour or a day. Minutes of this process count a call when it ends, hours
 * and days of the log when it began.
 */
export interface NowBucket {
  /** Unix ms. */
  readonly startMs: number;
  readonly complete: number;
  /** Refused before they reserved quota; undefined where only the usage log is known. */
  readonly refused: number | undefined;
  readonly failed: number;
  /** The caller disconnected. */
  readonly left: number;
  /** From the start of a call to its first byte; undefined without calls. */
  readonly firstByteP50Ms: number | undefined;
  readonly firstByteP95Ms: number | undefined;
  readonly chargeNanos: bigint;
}

/** The events that are counted; others are ignored. */
export type LiveEvent =
  | { readonly type: 'call_ended' | 'call_booked'; readonly record: UsageRecord }
  | ({ readonly type: 'call_refused' } & Omit<SeenRefusal, 'kind' | 'atMs' | keyof Detail> &
      Partial<Detail>)
  | {
      readonly type: 'port_failed';
      readonly port: string;
      readonly operation: string;
      readonly reason: string;
      readonly member?: string;
      readonly problem?: string;
      readonly code?: string;
      readonly error?: unknown;
    }
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

export interface Live {
  readonly state: LiveState;
  add(event: LiveEvent | GatewayEvent): void;
  minutes(count?: number): readonly NowBucket[];
  /** Sums of the last minutes, most frequent first. */
  refusals(count?: number): readonly RefusalCount[];
  lastUsedMs(keyId: string): number | undefined;
  /** The latest calls and refusals, newest first. */
  recentCalls(): readonly CallSummary[];
  recentRefusals(): readonly SeenRefusal[];
  channelP95Ms(channelId: string): number | undefined;
}

export function liveFigures(clock: Clock): Live {
  const state = emptyLiveState();
  return {
    state,
    add: (event) => count(state, event, clock.now()),
    minutes: (count = liveMinutes) => minutesUntil(state, clock.now(), count).map(minuteOf),
    refusals: (count = liveMinutes) =>
      refusalCounts(
        minutesUntil(state, clock.now(), count).flatMap(({ refusals }) => [...refusals.values()]),
        state.refusals,
      ),
    lastUsedMs: (keyId) => state.lastUsedMs.get(keyId),
    recentCalls: () => state.calls.toReversed(),
    recentRefusals: () => latestRefusals(state.refusals),
    channelP95Ms: (channelId) => percentile(firstBytesOf(state, channelId, clock.now()), 0.95),
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
      const { sinceMs = nowMs, count = 0 } = state.ports.get(name) ?? {};
      // Other errors are of the host, whose messages may quote anything.
      const cause = reason === 'StoreUnavailable' && error ? summaryOf(error) : undefined;
      const what = { port, operation, reason, member, problem, code, cause };
      return setBounded(state.ports, name, { ...what, sinceMs, lastMs: nowMs, count: count + 1 });
    }
    case 'quota_low': {
      const { subject, period, percent } = event;
      return setBounded(state.lowQuotas, `${subject}|${period}`, { subject, percent, atMs: nowMs });
    }
    case 'settlement_lost':
      return addRecent(state.lostSettlements, { sinceMs: nowMs, lastMs: nowMs, count: 1 });
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
  const { keyId, modelId, requestId, channelId, firstByteMs } = record;
  const minute = minuteAt(state, nowMs);
  minute[seriesOf(record.outcome)] += 1;
  minute.chargeNanos += record.chargeNanos;
  if (firstByteMs !== undefined) {
    addTime(minute.firstByte, firstByteMs);
    if (channelId !== undefined) countFirstByte(state, channelId, firstByteMs, nowMs);
  }
  recordKeyUse(state, keyId, nowMs);
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
