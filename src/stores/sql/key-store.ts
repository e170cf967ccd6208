/** A key store in a table, by the digest of the secret. */
import { ConfigurationError } from '../../errors.ts';
import { type IssuedKey, type IssueKeyOptions, issueKey } from '../../issue-key.ts';
import { type MaybePromise, StoreUnavailable } from '../../ports/call-options.ts';
import {
  changed,
  type KeyChange,
  type KeyOwner,
  type OwnerTable,
  ownerPageOf,
  ownerSearchText,
} from '../../ports/keys/key-owner.ts';
import {
  type CheckedKeyPage,
  checkKeyPage,
  checkPage,
  type KeyPage,
  type KeyPageQuery,
  keyPageOf,
  keySearchText,
} from '../../ports/keys/key-page.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import { checkOwnerRecord, ownerMissing, ownerTaken } from '../../ports/keys/owner-schema.ts';
import { digestSecret, isWeakSecret } from '../../secret.ts';
import {
  type CachedKeyStore,
  type CachedKeyStoreOptions,
  cachedKeyStore,
} from '../cached-key-store.ts';
import { bigintAt, type SqlValue } from './columns.ts';
import { matches, type SqlDialect, type SqlEngine, whole } from './engine.ts';
import { joinedKeyFrom, type KeyTable, keyFrom, keyText, ownerFrom, ownerText } from './key-row.ts';

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
  update(id: string, change: KeyChange): Promise<boolean>;
  remove(id: string): Promise<boolean>;
  list(group?: string): Promise<readonly ApiKey[]>;
  get(id: string): Promise<ApiKey | undefined>;
  page(query?: KeyPageQuery): Promise<KeyPage>;
}

export function keyStatements({ table, contains, json, member, whileOwned }: SqlDialect) {
  const [keys, owners] = [table('keys'), table('owners')];
  const columns = 'k.id, k.key_group, k.owner, k.disabled, CAST(k.record AS text) AS record';
  const select = `
SELECT ${columns} FROM ${keys} k`;
  const hasLabel = (name: string, value: string): string =>
    `(CAST(${name} AS text) IS NULL OR ${member('k.record', "'metadata'", name)} = ${value})`;
  return {
    byDigest: `
SELECT ${columns}, CAST(o.record AS text) AS owner_record
FROM ${keys} k LEFT JOIN ${owners} o ON o.id = k.owner WHERE k.digest = $1`,
    byId: `
SELECT ${columns}, CAST(k.version AS text) AS version FROM ${keys} k WHERE k.id = $1`,
    all: `${select} ORDER BY k.id`,
    ofGroup: `${select} WHERE k.key_group = $1 ORDER BY k.id`,
    page: `${select}
WHERE k.id > $1
  AND (CAST($2 AS text) IS NULL
    OR ${contains("coalesce(k.searched, lower(k.id || ' ' || k.key_group))", '$2')})
  AND ${matches('k.key_group', '$3')}
  AND ${matches('k.owner', '$4')}
  AND ${matches('k.disabled', '$5', 'boolean')}
  AND ${hasLabel('$7', '$8')} AND ${hasLabel('$9', '$10')}
ORDER BY k.id LIMIT ${whole('$6')}`,
    insert: whileOwned(
      'CAST($6 AS text)',
      (isOwned) => `
INSERT INTO ${keys} (id, digest, key_group, disabled, record, owner, searched)
SELECT $1, $2, $3, CAST($4 AS boolean), ${json('$5')}, $6, $7
WHERE CAST($6 AS text) IS NULL OR ${isOwned}
ON CONFLICT DO NOTHING`,
    ),
    update: whileOwned(
      'CAST($6 AS text)',
      (isOwned) => `
UPDATE ${keys} SET key_group = $3, disabled = $4, record = ${json('$5')}, owner = $6,
  searched = $7, version = version + 1
WHERE id = $1 AND version = ${whole('$2')}
  AND (CAST($6 AS text) IS NULL OR owner = $6 OR ${isOwned})`,
    ),
    remove: `DELETE FROM ${keys} WHERE id = $1`,
  };
}

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
  if (cache === false) {
    return { ...table, ttlMs: 0, forget: () => {}, forgetKeysOf: () => {}, clear: () => {} };
  }

  const cached = cachedKeyStore(table, cache);
  /** A change whose outcome is unknown may have been made. */
  const finished = async <T>(change: MaybePromise<T>, forget: () => void): Promise<T> => {
    try {
      return await change;
    } finally {
      forget();
    }
  };
  const ofKey = <T>(id: string, change: Promise<T>): Promise<T> =>
    finished(change, () => cached.forget(id));
  const ofOwner = <T>(id: string, change: MaybePromise<T>): Promise<T> =>
    finished(change, () => cached.forgetKeysOf(id));
  const { owners } = table;
  return {
    ...table,
    ...cached,
    add: (secret, key) => ofKey(key.id, table.add(secret, key)),
    update: (id, change) => ofKey(id, table.update(id, change)),
    remove: (id) => ofKey(id, table.remove(id)),
    owners: {
      ...owners,
      add: (owner) => ofOwner(owner.id, owners.add(owner)),
      update: (id, change) => ofOwner(id, owners.update(id, change)),
      remove: (id) => ofOwner(id, owners.remove(id)),
    },
  };
}

