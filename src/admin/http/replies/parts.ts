/** Schemas that several replies share. */
import { z } from 'zod';
import { type FailureReason, failureReasons } from '../../../failure-reasons.ts';

/** Unix ms. */
export const timeMs: z.ZodType<number> = z.int().min(0);

/** A number of things. */
export const count: z.ZodType<number> = z.int().min(0);

/** A duration in ms. */
export const durationMs: z.ZodType<number> = z.number().min(0);

/** An amount that is never negative, as a decimal string of nanos. */
export const amount: z.ZodType<string> = z.string().regex(/^\d{1,30}$/);

/** An amount that may be negative. */
export const signedAmount: z.ZodType<string> = z.string().regex(/^-?\d{1,30}$/);

/** The metadata that a host gives to a key or a call. */
export const metadata: z.ZodType<Readonly<Record<string, string>>> = z.record(
  z.string(),
  z.string(),
);

/** The explanation of a reason. */
export const explainedReply: {
  readonly meaning: z.ZodType<string | null>;
  readonly remedy: z.ZodType<string | null>;
} = { meaning: z.string().nullable(), remedy: z.string().nullable() };

/** How often requests were refused for one reason. */
export const refusalCountReply: {
  readonly code: z.ZodType<string>;
  readonly reason: z.ZodType<FailureReason | null>;
  readonly count: z.ZodType<number>;
  readonly detail: z.ZodType<string | null>;
  readonly meaning: z.ZodType<string | null>;
  readonly remedy: z.ZodType<string | null>;
} = {
  code: z.string(),
  reason: z.enum(failureReasons).nullable(),
  count,
  detail: z.string().nullable(),
  ...explainedReply,
};

/** A failure reason; `docs/events.md` explains each. */
export const reason: z.ZodType<FailureReason> = z.enum(failureReasons);
