/**
 * Migrations 10 and 11: counts of refused requests, and what was wrong in them. They only add, so
 * older processes keep running.
 */

/** A count that is sent again has the same id. No column holds a secret. */
export const refusalTable = `
DO $migration$ BEGIN
PERFORM pg_advisory_xact_lock(8390880602266034277);
IF EXISTS (SELECT FROM "tollgate".schema_versions WHERE version = 10) THEN RETURN; END IF;

CREATE TABLE "tollgate".refusals (
  id text COLLATE "C" PRIMARY KEY,
  -- The beginning of the minute.
  refused_at_ms bigint NOT NULL,
  key_id text COLLATE "C",
  key_group text COLLATE "C",
  model_id text COLLATE "C",
  protocol text COLLATE "C",
  code text COLLATE "C" NOT NULL,
  reason text COLLATE "C",
  refusals bigint NOT NULL CHECK (refusals > 0)
);
CREATE INDEX refusals_by_time ON "tollgate".refusals (refused_at_ms, id);

INSERT INTO "tollgate".schema_versions (version) VALUES (10);
END $migration$`;

/** The member or the path that is wrong: up to 64 plain characters. */
export const refusalDetail = `
DO $migration$ BEGIN
PERFORM pg_advisory_xact_lock(8390880602266034277);
IF EXISTS (SELECT FROM "tollgate".schema_versions WHERE version = 11) THEN RETURN; END IF;

ALTER TABLE "tollgate".refusals ADD COLUMN detail text COLLATE "C";

INSERT INTO "tollgate".schema_versions (version) VALUES (11);
END $migration$`;
