/** A key store in a table, by the digest of the secret. */
import { ConfigurationError } from '../../errors.ts';
import { type IssuedKey, type IssueKeyOptions, issueKey } from '../../issue-key.ts';
import { type CallOptions, StoreUnavailable } from '../../ports/call-options.ts';
import { checkKeyPage, type KeyPage, type KeyPageQuery, keyPageOf } from '../../ports/key-page.ts';
import type { ApiKey } from '../../ports/key-store.ts';
import { digestSecret, isWeakSecret } from '../../secret.ts';
import {
  type CachedKeyStore,
  type CachedKeyStoreOptions,
  cachedKeyStore,
} from '../cached-key-store.ts';
import { bigintAt } from './columns.ts';
import { matches, type SqlDialect, type SqlEngine, whole } from './engine.ts';
import { type KeyTable, keyFrom, keyText } from './key-row.ts';

/** The pepper of the digests, and the cache. */
export interface SqlKeyStoreOptions {
  /** Mixed into every digest, so that leaked tables can't even confirm a guess. */
  readonly pepper?: string;
  /** Accepts secrets of under 96 bits, which could be guessed. Requires a pepper. */
  readonly allowWeakKeys?: boolean;
  /**
   * How keys are cached in this process (see `cachedKeyStore`), or false to look each call's key up
   * in the table. A change by this store takes effect at once, one by another process when the
   * cached key is `ttlMs` old. Default: 30 s.
   */
  readonly cache?: Omit<CachedKeyStoreOptions, 'vary'> | false;
}

/** A {@link KeyTable} with a cache in front; its methods that use the table return promises. */
export interface SqlKeyStore extends KeyTable, CachedKeyStore {
  issue(options: IssueKeyOptions): Promise<IssuedKey>;
  add(secret: string, key: ApiKey): Promise<void>;
  update(id: string, change: Partial<Omit<ApiKey, 'id'>>): Promise<boolean>;
  remove(id: string): Promise<boolean>;
  list(group?: string): Promise<readonly ApiKey[]>;
  get(id: string): Promise<ApiKey | undefined>;
  page(query?: KeyPageQuery): Promise<KeyPage>;
}

export function keyStatements({ table, contains, json }: SqlDialect) {
  const keys = table('keys');
  const select = `
SELECT id, key_group, disabled, CAST(record AS text) AS record FROM ${keys}`;
  return {
    byDigest: `${select} WHERE digest = $1`,
    byId: `
SELECT id, key_group, disabled, CAST(record AS text) AS record, CAST(version AS text) AS version
FROM ${keys} WHERE id = $1`,
    all: `${select} ORDER BY id`,
    ofGroup: `${select} WHERE key_group = $1 ORDER BY id`,
    page: `${select}
WHERE id > $1
  AND (CAST($2 AS text) IS NULL
    OR ${contains('lower(id)', '$2')} OR ${contains('lower(key_group)', '$2')})
  AND ${matches('key_group', '$3')}
  AND ${matches('disabled', '$4', 'boolean')}
ORDER BY id LIMIT ${whole('$5')}`,
    insert: `
INSERT INTO ${keys} (id, digest, key_group, disabled, record)
VALUES ($1, $2, $3, $4, ${json('$5')}) ON CONFLICT DO NOTHING`,
    update: `
UPDATE ${keys}
SET key_group = $3, disabled = $4, record = ${json('$5')}, version = version + 1
WHERE id = $1 AND version = ${whole('$2')}`,
    remove: `DELETE FROM ${keys} WHERE id = $1`,
  };
}

const maxTries = 20;

/**
 * A key store over migrated tables. It keeps digests, never secrets.
 *
 * @param maker the name of the function that makes the store, for error messages
 */
export function sqlKeyStore(
  maker: string,
  engine: SqlEngine,
  options: SqlKeyStoreOptions,
): SqlKeyStore {
  const table = keyTable(maker, engine, options);
  const { cache = {} } = options;
  if (cache === false) return { ...table, ttlMs: 0, forget: () => {}, clear: () => {} };

  const cached = cachedKeyStore(table, cache);
  /** A change whose outcome is unknown may have been made. */
  const changed = async <T>(id: string, change: Promise<T>): Promise<T> => {
    try {
      return await change;
    } finally {
      cached.forget(id);
    }
  };
  return {
    ...table,
    ...cached,
    add: (secret, key) => changed(key.id, table.add(secret, key)),
    update: (id, change) => changed(id, table.update(id, change)),
    remove: (id) => changed(id, table.remove(id)),
  };
}

function keyTable(
  maker: string,
  engine: SqlEngine,
  { pepper, allowWeakKeys = false }: SqlKeyStoreOptions,
): Omit<SqlKeyStore, 'ttlMs' | 'forget' | 'clear'> {
  if (allowWeakKeys && pepper === undefined) {
    throw new ConfigurationError(`${maker}: allowWeakKeys needs a pepper. Give it one.`);
  }
  const sql = keyStatements(engine.dialect);

  const first = async (
    statement: string,
    value: string,
    options?: CallOptions,
  ): Promise<ApiKey | undefined> => {
    const [row] = await engine.read(statement, [value], options);
    return row === undefined ? undefined : keyFrom(row);
  };
  const insert = async (secret: string, key: ApiKey): Promise<void> => {
    const { id, group, disabled } = key;
    const values = [id, digestSecret(secret, pepper), group, disabled, keyText(key)];
    if ((await engine.change(sql.insert, values)) === 1) return;
    throw new ConfigurationError(
      `${maker}: the id or the secret of key "${id}" is taken. Remove that key first.`,
    );
  };

  return {
    find: (secret, options) => first(sql.byDigest, digestSecret(secret, pepper), options),
    issue: async (options) => {
      const issued = issueKey(options);
      await insert(issued.secret, issued.key);
      return issued;
    },
    add: async (secret, key) => {
      if (allowWeakKeys || !isWeakSecret(secret)) return insert(secret, key);
      throw new ConfigurationError(
        `${maker}: the secret of key "${key.id}" has under 96 bits and could be guessed. ` +
          'Use one of issueKey(), or set allowWeakKeys with a pepper.',
      );
    },
    update: (id, change) => updateAt(engine, sql, id, change),
    remove: async (id) => (await engine.change(sql.remove, [id])) === 1,
    list: async (group) => {
      const rows =
        group === undefined ? engine.read(sql.all, []) : engine.read(sql.ofGroup, [group]);
      return (await rows).map(keyFrom);
    },
    get: (id) => first(sql.byId, id),
    page: async (query) => {
      const { search = null, group = null, disabled = null, after, limit } = checkKeyPage(query);
      const values = [after, search, group, disabled, BigInt(limit + 1)];
      return keyPageOf((await engine.read(sql.page, values)).map(keyFrom), limit);
    },
  };
}

/** Optimistic locking: writes only if nobody else has changed the key since it was read. */
async function updateAt(
  engine: SqlEngine,
  sql: ReturnType<typeof keyStatements>,
  id: string,
  change: Partial<Omit<ApiKey, 'id'>>,
): Promise<boolean> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const [row] = await engine.read(sql.byId, [id]);
    if (row === undefined) return false;
    const key = { ...keyFrom(row), ...change, id };
    const values = [id, bigintAt(row, 'version'), key.group, key.disabled, keyText(key)];
    if ((await engine.change(sql.update, values)) === 1) return true;
  }
  throw new StoreUnavailable('other processes kept changing the key', { outcome: 'not_done' });
}
