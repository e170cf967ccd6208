/** A key store in PostgreSQL, by the digest of the secret. */
import { z } from 'zod';
import { ConfigurationError } from '../../errors.ts';
import { type IssuedKey, issueKey } from '../../issue-key.ts';
import { type CallOptions, StoreUnavailable } from '../../ports/call-options.ts';
import { checkKeyPage, type KeyPage, type KeyPageQuery, keyPageOf } from '../../ports/key-page.ts';
import type { ApiKey } from '../../ports/key-store.ts';
import { checkMakerOptions, flag, text } from '../../ports/set-up.ts';
import { digestSecret, isWeakSecret } from '../../secret.ts';
import { textAt } from '../sql/columns.ts';
import { type KeyTable, keyFrom, keyText, takenKey, weakSecret } from '../sql/key-row.ts';
import { type PostgresLocation, type Statements, statements } from './client.ts';
import { locationMembers, locationRemedies } from './location.ts';

/** Where the table is, and the pepper of the digests. */
export interface PostgresKeyStoreOptions extends PostgresLocation {
  /** Mixed into every digest, so that a leaked table can't even confirm a guess. */
  readonly pepper?: string;
  /** Accepts secrets of under 96 bits, which could be guessed. Requires a pepper. */
  readonly allowWeakKeys?: boolean;
}

/** A {@link KeyTable} whose methods always return promises. */
export interface PostgresKeyStore extends KeyTable {
  find(secret: string, options?: CallOptions): Promise<ApiKey | undefined>;
  issue(options: Parameters<KeyTable['issue']>[0]): Promise<IssuedKey>;
  add(secret: string, key: ApiKey): Promise<void>;
  update(id: string, change: Partial<Omit<ApiKey, 'id'>>): Promise<boolean>;
  remove(id: string): Promise<boolean>;
  list(group?: string): Promise<readonly ApiKey[]>;
  get(id: string): Promise<ApiKey | undefined>;
  page(query?: KeyPageQuery): Promise<KeyPage>;
}

const optionsSchema = z.strictObject(
  {
    ...locationMembers,
    pepper: text('must be text').optional(),
    allowWeakKeys: flag.optional(),
  } satisfies Record<keyof PostgresKeyStoreOptions, z.ZodType>,
  'must be an object',
);

const selectByDigest = `
SELECT id, key_group, disabled, record::text AS record FROM "tollgate".keys WHERE digest = $1`;
const selectById = `
SELECT id, key_group, disabled, record::text AS record, version::text AS version
FROM "tollgate".keys WHERE id = $1`;
const selectAll = `
SELECT id, key_group, disabled, record::text AS record FROM "tollgate".keys
WHERE $1::text IS NULL OR key_group = $1 ORDER BY id`;
const selectPage = `
SELECT id, key_group, disabled, record::text AS record FROM "tollgate".keys
WHERE id > $1
  AND ($2::text IS NULL OR position($2 in lower(id)) > 0 OR position($2 in lower(key_group)) > 0)
  AND ($3::text IS NULL OR key_group = $3)
  AND ($4::boolean IS NULL OR disabled = $4)
ORDER BY id LIMIT $5::text::integer`;
const insertKey = `
INSERT INTO "tollgate".keys (id, digest, key_group, disabled, record)
VALUES ($1, $2, $3, $4, $5::text::json) ON CONFLICT DO NOTHING RETURNING id`;
const updateKey = `
UPDATE "tollgate".keys
SET key_group = $3, disabled = $4, record = $5::text::json, version = version + 1
WHERE id = $1 AND version = $2::text::bigint RETURNING id`;
const deleteKey = 'DELETE FROM "tollgate".keys WHERE id = $1 RETURNING id';

const maxTries = 20;

/**
 * A key store over a migrated database. It keeps digests, never secrets.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresKeyStore(options: PostgresKeyStoreOptions): PostgresKeyStore {
  checkMakerOptions('postgresKeyStore', optionsSchema, options, locationRemedies);
  const { pepper, allowWeakKeys = false } = options;
  if (allowWeakKeys && pepper === undefined) {
    throw new ConfigurationError('postgresKeyStore: allowWeakKeys needs a pepper. Give it one.');
  }
  const { rows } = statements(options);

  const insert = async (secret: string, key: ApiKey): Promise<void> => {
    const { id, group, disabled } = key;
    const values = [id, digestSecret(secret, pepper), group, disabled, keyText(key)];
    const added = await rows(insertKey, values);
    if (added.length === 0) throw takenKey('postgresKeyStore', id);
  };

  return {
    find: async (secret, callOptions) => {
      const [row] = await rows(selectByDigest, [digestSecret(secret, pepper)], callOptions);
      return row === undefined ? undefined : keyFrom(row);
    },
    issue: async (keyOptions) => {
      const issued = issueKey(keyOptions);
      await insert(issued.secret, issued.key);
      return issued;
    },
    add: async (secret, key) => {
      if (!allowWeakKeys && isWeakSecret(secret)) throw weakSecret('postgresKeyStore', key.id);
      await insert(secret, key);
    },
    update: (id, change) => updateAt(rows, id, change),
    remove: async (id) => (await rows(deleteKey, [id])).length > 0,
    list: async (group) => (await rows(selectAll, [group ?? null])).map(keyFrom),
    get: async (id) => {
      const [row] = await rows(selectById, [id]);
      return row === undefined ? undefined : keyFrom(row);
    },
    page: (query) => pageAt(rows, query),
  };
}

async function pageAt(rows: Statements['rows'], query: KeyPageQuery | undefined): Promise<KeyPage> {
  const { search = null, group = null, disabled = null, after, limit } = checkKeyPage(query);
  const found = await rows(selectPage, [after, search, group, disabled, String(limit + 1)]);
  return keyPageOf(found.map(keyFrom), limit);
}

/** Optimistic locking: writes only if nobody else has changed the key since it was read. */
async function updateAt(
  rows: Statements['rows'],
  id: string,
  change: Partial<Omit<ApiKey, 'id'>>,
): Promise<boolean> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const [row] = await rows(selectById, [id]);
    if (row === undefined) return false;
    const key = { ...keyFrom(row), ...change, id };
    const values = [id, textAt(row, 'version'), key.group, key.disabled, keyText(key)];
    if ((await rows(updateKey, values)).length > 0) return true;
  }
  throw new StoreUnavailable('other processes kept changing the key', { outcome: 'not_done' });
}
