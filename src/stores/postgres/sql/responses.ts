/**
 * Migration 15: whose a response of a provider is, and the use of kept items. It only adds, so
 * older processes keep running.
 */

/** Ids only, no content. */
export const responseTable = `
DO $migration$ BEGIN
PERFORM pg_advisory_xact_lock(8390880602266034277);
IF EXISTS (SELECT FROM "tollgate".schema_versions WHERE version = 15) THEN RETURN; END IF;

CREATE TABLE "tollgate".responses (
  id text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  account text NOT NULL,
  model_id text NOT NULL,
  kind text NOT NULL,
  max_tokens bigint,
  expires_ms bigint NOT NULL,
  PRIMARY KEY (owner, id)
);
CREATE INDEX responses_by_end ON "tollgate".responses (expires_ms);

CREATE FUNCTION "tollgate".use(p_input jsonb) RETURNS jsonb LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE "tollgate".kept SET used = nextval('"tollgate".kept_used')
  WHERE kind = 'item' AND owner = p_input->>'owner' AND id IN (
    SELECT id FROM "tollgate".kept
    WHERE kind = 'item' AND owner = p_input->>'owner'
      AND id IN (SELECT jsonb_array_elements_text(p_input->'ids'))
    -- A row that is locked is used, or forgotten, at this moment.
    FOR UPDATE SKIP LOCKED
  );
  RETURN NULL;
END $body$;

INSERT INTO "tollgate".schema_versions (version) VALUES (15);
END $migration$`;
