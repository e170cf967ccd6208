/** Migration 1: the schema, the table of applied migrations, and the clock. */

/** Leases end by the server's clock alone. All migrations share one arbitrary lock number. */
export const base = `
DO $migration$ BEGIN
PERFORM pg_advisory_xact_lock(8390880602266034277);
IF to_regclass('"tollgate".schema_versions') IS NOT NULL THEN RETURN; END IF;
-- Created only where it is missing: a role may use a schema without being allowed to create one.
IF to_regnamespace('"tollgate"') IS NULL THEN CREATE SCHEMA "tollgate"; END IF;

CREATE TABLE "tollgate".schema_versions (
  version integer PRIMARY KEY,
  migrated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Unix milliseconds at this moment, not at the transaction's start.
CREATE FUNCTION "tollgate".now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $body$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$body$;

INSERT INTO "tollgate".schema_versions (version) VALUES (1);
END $migration$`;
