/** An index of responses in PostgreSQL, for any number of processes, by the server's clock. */
import type { z } from 'zod';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type SqlResponseIndex, sqlResponseIndex } from '../sql/response-index.ts';
import type { PostgresLocation } from './client.ts';
import { postgresEngine } from './engine.ts';
import { locationMembers, locationRemedies } from './location.ts';

/** An index whose methods always return promises. */
export interface PostgresResponseIndex extends SqlResponseIndex {}

const optionsSchema = strict('must be an object', { ...locationMembers } satisfies Record<
  keyof PostgresLocation,
  z.ZodType
>);

/**
 * An index over a migrated database. Expired entries are deleted once a minute. A crash of the
 * server may lose those of its last second.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresResponseIndex(options: PostgresLocation): PostgresResponseIndex {
  checkMakerOptions('postgresResponseIndex', optionsSchema, options, locationRemedies);
  return sqlResponseIndex(postgresEngine(options));
}
