/** The usage log in a SQLite table: written in batches, and queried for bills. */
import type { z } from 'zod';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { usageSinkMembers } from '../sql/option-members.ts';
import { type SqlUsageSink, type SqlUsageSinkOptions, sqlUsageSink } from '../sql/usage-sink.ts';
import type { SqliteClient } from './database.ts';
import { sqliteEngine } from './engine.ts';
import { aHandle, handleRemedy } from './handle-check.ts';

/** The database, and how many records may wait to be written. */
export interface SqliteUsageSinkOptions extends SqlUsageSinkOptions {
  /** Open and migrated. */
  readonly client: SqliteClient;
}

/** A sink whose log can be queried. */
export interface SqliteUsageSink extends SqlUsageSink {}

const optionsSchema = strict('must be an object', {
  client: aHandle,
  ...usageSinkMembers,
} satisfies Record<keyof SqliteUsageSinkOptions, z.ZodType>);

/**
 * A usage sink over a migrated database. Each call is one row, by its request and reservation: a
 * batch that is written again counts once, and a later revision replaces an earlier one.
 *
 * When the buffer is full, `record` throws; accepted records are written or reported as lost.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteUsageSink(options: SqliteUsageSinkOptions): SqliteUsageSink {
  checkMakerOptions('sqliteUsageSink', optionsSchema, options, handleRemedy);
  return {
    ...sqlUsageSink(sqliteEngine(options.client, undefined, { mayTakeLong: true }), options),
    isInProcess: true,
  };
}
