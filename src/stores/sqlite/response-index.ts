/** An index of responses in SQLite, for the processes of one machine. */
import type { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type SqlResponseIndex, sqlResponseIndex } from '../sql/response-index.ts';
import type { SqliteClient } from './database.ts';
import { sqliteEngine } from './engine.ts';
import { handleAndClock, handleRemedy } from './handle-check.ts';

/** The database, and the clock by which entries end. */
export interface SqliteResponseIndexOptions {
  /** Open and migrated. */
  readonly client: SqliteClient;
  /** The clock by which entries end. Default: the machine's clock, which all processes share. */
  readonly clock?: Clock;
}

/** An index whose methods always return promises. */
export interface SqliteResponseIndex extends SqlResponseIndex {}

const optionsSchema = strict('must be an object', {
  ...handleAndClock,
} satisfies Record<keyof SqliteResponseIndexOptions, z.ZodType>);

/**
 * An index over a migrated database. Expired entries are deleted once a minute. A crash of the
 * machine may lose the latest ones.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteResponseIndex(options: SqliteResponseIndexOptions): SqliteResponseIndex {
  checkMakerOptions('sqliteResponseIndex', optionsSchema, options, handleRemedy);
  return sqlResponseIndex(sqliteEngine(options.client, options.clock), options.clock);
}
