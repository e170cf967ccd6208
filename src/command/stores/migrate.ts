/** `tollgate migrate`: brings the tables in SQLite and PostgreSQL up to date. */
import { dirname } from 'node:path';
import { migratePostgres, postgresMigrations } from '../../stores/postgres/migrations.ts';
import { migrateSqlite } from '../../stores/sqlite/database.ts';
import { sqliteMigrations } from '../../stores/sqlite/migrations.ts';
import { type Command, configOption, exitCodes, type Given, usageError } from '../command.ts';
import type { ServeConfig } from '../config/config.ts';
import { configFile } from '../config/read.ts';
import { printJson, progress } from '../output.ts';
import { type Databases, openDatabases } from './databases.ts';

export const migrate: Command = {
  name: 'migrate',
  summary: 'create or update the tables',
  options: { config: configOption },
  about: `Brings the tables of stores.sqlite and stores.postgres to the version of this package.
It is safe to repeat, and safe while gateways run. Run it before a new version of
"serve" starts, with a role that may create tables.`,
  examples: ['npx tollgate migrate --config tollgate.json'],
  run,
};

async function run(given: Given): Promise<number> {
  const file = configFile(given);
  const { stores = {} } = (await file.open()).current().config;
  if (stores.sqlite === undefined && stores.postgres === undefined) {
    throw usageError('there is nothing to migrate: add stores.sqlite or stores.postgres.');
  }
  const wanted = new Set(['sqlite', 'postgres'] as const);
  const databases = await openDatabases(stores, dirname(file.path), wanted);
  const versions = await progress(given, 'Updating the tables', () =>
    updated(databases).finally(databases.close),
  );
  if (given.json) printJson(given.around, { data: versions });
  for (const { database, version } of given.json ? [] : versions) {
    given.around.out(`${database}: the tables have version ${version}.\n`);
  }
  return exitCodes.done;
}

interface Updated {
  readonly database: 'sqlite' | 'postgres';
  readonly version: number;
}

async function updated({
  sqlite,
  kept,
  postgres,
}: Pick<Databases, Updated['database'] | 'kept'>): Promise<readonly Updated[]> {
  const versions: Updated[] = [];
  if (sqlite !== undefined) {
    await migrateSqlite(sqlite);
    if (kept !== undefined) await migrateSqlite(kept);
    versions.push({ database: 'sqlite', version: sqliteMigrations.length });
  }
  if (postgres !== undefined) {
    const { client, schema } = postgres;
    await migratePostgres(client, { schema });
    versions.push({ database: 'postgres', version: postgresMigrations.length });
  }
  return versions;
}

/** Updates the tables of databases before they are used, if the configuration says so. */
export async function prepareTables(
  { stores }: ServeConfig,
  { sqlite, kept, postgres }: Databases,
): Promise<void> {
  await updated({
    sqlite: stores?.sqlite?.migrate === true ? sqlite : undefined,
    kept,
    postgres: stores?.postgres?.migrate === true ? postgres : undefined,
  });
}
