/** A catalog in a PostgreSQL table of versions of the list of models; serves the newest one. */
import type { z } from 'zod';
import type { CatalogTable } from '../../catalog/catalog-versions.ts';
import {
  type PublishedCatalog,
  type PublishedCatalogOptions,
  publishedCatalog,
} from '../../catalog/published-catalog.ts';
import { publishedCatalogShape } from '../../catalog/published-catalog-options.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { sqlCatalogTable } from '../sql/catalog-table.ts';
import type { PostgresLocation } from './client.ts';
import { postgresEngine } from './engine.ts';
import { locationMembers, locationRemedies } from './location.ts';

/** Where the table is, and how the secrets that its models refer to are resolved. */
export interface PostgresCatalogOptions extends PublishedCatalogOptions, PostgresLocation {}

const optionsSchema = strict('must be an object', {
  ...locationMembers,
  ...publishedCatalogShape,
} satisfies Record<keyof PostgresCatalogOptions, z.ZodType>);

// The primary key lets only one process add the version after the one that it has read. The
// sequence must not give out a version that was added by its number.
const statements = {
  insert: `
INSERT INTO "tollgate".catalogs (version, models, actor, note, changes) OVERRIDING SYSTEM VALUE
SELECT setval(pg_get_serial_sequence('"tollgate".catalogs', 'version'), $2::text::bigint + 1),
  $1::text::json, $3::text, $4::text, $5::text
WHERE NOT EXISTS (SELECT 1 FROM "tollgate".catalogs WHERE version > $2::text::bigint)
ON CONFLICT DO NOTHING`,
  atMs: 'CAST(floor(extract(epoch FROM c.published_at) * 1000) AS bigint)',
};

/**
 * A catalog of the newest published version, or an empty one where nothing was published.
 *
 * @throws ConfigurationError that names the option or the model and how to fix it; StoreUnavailable
 */
export async function postgresCatalog(options: PostgresCatalogOptions): Promise<PublishedCatalog> {
  checkMakerOptions('postgresCatalog', optionsSchema, options, locationRemedies);
  return publishedCatalog('postgresCatalog', postgresCatalogTable(options), options);
}

/** The table of versions in a migrated database. */
export function postgresCatalogTable(location: PostgresLocation): CatalogTable {
  return sqlCatalogTable(postgresEngine(location), statements);
}
