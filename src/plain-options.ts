/**
 * The options that are plain data, one row each: its check and its default. They can also be
 * written in a configuration file: see src/command.
 */
import { z } from 'zod';
import type { GatewayOptions } from './gateway-options.ts';
import type { KeyRateLimits } from './ports/limits/rates.ts';
import { keyRatesSchema } from './ports/limits/rates-schema.ts';
import { flag, oneOf, positive, strict, text, wait } from './ports/set-up.ts';
import type { Timeouts } from './ports/timeouts.ts';
import { anthropicKeyHeader } from './protocols/callers/anthropic.ts';
import { bearerHeader } from './protocols/callers/key-header.ts';

const lease =
  'must be an integer from 5,000 to 900,000 ms, because leases are renewed once a second at most';
const headerNames = 'must be a non-empty list of header names in lower case';
/** These headers have other meanings: the keys of the other APIs, and the host's sessions. */
const otherHeaders: ReadonlySet<string> = new Set([bearerHeader, 'cookie', anthropicKeyHeader]);
const nativeKeyHeader = z
  .string(headerNames)
  .regex(/^[a-z0-9-]+$/, headerNames)
  .refine(
    (name) => !otherHeaders.has(name),
    'must not be authorization, cookie or x-api-key, which have other meanings',
  );

const timeouts = strict('must be an object', {
  connectMs: wait.default(5_000),
  firstByteStreamedMs: wait.default(120_000),
  firstByteMs: wait.default(300_000),
  idleMs: wait.default(120_000),
  firstTokenMs: wait.default(300_000),
  quietMs: wait.default(15_000),
  totalMs: wait.default(900_000),
} satisfies Record<keyof Timeouts, z.ZodType<number>>);

export const plainOptions = {
  defaultRates: keyRatesSchema.pipe(z.custom<readonly KeyRateLimits[]>()).optional(),
  dedupeSdkRetries: flag.default(false),
  nativeKeyHeaders: z
    .array(nativeKeyHeader, headerNames)
    .min(1, headerNames)
    .default(['x-vendor-api-key', 'x-goog-api-key']),
  allowQueryKey: flag.default(false),
  unserved: z.enum(['refuse', 'pass'], oneOf(['refuse', 'pass'])).default('refuse'),
  ownerRoutes: flag.default(false),
  azurePaths: flag.default(false),
  defaultImageModel: text('must be the id of a model').optional(),
  maxBodyBytes: positive.default(32 * 1024 * 1024),
  maxImageBodyBytes: positive.default(1024 * 1024),
  maxBufferedBytes: positive.default(256 * 1024 * 1024),
  maxConcurrentCalls: positive.default(10_000),
  maxEmbeddingPieces: positive.default(32),
  timeouts: timeouts.prefault({}),
  callerStallMs: wait.default(30_000),
  leaseMs: z.int(lease).min(5_000, lease).max(900_000, lease).default(30_000),
  storeTimeoutMs: wait.default(1_000),
} satisfies { readonly [Name in keyof GatewayOptions]?: z.ZodType<GatewayOptions[Name]> };

export const plainDefaults = z.strictObject(plainOptions).parse({});
