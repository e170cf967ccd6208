/** A key store in SQLite, by the digest of the secret. */
import { z } from 'zod';
import { ConfigurationError } from '../../errors.ts';
import { type IssuedKey, issueKey } from '../../issue-key.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import { checkKeyPage, type KeyPage, type KeyPageQuery, keyPageOf } from '../../ports/key-page.ts';
import type { ApiKey } from '../../ports/key-store.ts';
import { checkMakerOptions, flag, text } from '../../ports/set-up.ts';
import { digestSecret, isWeakSecret } from '../../secret.ts';
import { type KeyTable, keyFrom, keyText, takenKey, weakSecret } from '../sql/key-row.ts';
import { type Connection, connectionTo, type SqliteHandle } from './handle.ts';
import { aHandle, handleRemedy } from './handle-check.ts';

/** The database, and the pepper of the digests. */
export interface SqliteKeyStoreOptions {
  /** Open and migrated. */
  readonly client: SqliteHandle;
  /** Mixed into every digest, so that a leaked file can't even confirm a guess. */
  readonly pepper?: string;
  /** Accepts secrets of under 96 bits, which could be guessed. Requires a pepper. */
  readonly allowWeakKeys?: boolean;
}

/** A {@link KeyTable} whose methods return directly, never a promise. */
export interface SqliteKeyStore extends KeyTable {
  find(secret: string, options?: CallOptions): ApiKey | undefined;
  issue(options: Parameters<KeyTable['issue']>[0]): IssuedKey;
  add(secret: string, key: ApiKey): void;
  update(id: string, change: Partial<Omit<ApiKey, 'id'>>): boolean;
  remove(id: string): boolean;
  list(group?: string): readonly ApiKey[];
  get(id: string): ApiKey | undefined;
  page(query?: KeyPageQuery): KeyPage;
}

const optionsSchema = z.strictObject(
  {
    client: aHandle,
    pepper: text('must be text').optional(),
    allowWeakKeys: flag.optional(),
  } satisfies Record<keyof SqliteKeyStoreOptions, z.ZodType>,
  'must be an object',
);

const selectByDigest = `
SELECT id, key_group, disabled, record FROM tollgate_key WHERE digest = ?`;
const selectById = `
SELECT id, key_group, disabled, record FROM tollgate_key WHERE id = ?`;
const selectTaken = 'SELECT id FROM tollgate_key WHERE id = ? OR digest = ?';
const selectAll = 'SELECT id, key_group, disabled, record FROM tollgate_key ORDER BY id';
const selectGroup = `
SELECT id, key_group, disabled, record FROM tollgate_key WHERE key_group = ? ORDER BY id`;
const selectPage = `
SELECT id, key_group, disabled, record FROM tollgate_key
WHERE id > ?
  AND (? IS NULL OR instr(lower(id), ?) > 0 OR instr(lower(key_group), ?) > 0)
  AND (? IS NULL OR key_group = ?)
  AND (? IS NULL OR disabled = ?)
ORDER BY id LIMIT ?`;
const insertKey = `
INSERT INTO tollgate_key (id, digest, key_group, disabled, record) VALUES (?, ?, ?, ?, ?)`;
const updateKey = 'UPDATE tollgate_key SET key_group = ?, disabled = ?, record = ? WHERE id = ?';
const deleteKey = 'DELETE FROM tollgate_key WHERE id = ?';

/** The statements, exported so that a test can check their query plans. */
export const keyStatements: readonly string[] = [
  selectByDigest,
  selectById,
  selectTaken,
  selectGroup,
  selectPage,
  updateKey,
  deleteKey,
];

/**
 * A key store over a migrated database; its methods return directly, never a promise. It keeps
 * digests, never secrets.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteKeyStore(options: SqliteKeyStoreOptions): SqliteKeyStore {
  checkMakerOptions('sqliteKeyStore', optionsSchema, options, handleRemedy);
  const { client, pepper, allowWeakKeys = false } = options;
  if (allowWeakKeys && pepper === undefined) {
    throw new ConfigurationError('sqliteKeyStore: allowWeakKeys needs a pepper. Give it one.');
  }
  const connection = connectionTo(client);

  const insert = (secret: string, key: ApiKey): void =>
    insertNew(connection, digestSecret(secret, pepper), key);

  return {
    find: (secret, callOptions) =>
      connection.reading(
        () => keyAt(connection, selectByDigest, digestSecret(secret, pepper)),
        callOptions,
      ),
    issue: (keyOptions) => {
      const issued = issueKey(keyOptions);
      insert(issued.secret, issued.key);
      return issued;
    },
    add: (secret, key) => {
      if (!allowWeakKeys && isWeakSecret(secret)) throw weakSecret('sqliteKeyStore', key.id);
      insert(secret, key);
    },
    update: (id, change) => updateAt(connection, id, change),
    remove: (id) => removeAt(connection, id),
    list: (group) => connection.reading(() => keysOf(connection, group)),
    get: (id) => connection.reading(() => keyAt(connection, selectById, id)),
    page: (query) => pageAt(connection, query),
  };
}

function insertNew(connection: Connection, digest: string, key: ApiKey): void {
  connection.transaction(() => {
    if (connection.row(selectTaken, key.id, digest) !== undefined) {
      throw takenKey('sqliteKeyStore', key.id);
    }
    const { id, group, disabled } = key;
    connection.run(insertKey, id, digest, group, disabled ? 1n : 0n, keyText(key));
  });
}

function updateAt(
  connection: Connection,
  id: string,
  change: Partial<Omit<ApiKey, 'id'>>,
): boolean {
  return connection.transaction(() => {
    const known = keyAt(connection, selectById, id);
    if (known === undefined) return false;
    const key = { ...known, ...change };
    connection.run(updateKey, key.group, key.disabled ? 1n : 0n, keyText(key), id);
    return true;
  });
}

function removeAt(connection: Connection, id: string): boolean {
  return connection.transaction(() => {
    if (keyAt(connection, selectById, id) === undefined) return false;
    connection.run(deleteKey, id);
    return true;
  });
}

function keysOf(connection: Connection, group: string | undefined): readonly ApiKey[] {
  const rows =
    group === undefined ? connection.rows(selectAll) : connection.rows(selectGroup, group);
  return rows.map(keyFrom);
}

function pageAt(connection: Connection, query: KeyPageQuery | undefined): KeyPage {
  const { search = null, group = null, disabled, after, limit } = checkKeyPage(query);
  const isDisabled = disabled === undefined ? null : disabled ? 1n : 0n;
  const filters = [search, search, search, group, group, isDisabled, isDisabled];
  return connection.reading(() => {
    const rows = connection.rows(selectPage, after, ...filters, BigInt(limit + 1));
    return keyPageOf(rows.map(keyFrom), limit);
  });
}

function keyAt(connection: Connection, select: string, value: string): ApiKey | undefined {
  const row = connection.row(select, value);
  return row === undefined ? undefined : keyFrom(row);
}
