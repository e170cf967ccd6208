/** A catalog in a PostgreSQL table of versions of the list of models; serves the newest one. */
import { z } from 'zod';
import {
  type CatalogTable,
  type PublishedCatalog,
  type PublishedCatalogOptions,
  publishedCatalog,
  publishedCatalogShape,
} from '../../catalog/published-catalog.ts';
import { StoreUnavailable } from '../../ports/call-options.ts';
import { checkMakerOptions } from '../../ports/set-up.ts';
import { bigintAt, textAt } from '../sql/columns.ts';
import { type PostgresLocation, statements } from './client.ts';
import { locationMembers, locationRemedies } from './location.ts';

/** Where the table is, and how the secrets that its models refer to are resolved. */
export interface PostgresCatalogOptions extends PublishedCatalogOptions, PostgresLocation {}

const optionsSchema = z.strictObject(
  { ...locationMembers, ...publishedCatalogShape } satisfies Record<
    keyof PostgresCatalogOptions,
    z.ZodType
  >,
  'must be an object',
);

const selectVersion = 'SELECT coalesce(max(version), 0)::text AS version FROM "tollgate".catalogs';
const selectNewest = `
SELECT version::text AS version, models::text AS models FROM "tollgate".catalogs
ORDER BY version DESC LIMIT 1`;
// The last ten versions are kept, to see what was changed and to go back.
// The primary key lets only one process add the version after the one that it has read.
const insertVersion = `
WITH added AS (
  INSERT INTO "tollgate".catalogs (version, models) OVERRIDING SYSTEM VALUE
  SELECT $2::text::bigint + 1, $1::text::json
  WHERE NOT EXISTS (SELECT 1 FROM "tollgate".catalogs WHERE version > $2::text::bigint)
  ON CONFLICT DO NOTHING RETURNING version
), deleted AS (
  DELETE FROM "tollgate".catalogs WHERE version <= (SELECT version - 10 FROM added)
)
-- The sequence must not give out a version that was added by its number.
SELECT version, setval(pg_get_serial_sequence('"tollgate".catalogs', 'version'), version)
FROM added`;

/** How often a version is added while other processes add theirs. */
const maxTries = 20;

/** Long, since only `publish` waits for these statements, not calls. */
const deadline = { timeoutMs: 10_000 };

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
  const { rows } = statements(location);
  const version = async (): Promise<bigint> =>
    bigintAt((await rows(selectVersion, [], deadline))[0], 'version');
  const addAfter = async (models: string, after: bigint): Promise<boolean> =>
    (await rows(insertVersion, [models, String(after)], deadline)).length > 0;
  return {
    version,
    read: async () => {
      const [row] = await rows(selectNewest, [], deadline);
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
