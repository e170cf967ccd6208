/** A call and a refusal as operators see them: ids, figures and reasons, never content. */
import type { FailureReason } from '../failure-reasons.ts';
import type { CallAttempt, UsageRecord } from '../ports/usage-sink.ts';
import { type Explained, explained, explainedRefusal } from './explained.ts';

/** A call that had reserved quota. */
export interface CallSummary {
  readonly kind: 'call';
  /** The `x-request-id` of the reply. Callers may choose it, so several calls may have the same. */
  readonly requestId: string;
  /** The id of the hold; unique. */
  readonly reservationId: string;
  readonly startedAtMs: number;
  readonly keyId: string;
  readonly group: string;
  readonly protocol: string;
  readonly modelId: string;
  readonly channelId: string | undefined;
  readonly streamed: boolean;
  readonly status: number;
  readonly outcome: UsageRecord['outcome'];
  readonly reason: FailureReason | undefined;
  readonly durationMs: number;
  readonly firstByteMs: number | undefined;
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly heldNanos: bigint;
  readonly chargeNanos: bigint;
  readonly costNanos: bigint | undefined;
  readonly booked: boolean;
}

/** A request that was refused before it reserved quota, with its explanation. */
export interface RefusalSummary extends SeenRefusal, Explained {}

/** A request that was refused, as this process remembers it. */
export interface SeenRefusal {
  readonly kind: 'refusal';
  readonly requestId: string;
  readonly atMs: number;
  readonly keyId: string | undefined;
  readonly group: string | undefined;
  readonly protocol: string | undefined;
  readonly modelId: string | undefined;
  readonly code: string;
  readonly reason: FailureReason | undefined;
  readonly status: number;
  /** The limit that was reached: `key:calls/minute`. */
  readonly limit: string | undefined;
  /** The member of the request that is wrong. */
  readonly param: string | undefined;
  /** The path, if it is not one of a call. */
  readonly path: string | undefined;
  /** The model that the caller named, which may be none. */
  readonly requestedModel: string | undefined;
}

/** An attempt on a channel, with the explanation of its reason. */
export interface AttemptDetail extends CallAttempt, Explained {}

/** Everything that is known about a call. */
export interface CallDetail extends CallSummary, Explained {
  readonly upstreamModel: string | undefined;
  readonly attempts: readonly AttemptDetail[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly basis: UsageRecord['basis'];
  readonly revision: number;
  /** What was held for it, by subject. */
  readonly lines: UsageRecord['lines'];
  /** Nobody knows yet whether the call ran: its money is held until `resolve`. */
  readonly isInDoubt: boolean;
}

export function refusalSummary(refusal: SeenRefusal): RefusalSummary {
  return { ...refusal, ...explainedRefusal(refusal) };
}

export function callSummary(record: UsageRecord): CallSummary {
  const { usage } = record;
  return {
    kind: 'call',
    requestId: record.requestId,
    reservationId: record.reservationId,
    startedAtMs: record.startedAtMs,
    keyId: record.keyId,
    group: record.group,
    protocol: record.protocol,
    modelId: record.modelId,
    channelId: record.channelId,
    streamed: record.streamed,
    status: record.status,
    outcome: record.outcome,
    reason: record.reason,
    durationMs: record.durationMs,
    firstByteMs: record.firstByteMs,
    inputTokens: usage?.inputTokens,
    outputTokens: usage?.outputTokens,
    heldNanos: record.heldNanos,
    chargeNanos: record.chargeNanos,
    costNanos: record.costNanos,
    booked: record.booked,
  };
}

export function callDetail(record: UsageRecord): CallDetail {
  return {
    ...callSummary(record),
    ...explained(record.reason),
    upstreamModel: record.upstreamModel,
    attempts: record.attempts.map(({ channelId, status, reason, mayHaveRun, durationMs }) => ({
      channelId,
      status,
      reason,
      mayHaveRun,
      durationMs,
      ...explained(reason),
    })),
    metadata: record.metadata ?? {},
    basis: record.basis,
    revision: record.revision,
    lines: record.lines.map(({ subject, period, heldNanos }) => ({ subject, period, heldNanos })),
    isInDoubt: record.outcome === 'unknown' && !record.booked,
  };
}
