/** Schemas for the options that stores have in every database. */
import { z } from 'zod';
import { aClock, aFunction, flag, positive, text, wait } from '../../ports/set-up.ts';
import type { SqlItemStoreOptions } from './item-store.ts';
import type { SqlKeyStoreOptions } from './key-store.ts';
import type { SqlResultStoreOptions } from './result-store.ts';
import type { SqlUsageSinkOptions } from './usage/sink.ts';

export const keyStoreMembers: Readonly<Record<keyof SqlKeyStoreOptions, z.ZodType>> = {
  pepper: text('must be text').optional(),
  allowWeakKeys: flag.optional(),
  // `cachedKeyStore` checks its members.
  cache: z.union([z.literal(false), z.looseObject({})], 'must be false or an object').optional(),
};

export const itemStoreMembers: Readonly<Record<keyof SqlItemStoreOptions, z.ZodType>> = {
  maxBytes: positive.optional(),
  maxItemBytes: positive.optional(),
};

export const resultStoreMembers: Readonly<Record<keyof SqlResultStoreOptions, z.ZodType>> = {
  maxBytes: positive.optional(),
  maxAgeMs: positive.optional(),
};

export const usageSinkMembers: Readonly<Record<keyof SqlUsageSinkOptions, z.ZodType>> = {
  flushMs: wait.optional(),
  maxBufferedRecords: positive.optional(),
  onError: aFunction.optional(),
  onLost: aFunction.optional(),
  clock: aClock.optional(),
};
