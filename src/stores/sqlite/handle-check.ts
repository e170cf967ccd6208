/** Checks the handle that all stores in SQLite take. */
import type { z } from 'zod';
import { aClock, methods } from '../../ports/set-up.ts';

/** The schema of each maker's `client`. */
export const aHandle: z.ZodType = methods('exec', 'prepare');

/** The members that each maker of a store with times has. */
export const handleAndClock: Readonly<Record<'client' | 'clock', z.ZodType>> = {
  client: aHandle,
  clock: aClock.optional(),
};

/** The remedy for each maker's `client`. */
export const handleRemedy: Readonly<Record<'client', string>> = {
  client: 'Give it an open database of libsql, better-sqlite3 or node:sqlite',
};
