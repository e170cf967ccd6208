/** Helpers of the PostgreSQL suites: a migrated schema, and a clock that a test controls. */
import type pg from 'pg';
import { migratePostgres } from '../../../src/stores/postgres/migrations.ts';

/** The clock of a schema, which only a test advances. */
export interface ControlledClock {
  advance(ms: number): Promise<void>;
}

/**
 * Replaces the server's clock with one that the test advances. All functions of the schema get the
 * time from `now_ms()`, so replacing it controls all leases.
 */
export async function controlClock(pool: pg.Pool, schema = 'tollgate'): Promise<ControlledClock> {
  const sql = [
    'CREATE TABLE "tollgate".held_clock (now_ms bigint NOT NULL)',
    'INSERT INTO "tollgate".held_clock VALUES (1767225600000)',
    `CREATE OR REPLACE FUNCTION "tollgate".now_ms() RETURNS bigint LANGUAGE sql VOLATILE
      AS $body$ SELECT now_ms FROM "tollgate".held_clock $body$`,
  ].map((text) => text.replaceAll('"tollgate"', `"${schema}"`));
  for (const text of sql) await pool.query(text);
  return {
    advance: async (ms) => {
      const text = 'UPDATE "tollgate".held_clock SET now_ms = now_ms + $1';
      await pool.query(text.replaceAll('"tollgate"', `"${schema}"`), [ms]);
    },
  };
}

/** A pool on a migrated schema. */
export async function migrated(pool: pg.Pool, schema?: string): Promise<pg.Pool> {
  await migratePostgres(pool, schema === undefined ? {} : { schema });
  return pool;
}

/**
 * Does what a migration of a later version may do while processes with this version use the schema:
 * adds columns to every table, of which one may not be null, and a version number.
 */
export async function addLater(pool: pg.Pool, schema = 'tollgate'): Promise<void> {
  const { rows } = await pool.query<{ tablename: string }>(
    'SELECT tablename FROM pg_tables WHERE schemaname = $1',
    [schema],
  );
  const name = `"${schema}"`;
  for (const { tablename } of rows) {
    await pool.query(`ALTER TABLE ${name}.${tablename} ADD COLUMN later_text text`);
    await pool.query(
      `ALTER TABLE ${name}.${tablename} ADD COLUMN later_count integer NOT NULL DEFAULT 7`,
    );
  }
  await pool.query(`CREATE TABLE ${name}.later (id integer PRIMARY KEY)`);
  await pool.query(`INSERT INTO ${name}.schema_versions (version) VALUES (99)`);
}
