/** A rate limiter in PostgreSQL, for any number of processes, by the server's clock. */
import type { z } from 'zod';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type SqlRateLimiter, sqlRateLimiter } from '../sql/rate-limiter.ts';
import type { PostgresLocation } from './client.ts';
import { postgresEngine } from './engine.ts';
import { locationMembers, locationRemedies } from './location.ts';

/** A rate limiter whose methods always return promises. */
export interface PostgresRateLimiter extends SqlRateLimiter {}

const optionsSchema = strict('must be an object', { ...locationMembers } satisfies Record<
  keyof PostgresLocation,
  z.ZodType
>);

/**
 * A rate limiter over a migrated database that decides like `memoryRateLimiter`. All the takes of a
 * call are one atomic step. A crash of the server may lose the takes of its last second.
 *
 * `take` and `adjust` reject with a RangeError where an amount or a limit is outside its range.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresRateLimiter(options: PostgresLocation): PostgresRateLimiter {
  checkMakerOptions('postgresRateLimiter', optionsSchema, options, locationRemedies);
  return sqlRateLimiter(postgresEngine(options));
}
