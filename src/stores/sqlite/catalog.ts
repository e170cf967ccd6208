/** A catalog in a SQLite table of versions of the list of models; serves the newest one. */
import { z } from 'zod';
import {
  type CatalogTable,
  type PublishedCatalog,
  type PublishedCatalogOptions,
  publishedCatalog,
  publishedCatalogShape,
} from '../../catalog/published-catalog.ts';
import { type Clock, systemClock } from '../../clock.ts';
import { checkMakerOptions } from '../../ports/set-up.ts';
import { bigintAt, textAt } from '../sql/columns.ts';
import { connectionTo, type SqliteHandle } from './handle.ts';
import { aHandle, handleRemedy } from './handle-check.ts';

/** The database, and how the secrets that its models refer to are resolved. */
export interface SqliteCatalogOptions extends PublishedCatalogOptions {
  /** Open and migrated. */
  readonly client: SqliteHandle;
}

const optionsSchema = z.strictObject(
  { client: aHandle, ...publishedCatalogShape },
  'must be an object',
);

const selectVersion = 'SELECT coalesce(max(version), 0) AS version FROM tollgate_catalog';
const selectNewest = `
SELECT version, models FROM tollgate_catalog ORDER BY version DESC LIMIT 1`;
const insertVersion = 'INSERT INTO tollgate_catalog (models, published_at_ms) VALUES (?, ?)';
// The last ten versions are kept, to see what was changed and to go back.
const deleteOld = `
DELETE FROM tollgate_catalog WHERE version <= (SELECT max(version) FROM tollgate_catalog) - 10`;

/** The statement of a poll, exported so that a test can check its query plan. */
export const catalogStatements: readonly string[] = [selectNewest];

/**
 * A catalog of the newest published version, or an empty one where nothing was published.
 *
 * @throws ConfigurationError that names the option or the model and how to fix it; StoreUnavailable
 */
export async function sqliteCatalog(options: SqliteCatalogOptions): Promise<PublishedCatalog> {
  checkMakerOptions('sqliteCatalog', optionsSchema, options, handleRemedy);
  const { client, clock = systemClock() } = options;
  return publishedCatalog('sqliteCatalog', sqliteCatalogTable(client, clock), options);
}

/** The table of versions in a migrated database. */
export function sqliteCatalogTable(client: SqliteHandle, clock: Clock): CatalogTable {
  const connection = connectionTo(client);
  return {
    version: () => connection.reading(() => bigintAt(connection.row(selectVersion), 'version')),
    read: () =>
      connection.reading(() => {
        const row = connection.row(selectNewest);
        if (row === undefined) return { version: 0n, models: undefined };
        return { version: bigintAt(row, 'version'), models: textAt(row, 'models') };
      }),
    add: (models, after) =>
      connection.transaction(() => {
        const newest = bigintAt(connection.row(selectVersion), 'version');
        if (after !== undefined && newest !== after) return false;
        connection.run(insertVersion, models, BigInt(clock.now()));
        connection.run(deleteOld);
        return true;
      }),
  };
}