function keyTable(
  maker: string,
  engine: SqlEngine,
  { pepper, allowWeakKeys = false }: SqlKeyStoreOptions,
): Omit<SqlKeyStore, 'ttlMs' | 'forget' | 'forgetKeysOf' | 'clear'> {
  if (allowWeakKeys && pepper === undefined) {
    throw new ConfigurationError(`${maker}: allowWeakKeys needs a pepper. Give it one.`);
  }
  const sql = keyStatements(engine.dialect);
  const owners = ownerTable(maker, engine);
  const insert = async (secret: string, key: ApiKey): Promise<void> => {
    await owners.check(key);
    const values = [key.id, digestSecret(secret, pepper), ...columnsOf(key)];
    if ((await engine.change(sql.insert, values)) === 1) return;
    await owners.check(key);
    throw new ConfigurationError(
      `${maker}: the id or the secret of key "${key.id}" is taken. Remove that key first.`,
    );
  };

  return {
    find: async (secret, options) => {
      const [row] = await engine.read(sql.byDigest, [digestSecret(secret, pepper)], options);
      return row === undefined ? undefined : joinedKeyFrom(row);
    },
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
    update: (id, change) =>
      updateAt(engine, sql, id, async (row) => {
        await owners.check(change);
        return columnsOf(changed(keyFrom(row), change));
      }),
    remove: async (id) => (await engine.change(sql.remove, [id])) === 1,
    list: async (group) => {
      const rows =
        group === undefined ? engine.read(sql.all, []) : engine.read(sql.ofGroup, [group]);
      return (await rows).map(keyFrom);
    },
    get: async (id) => {
      const [row] = await engine.read(sql.byId, [id]);
      return row === undefined ? undefined : keyFrom(row);
    },
    page: async (query) => {
      const { limit, ...filter } = checkKeyPage(query);
      const rows = await engine.read(sql.page, pageValues(filter, BigInt(limit + 1)));
      return keyPageOf(rows.map(keyFrom), limit);
    },
    owners: owners.table,
  };
}

function pageValues(
  { metadata, after, ...filter }: Omit<CheckedKeyPage, 'limit'>,
  limit: bigint,
): readonly SqlValue[] {
  const { search = null, group = null, owner = null, disabled = null } = filter;
  const [[name = null, value = null] = [], [otherName = null, other = null] = []] = metadata;
  return [after, search, group, owner, disabled, limit, name, value, otherName, other];
}

function columnsOf(key: ApiKey): readonly SqlValue[] {
  const { group, disabled, owner = null } = key;
  return [group, disabled, keyText(key), owner, keySearchText(key)];
}

function ownerStatements({ table, contains, json }: SqlDialect) {
  const owners = table('owners');
  const select = `
SELECT id, CAST(record AS text) AS record, CAST(version AS text) AS version FROM ${owners}`;
  return {
    byId: `${select} WHERE id = $1`,
    page: `${select}
WHERE id > $1 AND (CAST($2 AS text) IS NULL OR ${contains('searched', '$2')})
ORDER BY id LIMIT ${whole('$3')}`,
    insert: `
INSERT INTO ${owners} (id, record, searched)
VALUES ($1, ${json('$2')}, $3) ON CONFLICT DO NOTHING`,
    update: `
UPDATE ${owners} SET record = ${json('$3')}, searched = $4, version = version + 1
WHERE id = $1 AND version = ${whole('$2')}`,
    remove: `
DELETE FROM ${owners} WHERE id = $1 AND version = ${whole('$2')}
  AND NOT EXISTS (SELECT 1 FROM ${table('keys')} k WHERE k.owner = $1)`,
  };
}

interface SqlOwners {
  readonly table: OwnerTable;
  /** @throws ConfigurationError where a key names an owner that does not exist */
  check(key: { readonly owner?: ApiKey['owner'] | undefined }): Promise<void>;
}

function ownerTable(maker: string, engine: SqlEngine): SqlOwners {
  const sql = ownerStatements(engine.dialect);
  const get = async (id: string): Promise<KeyOwner | undefined> => {
    const [row] = await engine.read(sql.byId, [id]);
    return row === undefined ? undefined : ownerFrom(row);
  };
  const table: OwnerTable = {
    get,
    page: async (query) => {
      const { search = null, after, limit } = checkPage(query);
      const rows = await engine.read(sql.page, [after, search, BigInt(limit + 1)]);
      return ownerPageOf(rows.map(ownerFrom), limit);
    },
    add: async (owner) => {
      checkOwnerRecord(maker, owner);
      if ((await engine.change(sql.insert, [owner.id, ...ownerColumns(owner)])) === 1) return;
      throw ownerTaken(maker, owner.id);
    },
    update: (id, change) =>
      updateAt(engine, sql, id, (row) => {
        const owner = { ...changed(ownerFrom(row), change), id };
        checkOwnerRecord(maker, owner);
        return ownerColumns(owner);
      }),
    remove: async (id) => {
      const [row] = await engine.read(sql.byId, [id]);
      if (row === undefined) return false;
      return (await engine.change(sql.remove, [id, bigintAt(row, 'version')])) === 1;
    },
  };
  return {
    table,
    check: async ({ owner }) => {
      if (owner !== undefined && (await get(owner)) === undefined) throw ownerMissing(maker, owner);
    },
  };
}

function ownerColumns(owner: KeyOwner): readonly SqlValue[] {
  return [ownerText(owner), ownerSearchText(owner)];
}

const maxTries = 20;

/** Optimistic locking: writes only if nobody else has changed the row since it was read. */
async function updateAt(
  engine: SqlEngine,
  sql: { readonly byId: string; readonly update: string },
  id: string,
  columnsFor: (row: unknown) => MaybePromise<readonly SqlValue[]>,
): Promise<boolean> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const [row] = await engine.read(sql.byId, [id]);
    if (row === undefined) return false;
    const values = [id, bigintAt(row, 'version'), ...(await columnsFor(row))];
    if ((await engine.change(sql.update, values)) === 1) return true;
  }
  throw new StoreUnavailable('other processes kept changing the row', { outcome: 'not_done' });
}
