/** The versions of a catalog in a table. */
import {
  type CatalogTable,
  type CatalogVersion,
  recordedChanges,
} from '../../catalog/catalog-versions.ts';
import { bigintAt, integerAt, textAt, textOrNoneAt } from './columns.ts';
import type { SqlDialect, SqlEngine } from './engine.ts';

/** How a database adds a version, and says when it was published. */
interface CatalogSql {
  /**
   * Adds the models `$1` after version `$2`, with the actor `$3`, the note `$4` and the changes
   * `$5`, unless there is a later version.
   */
  readonly insert: string;
  /** The column with the time of publication, in Unix ms. */
  readonly atMs: string;
}

/** How many versions are kept, to see what was changed and to go back. */
const keptVersions = 100;

export function catalogStatements({ table }: SqlDialect, { atMs }: Pick<CatalogSql, 'atMs'>) {
  const catalogs = table('catalogs');
  return {
    version: `SELECT CAST(coalesce(max(version), 0) AS text) AS version FROM ${catalogs}`,
    newest: `
SELECT CAST(c.version AS text) AS version, CAST(c.models AS text) AS models
FROM ${catalogs} AS c ORDER BY c.version DESC LIMIT 1`,
    one: `
SELECT CAST(c.version AS text) AS version, CAST(c.models AS text) AS models
FROM ${catalogs} AS c WHERE c.version = CAST(CAST($1 AS text) AS bigint)`,
    history: `
SELECT CAST(c.version AS text) AS version, ${atMs} AS at_ms, c.actor, c.note, c.changes
FROM ${catalogs} AS c ORDER BY c.version DESC LIMIT ${keptVersions}`,
    deleteOld: `
DELETE FROM ${catalogs} WHERE version <= (SELECT max(version) FROM ${catalogs}) - ${keptVersions}`,
  };
}

/** The table of versions in a migrated database. */
export function sqlCatalogTable(engine: SqlEngine, statements: CatalogSql): CatalogTable {
  const { dialect, background } = engine;
  const sql = catalogStatements(dialect, statements);
  return {
    version: async () => bigintAt((await engine.read(sql.version, [], background))[0], 'version'),
    read: async (version) => {
      const [row] =
        version === undefined
          ? await engine.read(sql.newest, [], background)
          : await engine.read(sql.one, [String(version)], background);
      if (row !== undefined) {
        return { version: bigintAt(row, 'version'), models: textAt(row, 'models') };
      }
      return version === undefined || version === 0n ? { version: 0n, models: '[]' } : undefined;
    },
    add: async ({ models, after, actor = null, note = null, changes }) => {
      const values = [models, after, actor, note, changes];
      if ((await engine.change(statements.insert, values, background)) === 0) return false;
      await engine.change(sql.deleteOld, [], background);
      return true;
    },
    history: async () => (await engine.read(sql.history, [], background)).map(versionFrom),
  };
}

function versionFrom(row: unknown): CatalogVersion {
  return {
    version: Number(bigintAt(row, 'version')),
    atMs: integerAt(row, 'at_ms'),
    actor: textOrNoneAt(row, 'actor'),
    note: textOrNoneAt(row, 'note'),
    ...recordedChanges(textOrNoneAt(row, 'changes')),
  };
}
