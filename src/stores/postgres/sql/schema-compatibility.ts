/** Migration 9: which processes may use a schema that is newer than the one they know. */

/**
 * A migration that only adds (a table, a column with a default, a function of a new name) keeps the
 * default, so that processes with an older version of the package keep running during a rolling
 * deploy. One that changes what they use inserts its own number, and they are refused when they
 * start.
 */
export const schemaCompatibility = `
DO $migration$ BEGIN
PERFORM pg_advisory_xact_lock(8390880602266034277);
IF EXISTS (SELECT FROM "tollgate".schema_versions WHERE version = 9) THEN RETURN; END IF;

ALTER TABLE "tollgate".schema_versions ADD COLUMN oldest_compatible integer NOT NULL DEFAULT 1;

INSERT INTO "tollgate".schema_versions (version) VALUES (9);
END $migration$`;
