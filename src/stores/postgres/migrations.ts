/** The schema as numbered migrations, run by {@link migratePostgres} or by a host's own tool. */
import type { z } from 'zod';
import { ConfigurationError } from '../../errors.ts';
import { type CallOptions, isStoreUnavailable } from '../../ports/call-options.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { integerAt } from '../sql/columns.ts';
import { migrationRemedy, type PostgresLocation, type Statements, statements } from './client.ts';
import { locationMembers, locationRemedies } from './location.ts';
import { idempotencyTables } from './sql/idempotency.ts';
import { keptTables, responseTable } from './sql/kept.ts';
import { quotaBatches } from './sql/quota-batches.ts';
import { quotaCare, quotaOperations, quotaSteps } from './sql/quota-operations.ts';
import { rateBuckets } from './sql/rates.ts';
import {
  auditTable,
  base,
  clusterTables,
  keyOwners,
  keysAndModels,
  quotaTables,
  refusalDetail,
  refusalTable,
  schemaCompatibility,
  usageTables,
} from './sql/tables.ts';

/** One migration. */
export interface PostgresMigration {
  /** Numbers begin with 1 and have no gaps. */
  readonly version: number;
  /**
   * One statement, in the schema `"tollgate"`. It takes an advisory lock, is one transaction, and
   * does nothing if it has run before, so any number of processes may send it.
   */
  readonly sql: string;
}

/** All migrations in order. A released migration is never changed. */
export const postgresMigrations: readonly PostgresMigration[] = [
  base,
  quotaTables,
  quotaSteps,
  quotaOperations,
  quotaCare,
  idempotencyTables,
  keysAndModels,
  usageTables,
  schemaCompatibility,
  refusalTable,
  refusalDetail,
  quotaBatches,
  rateBuckets,
  keptTables,
  responseTable,
  auditTable,
  keyOwners,
  clusterTables,
].map((body, index) => ({ version: index + 1, sql: migrationOf(index + 1, body) }));

/** All migrations share one arbitrary lock number. */
function migrationOf(version: number, body: string): string {
  const isDone =
    version === 1
      ? `to_regclass('"tollgate".schema_versions') IS NOT NULL`
      : `EXISTS (SELECT FROM "tollgate".schema_versions WHERE version = ${version})`;
  return `
DO $migration$ BEGIN
PERFORM pg_advisory_xact_lock(8390880602266034277);
IF ${isDone} THEN RETURN; END IF;
${body}
INSERT INTO "tollgate".schema_versions (version) VALUES (${version});
END $migration$`;
}

const locationSchema = strict('must be an object', {
  schema: locationMembers.schema,
} satisfies Record<keyof Omit<PostgresLocation, 'client'>, z.ZodType>);

const clientSchema = strict('must be an object', {
  client: locationMembers.client,
} satisfies Record<'client', z.ZodType>);

/**
 * Brings the schema up to date. Safe to repeat, safe from several processes at once, and safe while
 * processes with an older version of this package use it, unless the changelog says otherwise.
 *
 * @throws ConfigurationError that names the option and says how to fix it, or where a newer version
 *   of this package has changed the schema so that this one can't use it; StoreUnavailable
 */
export async function migratePostgres(
  client: PostgresLocation['client'],
  options: Omit<PostgresLocation, 'client'> = {},
): Promise<void> {
  checkMakerOptions('migratePostgres', clientSchema, { client }, locationRemedies);
  checkMakerOptions('migratePostgres', locationSchema, options);
  const { rows } = statements({ client, ...options });
  const newest = await newestIn(rows);
  if (newest !== undefined && !isUsable(newest)) {
    throw new ConfigurationError(`migratePostgres: ${tooNew(newest)}`);
  }
  for (const { sql } of postgresMigrations) await rows(sql, []);
  const problem = await layoutProblem(rows);
  if (problem !== undefined) throw new ConfigurationError(`migratePostgres: ${problem}`);
}

interface SchemaVersion {
  readonly version: number;
  readonly oldestCompatible: number;
}

/** The column of the second value is missing before migration 9; every older version was usable. */
const readVersion = `
SELECT coalesce(max(version), 0) AS version,
  coalesce(max((to_jsonb(v)->>'oldest_compatible')::integer), 1) AS oldest_compatible
FROM "tollgate".schema_versions v`;

/** The schema's version; undefined where its tables are missing. */
async function newestIn(
  rows: Statements['rows'],
  options?: CallOptions,
): Promise<SchemaVersion | undefined> {
  try {
    const [row] = await rows(readVersion, [], options);
    return {
      version: integerAt(row, 'version'),
      oldestCompatible: integerAt(row, 'oldest_compatible'),
    };
  } catch (error) {
    if (!isMissing(error)) throw error;
    return undefined;
  }
}

function isUsable({ version, oldestCompatible }: SchemaVersion): boolean {
  return version <= postgresMigrations.length || oldestCompatible <= postgresMigrations.length;
}

function tooNew({ version, oldestCompatible }: SchemaVersion): string {
  const needed = `which only packages of schema version ${oldestCompatible} or later can use`;
  const own = `This package has version ${postgresMigrations.length}`;
  return `The schema has version ${version}, ${needed}. ${own}: update it.`;
}

export async function versionProblem(
  { rows }: Statements,
  options: CallOptions,
): Promise<string | undefined> {
  const found = await newestIn(rows, options);
  if (found === undefined) return `The tables are missing. ${migrationRemedy}`;
  if (!isUsable(found)) return tooNew(found);
  const { version } = found;
  const own = postgresMigrations.length;
  if (version >= own) return await layoutProblem(rows, options);
  return `The schema has version ${version}, this package has ${own}. ${migrationRemedy}`;
}

/**
 * Tables made before the first release have the same version number but other columns, so one new
 * column is looked for in each table that has changed.
 */
const countColumns = `
SELECT count(*)::integer AS found FROM pg_attribute WHERE NOT attisdropped AND (
  (attrelid = to_regclass('"tollgate".quota_rows') AND attname = 'extra_nanos')
  OR (attrelid = to_regclass('"tollgate".quota_reservations') AND attname = 'idle')
  OR (attrelid = to_regclass('"tollgate".quota_leases') AND attname = 'idle')
  OR (attrelid = to_regclass('"tollgate".usage') AND attname = 'cost_nanos')
)`;
const expectedColumns = 4;

async function layoutProblem(
  rows: Statements['rows'],
  options?: CallOptions,
): Promise<string | undefined> {
  const [row] = await rows(countColumns, [], options);
  return integerAt(row, 'found') === expectedColumns ? undefined : oldLayout;
}

const oldLayout =
  "The tables are those of a version before the first release, which this package can't use. " +
  'Drop the schema, or name a new one, and run migratePostgres(client).';

function isMissing(error: unknown): boolean {
  return isStoreUnavailable(error) && (error.code === '42P01' || error.code === '3F000');
}
