/**
 * Migrations 1 and 9: the schema, the table of applied migrations, the clock, and which processes
 * may use a schema that is newer than the one they know.
 */

/** Leases end by the server's clock alone. */
export const base = `\
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
`;

/**
 * A migration that only adds (a table, a column with a default, a function of a new name) keeps the
 * default, so that processes with an older version of the package keep running during a rolling
 * deploy. One that changes what they use inserts its own number, and they are refused when they
 * start.
 */
export const schemaCompatibility = `
ALTER TABLE "tollgate".schema_versions ADD COLUMN oldest_compatible integer NOT NULL DEFAULT 1;
`;
