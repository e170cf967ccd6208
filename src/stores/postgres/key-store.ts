/** A key store in PostgreSQL, by the digest of the secret. */
import type { z } from 'zod';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type SqlKeyStore, type SqlKeyStoreOptions, sqlKeyStore } from '../sql/key-store.ts';
import { keyStoreMembers } from '../sql/option-members.ts';
import type { PostgresLocation } from './client.ts';
import { postgresEngine } from './engine.ts';
import { locationMembers, locationRemedies } from './location.ts';

/** Where the table is, and the pepper of the digests. */
export interface PostgresKeyStoreOptions extends PostgresLocation, SqlKeyStoreOptions {}

/** A key table whose methods always return promises. */
export interface PostgresKeyStore extends SqlKeyStore {}

const optionsSchema = strict('must be an object', {
  ...locationMembers,
  ...keyStoreMembers,
} satisfies Record<keyof PostgresKeyStoreOptions, z.ZodType>);

/**
 * A key store over a migrated database. It keeps digests, never secrets.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresKeyStore(options: PostgresKeyStoreOptions): PostgresKeyStore {
  checkMakerOptions('postgresKeyStore', optionsSchema, options, locationRemedies);
  return sqlKeyStore('postgresKeyStore', postgresEngine(options), options);
}
