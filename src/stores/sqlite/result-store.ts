/** A result store in SQLite, for the processes of one machine. */
import type { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { resultStoreMembers } from '../sql/option-members.ts';
import {
  type SqlResultStore,
  type SqlResultStoreOptions,
  sqlResultStore,
} from '../sql/result-store.ts';
import type { SqliteClient } from './database.ts';
import { sqliteEngine } from './engine.ts';
import { handleAndClock, handleRemedy } from './handle-check.ts';

/** The database, how many bytes are kept, and for how long. */
export interface SqliteResultStoreOptions extends SqlResultStoreOptions {
  /** Open and migrated. Better a file of its own: replies are large, and no backup needs them. */
  readonly client: SqliteClient;
  /** The clock by which replies end. Default: the machine's clock, which all processes share. */
  readonly clock?: Clock;
}

/** A result store whose methods always return promises. */
export interface SqliteResultStore extends SqlResultStore {}

const optionsSchema = strict('must be an object', {
  ...handleAndClock,
  ...resultStoreMembers,
} satisfies Record<keyof SqliteResultStoreOptions, z.ZodType>);

/**
 * A result store over a migrated database. The oldest replies are forgotten first: those of an
 * owner that exceeds its share, otherwise those of all owners. A crash of the machine may lose the
 * latest ones.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteResultStore(options: SqliteResultStoreOptions): SqliteResultStore {
  checkMakerOptions('sqliteResultStore', optionsSchema, options, handleRemedy);
  return sqlResultStore(sqliteEngine(options.client, options.clock), options);
}
