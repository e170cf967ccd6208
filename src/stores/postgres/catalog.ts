/** A catalog in a table of PostgreSQL: versions of the list of models, the newest one served. */
import { z } from 'zod';
import { checkMakerOptions } from '../../ports/set-up.ts';
import { bigintAt, textAt } from '../sql/columns.ts';
import {
  type CatalogTable,
  type PublishedCatalog,
  type PublishedCatalogOptions,
  publishedCatalog,
  publishedCatalogShape,
} from '../sql/published-catalog.ts';
import { locationMembers, locationRemedies, type PostgresLocation, statements } from './client.ts';

/** Where the table is, and how the secrets that its models name are found. */
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
// A few are kept for whoever wants to see what was changed, and to go back.
const insertVersion = `
WITH added AS (
  INSERT INTO "tollgate".catalogs (models) VALUES ($1::text::json) RETURNING version
)
DELETE FROM "tollgate".catalogs WHERE version <= (SELECT version - 10 FROM added)`;

/** Nobody waits for a look but whoever publishes. */
const patience = { timeoutMs: 10_000 };

/**
 * A catalog of the version that was published last; an empty one where none was.
 *
 * @throws ConfigurationError that names the option or the model and the cure; StoreUnavailable
 */
export async function postgresCatalog(options: PostgresCatalogOptions): Promise<PublishedCatalog> {
  checkMakerOptions('postgresCatalog', optionsSchema, options, locationRemedies);
  const { rows } = statements(options);
  const table: CatalogTable = {
    version: async () => bigintAt((await rows(selectVersion, [], patience))[0], 'version'),
    read: async () => {
      const [row] = await rows(selectNewest, [], patience);
      if (row === undefined) return { version: 0n, models: undefined };
      return { version: bigintAt(row, 'version'), models: textAt(row, 'models') };
    },
    add: async (models) => {
      await rows(insertVersion, [models], patience);
    },
  };
  return publishedCatalog('postgresCatalog', table, options);
}
