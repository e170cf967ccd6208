/**
 * The schemas of the options that are plain data, and can therefore also be written in a
 * configuration file: see src/command.
 */
import { z } from 'zod';
import { keyRatesSchema } from './ports/rates-schema.ts';
import { flag, oneOf, positive, text, wait } from './ports/set-up.ts';
import type { Timeouts } from './ports/timeouts.ts';
import { anthropicKeyHeader } from './protocols/callers/anthropic.ts';
import { bearerHeader } from './protocols/callers/bearer.ts';

const lease =
  'must be an integer from 5,000 to 900,000 ms, because leases are renewed once a second at most';
const headerNames = 'must be a non-empty list of header names in lower case';
/** These headers have other meanings: the keys of the other APIs, and the host's sessions. */
const otherHeaders: ReadonlySet<string> = new Set([bearerHeader, 'cookie', anthropicKeyHeader]);
const nativeKeyHeader: z.ZodType = z
  .string(headerNames)
  .regex(/^[a-z0-9-]+$/, headerNames)
  .refine(
    (name) => !otherHeaders.has(name),
    'must not be authorization, cookie or x-api-key, which have other meanings',
  );

const timeouts: z.ZodType = z.strictObject(
  {
    connectMs: wait.optional(),
    firstByteStreamedMs: wait.optional(),
    firstByteMs: wait.optional(),
    idleMs: wait.optional(),
    firstTokenMs: wait.optional(),
    quietMs: wait.optional(),
    totalMs: wait.optional(),
  } satisfies Record<keyof Timeouts, z.ZodType>,
  'must be an object',
);

/** The names of the options that are plain data. */
export type PlainOption =
  | 'defaultRates'
  | 'dedupeSdkRetries'
  | 'nativeKeyHeaders'
  | 'allowQueryKey'
  | 'unserved'
  | 'ownerRoutes'
  | 'defaultImageModel'
  | 'maxBodyBytes'
  | 'maxImageBodyBytes'
  | 'maxBufferedBytes'
  | 'maxConcurrentCalls'
  | 'maxEmbeddingPieces'
  | 'timeouts'
  | 'callerStallMs'
  | 'leaseMs'
  | 'storeTimeoutMs';

/** The schema of each of them. */
export const plainOptions: Readonly<Record<PlainOption, z.ZodOptional<z.ZodType>>> = {
  defaultRates: z.optional(keyRatesSchema),
  dedupeSdkRetries: z.optional(flag),
  nativeKeyHeaders: z.optional(z.array(nativeKeyHeader, headerNames).min(1, headerNames)),
  allowQueryKey: z.optional(flag),
  unserved: z.optional(z.enum(['refuse', 'pass'], oneOf(['refuse', 'pass']))),
  ownerRoutes: z.optional(flag),
  defaultImageModel: z.optional(text('must be the id of a model')),
  maxBodyBytes: z.optional(positive),
  maxImageBodyBytes: z.optional(positive),
  maxBufferedBytes: z.optional(positive),
  maxConcurrentCalls: z.optional(positive),
  maxEmbeddingPieces: z.optional(positive),
  timeouts: z.optional(timeouts),
  callerStallMs: z.optional(wait),
  leaseMs: z.optional(z.int(lease).min(5_000, lease).max(900_000, lease)),
  storeTimeoutMs: z.optional(wait),
};
