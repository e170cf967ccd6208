/** Schemas and defaults for the options that the Redis stores share. */

import { hash } from 'node:crypto';
import { z } from 'zod';
import { positive } from '../../ports/set-up.ts';
import { isRedisBytesClient } from './binary-client.ts';
import { isRedisClient } from './client.ts';

export const aRedisClient: z.ZodType = z.custom(
  isRedisClient,
  'must be a node-redis or ioredis client, or an object with send()',
);

/**
 * The same for quota. A client that resends forever could send a settle again after its record of
 * the ended hold has expired, which would charge twice.
 */
export const aQuotaClient: z.ZodType = aRedisClient.refine(
  (client) => !resendsForever(client),
  'must not resend a call forever: with maxRetriesPerRequest null, also set ' +
    'autoResendUnfulfilledCommands to false',
);

/** A prefix of keys. No braces: in a cluster they would select the node. */
export const aPrefix: z.ZodType = z
  .string('must match /^[A-Za-z0-9._:-]{1,64}$/')
  .regex(/^[A-Za-z0-9._:-]{1,64}$/, 'must match /^[A-Za-z0-9._:-]{1,64}$/');

export const bytesStoreOptions: {
  readonly client: z.ZodType;
  readonly prefix: z.ZodType;
  readonly maxBytes: z.ZodType;
} = {
  client: z.custom(isRedisBytesClient, 'must be a node-redis client, 5 or newer, or an ioredis'),
  prefix: aPrefix.optional(),
  maxBytes: positive.optional(),
};

export const defaultMaxBytes: number = 64 * 1024 * 1024;

export const remedies: Readonly<Record<string, string>> = {
  client: 'Pass in the client that your app connected',
};

export const defaultPrefix = 'tollgate';

function resendsForever(client: unknown): boolean {
  const options = memberOf(client, 'options');
  return (
    memberOf(options, 'maxRetriesPerRequest') === null &&
    memberOf(options, 'autoResendUnfulfilledCommands') !== false
  );
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

const separators: Readonly<Record<string, string>> = {
  '%': '%25',
  '{': '%7B',
  '|': '%7C',
  '}': '%7D',
};

/**
 * An id as a part of a Redis key: without the braces in which a cluster looks for the slot, and
 * without the `|` that ends a subject.
 */
export function escaped(id: string): string {
  return id.replace(/[%{|}]/g, (separator) => separators[separator] ?? '');
}

/** 128 bits of a digest. */
export function ownerName(owner: string): string {
  return hash('sha256', owner, 'hex').slice(0, 32);
}
