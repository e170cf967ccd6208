/** Migration 1: the schema, the table of what was migrated, and what alone tells the time. */

/**
 * Leases end by the server's clock alone. The number of the lock is any; all migrations share it.
 */
export const base = `
DO $migration$ BEGIN
PERFORM pg_advisory_xact_lock(8390880602266034277);
IF to_regclass('"tollgate".schema_versions') IS NOT NULL THEN RETURN; END IF;
-- Made only where it is missing: a role may be let into a schema and not allowed to make one.
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
