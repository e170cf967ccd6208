/** Checks the handle that all stores in SQLite take; apart from it, as the worker needs no zod. */
import { z } from 'zod';
import { aClock, methods } from '../../ports/set-up.ts';

const [handle, database] = [methods('exec', 'prepare'), methods('perform', 'close')];

/** The schema of each maker's `client`. */
export const aHandle: z.ZodType = z.custom(
  (value) => handle.safeParse(value).success || database.safeParse(value).success,
  'must be an object with exec() and prepare(), or what openSqlite() resolves with',
);

/** The members that each maker of a store with times has. */
export const handleAndClock: Readonly<Record<'client' | 'clock', z.ZodType>> = {
  client: aHandle,
  clock: aClock.optional(),
};

/** The remedy for each maker's `client`. */
export const handleRemedy: Readonly<Record<'client', string>> = {
  client:
    'Give it await openSqlite(path), or an open database of libsql, better-sqlite3 or node:sqlite',
};
