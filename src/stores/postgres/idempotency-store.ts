/**
 * An idempotency store in PostgreSQL, exact over any number of processes, by the server's clock.
 */
import type { z } from 'zod';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type SqlIdempotencyStore, sqlIdempotencyStore } from '../sql/idempotency-store.ts';
import type { PostgresLocation } from './client.ts';
import { postgresEngine } from './engine.ts';
import { locationMembers, locationRemedies } from './location.ts';

/** An idempotency store whose methods always return promises. */
export interface PostgresIdempotencyStore extends SqlIdempotencyStore {}

const optionsSchema = strict('must be an object', { ...locationMembers } satisfies Record<
  keyof PostgresLocation,
  z.ZodType
>);

/**
 * An idempotency store over a migrated database. Each claim deletes a few expired records, so no
 * sweep is needed.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresIdempotencyStore(options: PostgresLocation): PostgresIdempotencyStore {
  checkMakerOptions('postgresIdempotencyStore', optionsSchema, options, locationRemedies);
  return sqlIdempotencyStore(postgresEngine(options));
}
