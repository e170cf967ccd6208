/** A rate limiter in SQLite, for the processes of one machine. */
import type { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type SqlRateLimiter, sqlRateLimiter } from '../sql/rate-limiter.ts';
import type { SqliteClient } from './database.ts';
import { sqliteEngine } from './engine.ts';
import { handleAndClock, handleRemedy } from './handle-check.ts';

/** The database, and the clock by which buckets refill. */
export interface SqliteRateLimiterOptions {
  /** Open and migrated. */
  readonly client: SqliteClient;
  /** The clock by which buckets refill. Default: the machine's, which all processes share. */
  readonly clock?: Clock;
}

/** A rate limiter whose methods always return promises. */
export interface SqliteRateLimiter extends SqlRateLimiter {}

const optionsSchema = strict('must be an object', {
  ...handleAndClock,
} satisfies Record<keyof SqliteRateLimiterOptions, z.ZodType>);

/**
 * A rate limiter over a migrated database that decides like `memoryRateLimiter`. All the takes of a
 * call are one atomic step. A crash of the machine may lose the latest ones.
 *
 * `take` and `adjust` reject with a RangeError where an amount or a limit is outside its range.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteRateLimiter(options: SqliteRateLimiterOptions): SqliteRateLimiter {
  checkMakerOptions('sqliteRateLimiter', optionsSchema, options, handleRemedy);
  return sqlRateLimiter(sqliteEngine(options.client, options.clock), options.clock);
}
