/** What the makers of all three Redis stores check of their options. */
import { z } from 'zod';
import { isRedisClient } from './client.ts';

/** A client we know how to use. */
export const aRedisClient: z.ZodType = z.custom(
  isRedisClient,
  'must be a node-redis or ioredis client, or an object with send()',
);

/**
 * The same for quota. Such a client sends again what was given up, without an end: a settle perhaps
 * after its tombstone, and then it charges twice.
 */
export const aQuotaClient: z.ZodType = aRedisClient.refine(
  (client) => !resendsForEver(client),
  'must not send a call again for ever: beside maxRetriesPerRequest null set ' +
    'autoResendUnfulfilledCommands to false',
);

/** What keys begin with: no brace, for what stands in braces decides on the node of a cluster. */
export const aPrefix: z.ZodType = z
  .string('must match /^[A-Za-z0-9._:-]{1,64}$/')
  .regex(/^[A-Za-z0-9._:-]{1,64}$/, 'must match /^[A-Za-z0-9._:-]{1,64}$/');

/** The cures of the options that all three have. */
export const cures: Readonly<Record<string, string>> = {
  client: 'Hand in the client that your app connected',
};

/** What every key begins with, where nothing else is said. */
export const defaultPrefix = 'tollgate';

function resendsForEver(client: unknown): boolean {
  const options = memberOf(client, 'options');
  return (
    memberOf(options, 'maxRetriesPerRequest') === null &&
    memberOf(options, 'autoResendUnfulfilledCommands') !== false
  );
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
