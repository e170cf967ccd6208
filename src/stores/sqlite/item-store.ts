/** An item store in SQLite, for the processes of one machine. */
import type { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type SqlItemStore, type SqlItemStoreOptions, sqlItemStore } from '../sql/item-store.ts';
import { itemStoreMembers } from '../sql/option-members.ts';
import type { SqliteClient } from './database.ts';
import { sqliteEngine } from './engine.ts';
import { handleAndClock, handleRemedy } from './handle-check.ts';

/** The database, and how many bytes are kept. */
export interface SqliteItemStoreOptions extends SqlItemStoreOptions {
  /** Open and migrated. Better a file of its own, because no backup needs items. */
  readonly client: SqliteClient;
  /** The clock by which items end. Default: the machine's clock, which all processes share. */
  readonly clock?: Clock;
}

/** An item store whose methods always return promises. */
export interface SqliteItemStore extends SqlItemStore {}

const optionsSchema = strict('must be an object', {
  ...handleAndClock,
  ...itemStoreMembers,
} satisfies Record<keyof SqliteItemStoreOptions, z.ZodType>);

/**
 * An item store over a migrated database. The least recently used items are forgotten first: those
 * of an owner that exceeds its share, otherwise those of all owners. A crash of the machine may
 * lose the latest ones.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteItemStore(options: SqliteItemStoreOptions): SqliteItemStore {
  checkMakerOptions('sqliteItemStore', optionsSchema, options, handleRemedy);
  return sqlItemStore(sqliteEngine(options.client, options.clock), options);
}
