/** The replies about keys. */
import { z } from 'zod';
import type { Page } from '../../deps.ts';
import type { KeySummary } from '../../key-summary.ts';
import type { RotatedKey, ToppedUpKey } from '../../keys.ts';
import type { JsonOf } from './json-of.ts';
import { amount, count, metadata, signedAmount, timeMs } from './parts.ts';

/** `GET /keys`. */
export type KeyPageReply = JsonOf<Page<KeySummary>>;
/** `GET /keys/{id}`, and the changes of a key. */
export type KeyReply = JsonOf<KeySummary>;
/** `POST /keys/{id}/top-up`. */
export type ToppedUpKeyReply = JsonOf<ToppedUpKey>;
/** `POST /keys`. */
export interface IssuedKeyReply {
  /** Shown once. */
  readonly secret: string;
  readonly key: {
    readonly id: string;
    /** Unix ms; a key that replaces another one expires when that one would have. */
    readonly expiresAtMs: number | null;
  };
  /** Why the key may be of no use, such as that no model has its group. */
  readonly warning: string | null;
}
/** `POST /keys/{id}/rotate`. */
export type RotatedKeyReply = IssuedKeyReply & JsonOf<Pick<RotatedKey, 'replaced'>>;
/** `POST /keys/{id}/remove`. */
export type RemovedKeyReply = Readonly<Record<string, never>>;

const balance = z.strictObject({
  subject: z.string(),
  period: z.enum(['total', 'day', 'month']),
  periodName: z.string(),
  isMain: z.boolean(),
  limitNanos: amount,
  extraNanos: signedAmount,
  usedNanos: amount,
  heldNanos: amount,
  remainingNanos: amount,
  runningCalls: count,
});

const key = {
  id: z.string(),
  group: z.string(),
  isGroupServed: z.boolean().nullable(),
  disabled: z.boolean(),
  expiresAtMs: timeMs.nullable(),
  maxConcurrentCalls: count.nullable(),
  metadata,
  balances: z.array(balance).nullable(),
  lastUsedMs: timeMs.nullable(),
};

/** The schema of {@link KeyReply}. */
export const keyReply: z.ZodType<KeyReply> = z.strictObject(key);

/** The schema of {@link ToppedUpKeyReply}. */
export const toppedUpKeyReply: z.ZodType<ToppedUpKeyReply> = z.strictObject({
  ...key,
  repeated: z.boolean(),
});

/** The schema of {@link KeyPageReply}. */
export const keyPageReply: z.ZodType<KeyPageReply> = z.strictObject({
  data: z.array(keyReply),
  next: z.string().nullable(),
});

const issued = {
  secret: z.string(),
  key: z.strictObject({ id: z.string(), expiresAtMs: timeMs.nullable() }),
  warning: z.string().nullable(),
};

/** The schema of {@link IssuedKeyReply}. */
export const issuedKeyReply: z.ZodType<IssuedKeyReply> = z.strictObject(issued);

/** The schema of {@link RotatedKeyReply}. */
export const rotatedKeyReply: z.ZodType<RotatedKeyReply> = z.strictObject({
  ...issued,
  replaced: z.strictObject({ id: z.string(), expiresAtMs: timeMs }),
});

/** The schema of {@link RemovedKeyReply}. */
export const removedKeyReply: z.ZodType<RemovedKeyReply> = z.strictObject({});
