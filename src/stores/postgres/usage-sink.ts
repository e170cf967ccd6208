/** The usage log in a PostgreSQL table: written in batches, and queried for bills. */
import type { z } from 'zod';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { usageSinkMembers } from '../sql/option-members.ts';
import { type SqlUsageSink, type SqlUsageSinkOptions, sqlUsageSink } from '../sql/usage-sink.ts';
import type { PostgresLocation } from './client.ts';
import { postgresEngine } from './engine.ts';
import { locationMembers, locationRemedies } from './location.ts';

/** Where the table is, and how many records may wait to be written. */
export interface PostgresUsageSinkOptions extends PostgresLocation, SqlUsageSinkOptions {}

/** A sink whose log can be queried. */
export interface PostgresUsageSink extends SqlUsageSink {}

const optionsSchema = strict('must be an object', {
  ...locationMembers,
  ...usageSinkMembers,
} satisfies Record<keyof PostgresUsageSinkOptions, z.ZodType>);

/**
 * A usage sink over a migrated database, with one write in flight. Each call is one row: a batch
 * that is written again counts once, and a later revision replaces an earlier one.
 *
 * When the buffer is full, `record` throws; accepted records are written or reported as lost.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresUsageSink(options: PostgresUsageSinkOptions): PostgresUsageSink {
  checkMakerOptions('postgresUsageSink', optionsSchema, options, locationRemedies);
  return sqlUsageSink(postgresEngine(options), options);
}
