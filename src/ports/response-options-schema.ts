/**
 * Validates the option `responses`. Separate from its types, so that hosts can compile those
 * without zod's.
 */
import { z } from 'zod';
import type { ResponseOptions } from './response-options.ts';
import { methods, oneOf, positive, wait } from './set-up.ts';

/** One lookup has this many ids at most; see `ResponseIndex`. */
const most = 1_024;
const count = `must be a positive integer of at most ${most}`;

/** The schema of the option. */
export const responseOptionsSchema: z.ZodType = z.strictObject(
  {
    index: methods('remember', 'find', 'forget').optional(),
    items: z
      .union(
        [z.literal(false), methods('put', 'get', 'forget')],
        'must be false or an object with put(), get(), forget()',
      )
      .optional(),
    unknownReferences: z.enum(['refuse', 'relay'], oneOf(['refuse', 'relay'])).optional(),
    maxReferences: z.int(count).positive(count).max(most, count).optional(),
    indexTtlMs: positive.optional(),
    itemTtlMs: wait.optional(),
  } satisfies Record<keyof ResponseOptions, z.ZodType>,
  'must be an object',
);
