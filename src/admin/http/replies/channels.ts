/** The replies about channels and catalogs, and the form of every error. */
import { z } from 'zod';
import { type AdminErrorCode, adminErrorCodes } from '../../admin-error.ts';
import type { CatalogCheck } from '../../catalogs.ts';
import type { ChannelChanged, ModelChannels } from '../../channels.ts';
import type { JsonOf } from './json-of.ts';
import { count, durationMs, explainedReply, reason, timeMs } from './parts.ts';

/** `GET /channels`. */
export type ModelsReply = JsonOf<{ readonly data: readonly ModelChannels[] }>;
/** Every change of a channel. */
export type ChannelChangedReply = JsonOf<ChannelChanged>;
/** `POST /catalog/validate`. */
export type CatalogCheckReply = JsonOf<CatalogCheck>;
/** The reply of every route with a status of 400 or more. */
export interface ErrorReply {
  readonly error: {
    readonly code: AdminErrorCode;
    readonly message: string;
    /** The member or parameter that is wrong. */
    readonly field?: string;
  };
}

const channel = z.strictObject({
  channelId: z.string(),
  dialect: z.string(),
  upstreamModel: z.string(),
  priority: z.int(),
  weight: z.number().min(0),
  groups: z.array(z.string()).nullable(),
  inFlight: count,
  maxConcurrentCalls: count.nullable(),
  firstByteP95Ms: durationMs.nullable(),
  hasCost: z.boolean(),
  state: z.enum(['ready', 'cooling_down', 'deprioritized', 'open', 'half_open', 'refused', 'off']),
  reason: reason.nullable(),
  ...explainedReply,
  untilMs: timeMs.nullable(),
});

/** The schema of {@link ModelsReply}. */
export const modelsReply: z.ZodType<ModelsReply> = z.strictObject({
  data: z.array(
    z.strictObject({
      modelId: z.string(),
      aliases: z.array(z.string()),
      groups: z.array(z.string()),
      channels: z.array(channel),
    }),
  ),
});

/** The schema of {@link ChannelChangedReply}. */
export const channelChangedReply: z.ZodType<ChannelChangedReply> = z.strictObject({
  channelId: z.string(),
  where: z.enum(['process', 'everywhere']),
  before: z.array(z.strictObject({ modelId: z.string(), weight: z.number().min(0) })),
});

/** The schema of {@link CatalogCheckReply}. */
export const catalogCheckReply: z.ZodType<CatalogCheckReply> = z.discriminatedUnion('valid', [
  z.strictObject({ valid: z.literal(true), models: count, problem: z.null() }),
  z.strictObject({ valid: z.literal(false), models: count, problem: z.string() }),
]);

/** The schema of {@link ErrorReply}. */
export const errorReply: z.ZodType<ErrorReply> = z.strictObject({
  error: z.strictObject({
    code: z.enum(adminErrorCodes),
    message: z.string(),
    field: z.string().exactOptional(),
  }),
});
