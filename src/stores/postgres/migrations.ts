/** The schema as numbered migrations, run by {@link migratePostgres} or by a host's own tool. */
import { z } from 'zod';
import { ConfigurationError } from '../../errors.ts';
import { type CallOptions, isStoreUnavailable } from '../../ports/call-options.ts';
import { checkMakerOptions } from '../../ports/set-up.ts';
import { integerAt } from '../sql/columns.ts';
import { type PostgresLocation, type Statements, statements } from './client.ts';
import { locationMembers, locationRemedies } from './location.ts';
import { base } from './sql-base.ts';
import { idempotencyTables } from './sql-idempotency.ts';
import { keysAndModels } from './sql-keys-and-models.ts';
import { quotaCare } from './sql-quota-care.ts';
import { quotaOperations } from './sql-quota-operations.ts';
import { quotaSteps } from './sql-quota-steps.ts';
import { quotaTables } from './sql-quota-tables.ts';
import { usageTables } from './sql-usage.ts';

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
].map((sql, index) => ({ version: index + 1, sql }));

const locationSchema = z.strictObject(
  { schema: locationMembers.schema } satisfies Record<
    keyof Omit<PostgresLocation, 'client'>,
    z.ZodType
  >,
  'must be an object',
);

const clientSchema = z.strictObject(
  { client: locationMembers.client } satisfies Record<'client', z.ZodType>,
  'must be an object',
);

/**
 * Brings the schema up to date. Safe to repeat, and safe from several processes at once.
 *
 * @throws ConfigurationError that names the option and says how to fix it; StoreUnavailable
 */
export async function migratePostgres(
  client: PostgresLocation['client'],
  options: Omit<PostgresLocation, 'client'> = {},
): Promise<void> {
  checkMakerOptions('migratePostgres', clientSchema, { client }, locationRemedies);
  checkMakerOptions('migratePostgres', locationSchema, options);
  const { rows } = statements({ client, ...options });
  for (const { sql } of postgresMigrations) await rows(sql, []);
  const problem = await layoutProblem(rows);
  if (problem !== undefined) throw new ConfigurationError(`migratePostgres: ${problem}`);
}

const readVersion = 'SELECT coalesce(max(version), 0) AS version FROM "tollgate".schema_versions';

const remedy = 'Run migratePostgres(client) before the gateway starts.';

/** The problem with the schema's version, as a sentence; undefined where it matches. */
export async function versionProblem(
  { rows }: Statements,
  options: CallOptions,
): Promise<string | undefined> {
  try {
    const [row] = await rows(readVersion, [], options);
    const version = integerAt(row, 'version');
    if (version === postgresMigrations.length) return await layoutProblem(rows, options);
    const versions = [version, ', this package has ', postgresMigrations.length].join('');
    return ['The schema has version ', versions, '. ', remedy].join('');
  } catch (error) {
    if (!isMissing(error)) throw error;
    return ['The tables are missing. ', remedy].join('');
  }
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
  return isStoreUnavailable(error) && / (?:42P01|3F000)$/.test(error.message);
}
