/**
 * Validates the option `responses`. Separate from its types, so that hosts can compile those
 * without zod's.
 */
import { z } from 'zod';
import { methods, oneOf, positive, strict, wait } from '../set-up.ts';
import type { ResponseOptions } from './response-options.ts';

/** One lookup has this many ids at most; see `ResponseIndex`. */
const most = 1_024;
const count = `must be a positive integer of at most ${most}`;

/** The members that are plain data: the check and the default of each. */
export const plainResponseOptions = {
  unknownReferences: z.enum(['refuse', 'relay'], oneOf(['refuse', 'relay'])).default('refuse'),
  maxReferences: z.int(count).positive(count).max(most, count).default(512),
  indexTtlMs: positive.default(24 * 60 * 60 * 1000),
  itemTtlMs: wait.default(60 * 60 * 1000),
} satisfies { readonly [Name in keyof ResponseOptions]: z.ZodType<ResponseOptions[Name]> };

/** The defaults; the stores are made for each gateway. */
export const defaultResponseOptions = z.strictObject(plainResponseOptions).parse({});

/** The schema of the option. */
export const responseOptionsSchema: z.ZodType = strict('must be an object', {
  ...plainResponseOptions,
  index: methods('remember', 'find', 'forget').optional(),
  items: z
    .union(
      [z.literal(false), methods('put', 'get', 'forget')],
      'must be false or an object with put(), get(), forget()',
    )
    .optional(),
} satisfies Record<keyof ResponseOptions, z.ZodType>);
