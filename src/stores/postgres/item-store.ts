/** An item store in PostgreSQL, for any number of processes, by the server's clock. */
import type { z } from 'zod';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type SqlItemStore, type SqlItemStoreOptions, sqlItemStore } from '../sql/item-store.ts';
import { itemStoreMembers } from '../sql/option-members.ts';
import type { PostgresLocation } from './client.ts';
import { postgresEngine } from './engine.ts';
import { locationMembers, locationRemedies } from './location.ts';

/** Where the table is, and how many bytes are kept. */
export interface PostgresItemStoreOptions extends PostgresLocation, SqlItemStoreOptions {}

/** An item store whose methods always return promises. */
export interface PostgresItemStore extends SqlItemStore {}

const optionsSchema = strict('must be an object', {
  ...locationMembers,
  ...itemStoreMembers,
} satisfies Record<keyof PostgresItemStoreOptions, z.ZodType>);

/**
 * An item store over a migrated database. The least recently used items are forgotten first: those
 * of an owner that exceeds its share, otherwise those of all owners. A crash of the server may lose
 * those of its last second.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresItemStore(options: PostgresItemStoreOptions): PostgresItemStore {
  checkMakerOptions('postgresItemStore', optionsSchema, options, locationRemedies);
  return sqlItemStore(postgresEngine(options), options);
}
