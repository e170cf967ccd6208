/** The reply about recorded refusals. */
import { z } from 'zod';
import type { RefusalReportPage } from '../../refusals.ts';
import type { JsonOf } from './json-of.ts';
import { count } from './parts.ts';

/** `GET /refusals`. */
export type RefusalsReply = JsonOf<RefusalReportPage>;

/** The schema of {@link RefusalsReply}. */
export const refusalsReply: z.ZodType<RefusalsReply> = z.strictObject({
  data: z.array(z.strictObject({ names: z.array(z.string()), refusals: count })),
  next: z.string().nullable(),
  total: z.strictObject({ refusals: count }),
});
