/** A catalog in a SQLite table of versions of the list of models; serves the newest one. */
import type { CatalogTable } from '../../catalog/catalog-versions.ts';
import {
  type PublishedCatalog,
  type PublishedCatalogOptions,
  publishedCatalog,
} from '../../catalog/published-catalog.ts';
import { publishedCatalogShape } from '../../catalog/published-catalog-options.ts';
import { type Clock, systemClock } from '../../clock.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { sqlCatalogTable } from '../sql/catalog-table.ts';
import type { SqliteClient } from './database.ts';
import { sqliteEngine } from './engine.ts';
import { aHandle, handleRemedy } from './handle-check.ts';

/** The database, and how the secrets that its models refer to are resolved. */
export interface SqliteCatalogOptions extends PublishedCatalogOptions {
  /** Open and migrated. */
  readonly client: SqliteClient;
}

const optionsSchema = strict('must be an object', { client: aHandle, ...publishedCatalogShape });

const statements = {
  insert: `
INSERT INTO tollgate_catalog (version, models, published_at_ms, actor, note, changes)
SELECT $2 + 1, $1, $now, $3, $4, $5
WHERE NOT EXISTS (SELECT 1 FROM tollgate_catalog WHERE version > $2)`,
  atMs: 'c.published_at_ms',
};

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

export function sqliteCatalogTable(client: SqliteClient, clock: Clock): CatalogTable {
  return sqlCatalogTable(sqliteEngine(client, clock), statements);
}
