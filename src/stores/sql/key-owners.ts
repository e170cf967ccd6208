/** The owners of keys, in a table beside that of the keys. */
import { type MaybePromise, StoreUnavailable } from '../../ports/call-options.ts';
import {
  changed,
  type KeyOwner,
  type OwnerTable,
  ownerPageOf,
  ownerSearchText,
} from '../../ports/keys/key-owner.ts';
import { checkPage } from '../../ports/keys/key-page.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import { checkOwnerRecord, ownerMissing, ownerTaken } from '../../ports/keys/owner-schema.ts';
import { bigintAt, type SqlValue } from './columns.ts';
import { type SqlDialect, type SqlEngine, whole } from './engine.ts';
import { ownerFrom, ownerText } from './key-row.ts';

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

export function ownerTable(maker: string, engine: SqlEngine): SqlOwners {
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
      if ((await engine.change(sql.insert, [owner.id, ...columnsOf(owner)])) === 1) return;
      throw ownerTaken(maker, owner.id);
    },
    update: (id, change) =>
      updateAt(engine, sql, id, (row) => {
        const owner = { ...changed(ownerFrom(row), change), id };
        checkOwnerRecord(maker, owner);
        return columnsOf(owner);
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

function columnsOf(owner: KeyOwner): readonly SqlValue[] {
  return [ownerText(owner), ownerSearchText(owner)];
}

const maxTries = 20;

/** Optimistic locking: writes only if nobody else has changed the row since it was read. */
export async function updateAt(
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
