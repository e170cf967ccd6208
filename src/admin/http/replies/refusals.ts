/** The reply about recorded refusals. */
import { z } from 'zod';
import type { RefusalReason, RefusalReportPage } from '../../refusals.ts';
import type { JsonOf } from './json-of.ts';
import { count, refusalCountReply, timeMs } from './parts.ts';

/** `GET /refusals`. */
export type RefusalsReply = JsonOf<RefusalReportPage>;
/** `GET /refusals/reasons`. */
export type RefusalReasonsReply = JsonOf<{ readonly data: readonly RefusalReason[] }>;

/** The schema of {@link RefusalsReply}. */
export const refusalsReply: z.ZodType<RefusalsReply> = z.strictObject({
  data: z.array(z.strictObject({ names: z.array(z.string()), refusals: count })),
  next: z.string().nullable(),
  total: z.strictObject({ refusals: count }),
});

/** The schema of {@link RefusalReasonsReply}. */
export const refusalReasonsReply: z.ZodType<RefusalReasonsReply> = z.strictObject({
  data: z.array(
    z.strictObject({
      ...refusalCountReply,
      ...{ source: z.enum(['log', 'process']), sinceMs: timeMs, lastMs: timeMs.nullable() },
    }),
  ),
});
