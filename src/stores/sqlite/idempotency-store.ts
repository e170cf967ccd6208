/** An idempotency store in SQLite, exact over any number of processes on one machine. */
import type { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { IdempotencyStore } from '../../ports/idempotency-store.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { sqlIdempotencyStore } from '../sql/idempotency-store.ts';
import type { SqliteClient } from './database.ts';
import { sqliteEngine } from './engine.ts';
import { handleAndClock, handleRemedy } from './handle-check.ts';

/** The database, and the clock of the leases. */
export interface SqliteIdempotencyStoreOptions {
  /** Open and migrated. */
  readonly client: SqliteClient;
  /** The clock by which leases end. Default: the machine's clock, which all processes share. */
  readonly clock?: Clock;
}

const optionsSchema = strict('must be an object', {
  ...handleAndClock,
} satisfies Record<keyof SqliteIdempotencyStoreOptions, z.ZodType>);

/**
 * An idempotency store over a migrated database. Records are kept for their full time; each claim
 * deletes up to ten expired ones.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteIdempotencyStore(options: SqliteIdempotencyStoreOptions): IdempotencyStore {
  checkMakerOptions('sqliteIdempotencyStore', optionsSchema, options, handleRemedy);
  return sqlIdempotencyStore(sqliteEngine(options.client, options.clock));
}
