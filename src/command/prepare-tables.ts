/** Updates the tables of databases before they are used, if the configuration says so. */
import { migratePostgres } from '../stores/postgres/migrations.ts';
import { migrateSqlite } from '../stores/sqlite/schema.ts';
import type { ServeConfig } from './config/config.ts';
import type { Databases } from './databases.ts';

/** Updates them. */
export async function prepareTables({ stores }: ServeConfig, databases: Databases): Promise<void> {
  const { sqlite, postgres } = databases;
  if (sqlite !== undefined && stores?.sqlite?.migrate === true) migrateSqlite(sqlite);
  if (postgres !== undefined && stores?.postgres?.migrate === true) {
    await migratePostgres(postgres.client, { schema: postgres.schema });
  }
}
