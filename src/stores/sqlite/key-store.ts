/** A key store in SQLite, by the digest of the secret. */
import type { z } from 'zod';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type SqlKeyStore, type SqlKeyStoreOptions, sqlKeyStore } from '../sql/key-store.ts';
import { keyStoreMembers } from '../sql/option-members.ts';
import type { SqliteClient } from './database.ts';
import { sqliteEngine } from './engine.ts';
import { aHandle, handleRemedy } from './handle-check.ts';

/** The database, and the pepper of the digests. */
export interface SqliteKeyStoreOptions extends SqlKeyStoreOptions {
  /** Open and migrated. */
  readonly client: SqliteClient;
}

/** A key table whose methods always return promises. */
export interface SqliteKeyStore extends SqlKeyStore {}

const optionsSchema = strict('must be an object', {
  client: aHandle,
  ...keyStoreMembers,
} satisfies Record<keyof SqliteKeyStoreOptions, z.ZodType>);

/**
 * A key store over a migrated database. It keeps digests, never secrets.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteKeyStore(options: SqliteKeyStoreOptions): SqliteKeyStore {
  checkMakerOptions('sqliteKeyStore', optionsSchema, options, handleRemedy);
  return sqlKeyStore('sqliteKeyStore', sqliteEngine(options.client), options);
}
