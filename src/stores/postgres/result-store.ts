/** A result store in PostgreSQL, for any number of processes, by the server's clock. */
import type { z } from 'zod';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { resultStoreMembers } from '../sql/option-members.ts';
import {
  type SqlResultStore,
  type SqlResultStoreOptions,
  sqlResultStore,
} from '../sql/result-store.ts';
import type { PostgresLocation } from './client.ts';
import { postgresEngine } from './engine.ts';
import { locationMembers, locationRemedies } from './location.ts';

/** Where the table is, how many bytes are kept, and for how long. */
export interface PostgresResultStoreOptions extends PostgresLocation, SqlResultStoreOptions {}

/** A result store whose methods always return promises. */
export interface PostgresResultStore extends SqlResultStore {}

const optionsSchema = strict('must be an object', {
  ...locationMembers,
  ...resultStoreMembers,
} satisfies Record<keyof PostgresResultStoreOptions, z.ZodType>);

/**
 * A result store over a migrated database. The oldest replies are forgotten first: those of an
 * owner that exceeds its share, otherwise those of all owners. A crash of the server may lose those
 * of its last second.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresResultStore(options: PostgresResultStoreOptions): PostgresResultStore {
  checkMakerOptions('postgresResultStore', optionsSchema, options, locationRemedies);
  return sqlResultStore(postgresEngine(options), options);
}
