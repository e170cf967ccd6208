/** The replies about calls, reports and books. */
import { z } from 'zod';
import { callOutcomes } from '../../../ports/usage-sink.ts';
import type { Reconciliation } from '../../../stores/sql/reconcile.ts';
import type { CallPage, CallsOfRequest, Resolved } from '../../calls.ts';
import type { UsageReportPage } from '../../usage.ts';
import type { JsonOf } from './json-of.ts';
import {
  amount,
  count,
  durationMs,
  explainedReply,
  metadata,
  reason,
  signedAmount,
  timeMs,
} from './parts.ts';

/** `GET /calls`. */
export type CallPageReply = JsonOf<CallPage>;
/** `GET /calls/{id}`. */
export type CallsOfRequestReply = JsonOf<CallsOfRequest>;
/** `POST /calls/{id}/resolve`. */
export type ResolveReply = JsonOf<Resolved>;
/** `GET /usage`. */
export type UsageReply = JsonOf<UsageReportPage>;
/** `GET /books`. */
export type BooksReply = JsonOf<{ readonly data: readonly Reconciliation[] }>;

const summary = {
  kind: z.literal('call'),
  requestId: z.string(),
  reservationId: z.string(),
  startedAtMs: timeMs,
  keyId: z.string(),
  group: z.string(),
  protocol: z.string(),
  modelId: z.string(),
  channelId: z.string().nullable(),
  streamed: z.boolean(),
  status: count,
  outcome: z.enum(callOutcomes),
  reason: reason.nullable(),
  durationMs,
  firstByteMs: durationMs.nullable(),
  inputTokens: count.nullable(),
  outputTokens: count.nullable(),
  heldNanos: amount,
  chargeNanos: amount,
  costNanos: amount.nullable(),
  booked: z.boolean(),
};

const refusal = z.strictObject({
  kind: z.literal('refusal'),
  requestId: z.string(),
  atMs: timeMs,
  keyId: z.string().nullable(),
  group: z.string().nullable(),
  protocol: z.string().nullable(),
  modelId: z.string().nullable(),
  code: z.string(),
  reason: reason.nullable(),
  ...explainedReply,
  status: count,
  param: z.string().nullable(),
  path: z.string().nullable(),
  requestedModel: z.string().nullable(),
});

const detail = z.strictObject({
  ...summary,
  ...explainedReply,
  upstreamModel: z.string().nullable(),
  attempts: z.array(
    z.strictObject({
      channelId: z.string(),
      status: count.nullable(),
      reason: reason.nullable(),
      mayHaveRun: z.boolean(),
      durationMs,
      ...explainedReply,
    }),
  ),
  metadata,
  basis: z.enum(['usage', 'counted', 'estimate', 'policy']),
  revision: count,
  lines: z.array(z.strictObject({ subject: z.string(), period: z.string(), heldNanos: amount })),
  isInDoubt: z.boolean(),
});

/** The schema of {@link CallPageReply}. */
export const callPageReply: z.ZodType<CallPageReply> = z.strictObject({
  data: z.array(z.discriminatedUnion('kind', [z.strictObject(summary), refusal])),
  next: z.string().nullable(),
  source: z.enum(['log', 'process']),
});

/** The schema of {@link CallsOfRequestReply}. */
export const callsOfRequestReply: z.ZodType<CallsOfRequestReply> = z.strictObject({
  requestId: z.string(),
  calls: z.array(detail),
  refusals: z.array(refusal),
});

/** The schema of {@link ResolveReply}. */
export const resolveReply: z.ZodType<ResolveReply> = z.union([
  z.strictObject({ status: z.enum(['settled', 'released']) }),
  z.strictObject({ status: z.literal('settled_late'), from: z.enum(['expired', 'unknown']) }),
  z.strictObject({ status: z.literal('already'), charged: z.array(amount) }),
  z.strictObject({
    status: z.literal('already'),
    as: z.enum(['settled', 'released', 'expired']),
  }),
]);

const money = {
  chargeNanos: amount,
  unbookedNanos: amount,
  costNanos: amount.nullable(),
  marginNanos: signedAmount.nullable(),
};

const row = z.strictObject({
  names: z.array(z.string()),
  calls: count,
  inputTokens: count,
  cachedInputTokens: count,
  cacheWrite5mTokens: count,
  cacheWrite1hTokens: count,
  audioInputTokens: count,
  imageInputTokens: count,
  videoInputTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  audioOutputTokens: count,
  imageOutputTokens: count,
  images: count,
  ...money,
});

/** The schema of {@link UsageReply}. */
export const usageReply: z.ZodType<UsageReply> = z.strictObject({
  data: z.array(row),
  next: z.string().nullable(),
  total: z.strictObject({ calls: count, ...money }),
});

/** The schema of {@link BooksReply}. */
export const booksReply: z.ZodType<BooksReply> = z.strictObject({
  data: z.array(
    z.strictObject({
      partition: z.string(),
      subject: z.string(),
      period: z.string(),
      bookedNanos: amount,
      unbookedNanos: amount,
      usedNanos: amount,
      unloggedNanos: signedAmount,
    }),
  ),
});
