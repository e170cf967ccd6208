/** The replies about the operator and the current state. */
import { z } from 'zod';
import { portNames } from '../../../ports/port-names.ts';
import { type Now, nowRanges } from '../../now.ts';
import type { AdminSession } from '../session.ts';
import type { JsonOf } from './json-of.ts';
import { amount, count, durationMs, refusalCountReply, signedAmount, timeMs } from './parts.ts';

/** `GET /session`. */
export type SessionReply = JsonOf<AdminSession>;
/** `GET /now`, and each event `now` of `GET /events`. */
export type NowReply = JsonOf<Now>;

/** The schema of {@link SessionReply}. */
export const sessionReply: z.ZodType<SessionReply> = z.strictObject({
  actor: z.string(),
  can: z.enum(['read', 'manage']),
  title: z.string(),
  nowMs: timeMs,
  keyCacheMs: durationMs.nullable(),
  capabilities: z.strictObject({
    listKeys: z.boolean(),
    issueKeys: z.boolean(),
    changeKeys: z.boolean(),
    removeKeys: z.boolean(),
    usageReports: z.boolean(),
    usageRecords: z.boolean(),
    refusalReports: z.boolean(),
    listModels: z.boolean(),
    changeChannels: z.boolean(),
  }),
});

const status = z.strictObject({
  startedAtMs: timeMs,
  isClosing: z.boolean(),
  runningCalls: count,
  bufferedBytes: count,
  openHolds: count,
  outbox: z.strictObject({ waiting: count, oldestMs: durationMs.nullable() }),
  ports: z.array(
    z.strictObject({
      port: z.enum(portNames),
      operation: z.string(),
      calls: count,
      failures: count,
      sumMs: durationMs,
      buckets: z.array(z.strictObject({ leMs: durationMs, count })),
    }),
  ),
});

const bucket = z.strictObject({
  startMs: timeMs,
  complete: count,
  refused: count.nullable(),
  failed: count,
  left: count,
  firstByteP50Ms: durationMs.nullable(),
  firstByteP95Ms: durationMs.nullable(),
  chargeNanos: amount,
});

/** The schema of {@link NowReply}. */
export const nowReply: z.ZodType<NowReply> = z.strictObject({
  range: z.enum(nowRanges),
  source: z.enum(['process', 'log']),
  nowMs: timeMs,
  startedAtMs: timeMs,
  status,
  bucketMs: durationMs,
  buckets: z.array(bucket),
  firstByteP50Ms: durationMs.nullable(),
  firstByteP95Ms: durationMs.nullable(),
  refusals: z.array(z.strictObject(refusalCountReply)),
  sentence: z.array(
    z.strictObject({
      text: z.string(),
      href: z.string(),
      severity: z.enum(['ok', 'warn', 'bad']),
    }),
  ),
  attention: z.array(
    z.strictObject({
      kind: z.enum(['channel', 'quota', 'doubt', 'store', 'host', 'settlement']),
      text: z.string(),
      href: z.string(),
      sinceMs: timeMs.nullable(),
    }),
  ),
  today: z
    .strictObject({
      calls: count,
      chargeNanos: amount,
      unbookedNanos: amount,
      costNanos: signedAmount,
    })
    .nullable(),
});
