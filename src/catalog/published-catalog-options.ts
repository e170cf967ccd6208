/** Checks the options that the catalogs of all databases share. No published type may name zod. */
import { z } from 'zod';
import { aClock, aFunction, wait } from '../ports/set-up.ts';
import type { PublishedCatalogOptions } from './published-catalog.ts';

/** Schemas for {@link PublishedCatalogOptions}, to which a maker adds those of its own options. */
export const publishedCatalogShape: Readonly<
  Record<keyof PublishedCatalogOptions, z.ZodOptional<z.ZodType>>
> = {
  credentials: z.optional(aFunction),
  prices: z.optional(aFunction),
  onEvent: z.optional(aFunction),
  clock: z.optional(aClock),
  pollMs: z.optional(wait),
};
