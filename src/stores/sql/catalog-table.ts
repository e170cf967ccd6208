/** The versions of a catalog in a table. */
import type { CatalogTable } from '../../catalog/published-catalog.ts';
import { StoreUnavailable } from '../../ports/call-options.ts';
import { bigintAt, textAt } from './columns.ts';
import type { SqlDialect, SqlEngine } from './engine.ts';

export function catalogStatements({ table }: SqlDialect) {
  const catalogs = table('catalogs');
  return {
    version: `SELECT CAST(coalesce(max(version), 0) AS text) AS version FROM ${catalogs}`,
    newest: `
SELECT CAST(c.version AS text) AS version, CAST(c.models AS text) AS models
FROM ${catalogs} AS c ORDER BY c.version DESC LIMIT 1`,
    // The last ten versions are kept, to see what was changed and to go back.
    deleteOld: `
DELETE FROM ${catalogs} WHERE version <= (SELECT max(version) FROM ${catalogs}) - 10`,
  };
}

/** How often a version is added while other processes add theirs. */
const maxTries = 20;

/**
 * The table of versions in a migrated database.
 *
 * @param insert the statement that adds the models `$1` after version `$2`, unless there is a later
 */
export function sqlCatalogTable(engine: SqlEngine, insert: string): CatalogTable {
  const { dialect, background } = engine;
  const sql = catalogStatements(dialect);
  const version = async (): Promise<bigint> =>
    bigintAt((await engine.read(sql.version, [], background))[0], 'version');
  const addAfter = async (models: string, after: bigint): Promise<boolean> => {
    if ((await engine.change(insert, [models, after], background)) === 0) return false;
    await engine.change(sql.deleteOld, [], background);
    return true;
  };
  return {
    version,
    read: async () => {
      const [row] = await engine.read(sql.newest, [], background);
      if (row === undefined) return { version: 0n, models: undefined };
      return { version: bigintAt(row, 'version'), models: textAt(row, 'models') };
    },
    add: async (models, after) => {
      if (after !== undefined) return addAfter(models, after);
      for (let tries = 0; tries < maxTries; tries += 1) {
        if (await addAfter(models, await version())) return true;
      }
      throw new StoreUnavailable('other processes kept publishing', { outcome: 'not_done' });
    },
  };
}
