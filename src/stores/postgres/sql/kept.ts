/**
 * Migrations 14 and 15: what is kept for some time, and whose a response of a provider is. They
 * only add, so older processes keep running.
 */

/** Content is user data: it is here only if a host sets up a store for it. */
export const keptTables = `
-- What was not used for the longest time is forgotten first.
CREATE SEQUENCE "tollgate".kept_used;
CREATE TABLE "tollgate".kept (
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  content bytea NOT NULL,
  size bigint NOT NULL,
  used bigint NOT NULL DEFAULT nextval('"tollgate".kept_used'),
  ends_ms bigint NOT NULL,
  PRIMARY KEY (id, owner, kind)
);
CREATE INDEX kept_by_use ON "tollgate".kept (kind, used);
CREATE INDEX kept_by_owner ON "tollgate".kept (owner, kind, used);
CREATE INDEX kept_by_end ON "tollgate".kept (ends_ms);

-- The sum of the sizes: of all, and of each owner.
CREATE TABLE "tollgate".kept_sums (
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (name, kind)
) WITH (fillfactor = 50);

CREATE FUNCTION "tollgate".kept_sum() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "tollgate".kept_sums AS s (kind, name, bytes)
    VALUES (NEW.kind, 'all', NEW.size), (NEW.kind, 'of ' || NEW.owner, NEW.size)
    ON CONFLICT (name, kind) DO UPDATE SET bytes = s.bytes + excluded.bytes;
  ELSE
    UPDATE "tollgate".kept_sums SET bytes = bytes - OLD.size
    WHERE kind = OLD.kind AND name IN ('all', 'of ' || OLD.owner);
    DELETE FROM "tollgate".kept_sums
    WHERE kind = OLD.kind AND name IN ('all', 'of ' || OLD.owner) AND bytes <= 0;
  END IF;
  RETURN NULL;
END $body$;
CREATE TRIGGER kept_sum AFTER INSERT OR DELETE ON "tollgate".kept
  FOR EACH ROW EXECUTE FUNCTION "tollgate".kept_sum();

CREATE FUNCTION "tollgate".keep(p_input jsonb, p_bytes bytea) RETURNS jsonb
LANGUAGE plpgsql AS $body$
DECLARE
  p_kind text := p_input->>'kind';
  p_owner text := p_input->>'owner';
  at_ms bigint;
  first integer := 1;
  entry record;
  oldest record;
BEGIN
  -- What a crash of the server loses is what a full store would forget.
  PERFORM set_config('synchronous_commit', 'off', true);
  -- One after the other anyway, because of the sum of all: so they can't wait for each other.
  PERFORM pg_advisory_xact_lock(hashtextextended('tollgate kept/' || p_kind, 0));
  at_ms := "tollgate".now_ms();
  DELETE FROM "tollgate".kept k USING (
    SELECT id, owner, kind FROM "tollgate".kept WHERE ends_ms <= at_ms
    ORDER BY ends_ms LIMIT 100 FOR UPDATE SKIP LOCKED
  ) old WHERE k.id = old.id AND k.owner = old.owner AND k.kind = old.kind;
  FOR entry IN SELECT * FROM ROWS FROM (
    jsonb_to_recordset(p_input->'entries') AS (id text, length integer, size bigint)
  ) WITH ORDINALITY AS e (id, length, size, n) ORDER BY e.n LOOP
    DELETE FROM "tollgate".kept k
    WHERE k.id = entry.id AND k.kind = p_kind AND (k.owner = p_owner OR p_kind = 'result');
    INSERT INTO "tollgate".kept (kind, id, owner, content, size, ends_ms)
    VALUES (p_kind, entry.id, p_owner, substring(p_bytes FROM first FOR entry.length), entry.size,
      at_ms + (p_input->>'ttlMs')::bigint);
    first := first + entry.length;
  END LOOP;
  FOR oldest IN SELECT id FROM "tollgate".kept
    WHERE kind = p_kind AND owner = p_owner ORDER BY used LOOP
    EXIT WHEN NOT EXISTS (SELECT FROM "tollgate".kept_sums WHERE kind = p_kind
      AND name = 'of ' || p_owner AND bytes > (p_input->>'maxOwnerBytes')::bigint);
    DELETE FROM "tollgate".kept WHERE id = oldest.id AND owner = p_owner AND kind = p_kind;
  END LOOP;
  FOR oldest IN SELECT id, owner FROM "tollgate".kept WHERE kind = p_kind ORDER BY used LOOP
    EXIT WHEN NOT EXISTS (SELECT FROM "tollgate".kept_sums WHERE kind = p_kind
      AND name = 'all' AND bytes > (p_input->>'maxBytes')::bigint);
    DELETE FROM "tollgate".kept WHERE id = oldest.id AND owner = oldest.owner AND kind = p_kind;
  END LOOP;
  RETURN NULL;
END $body$;
`;

/** Ids only, no content; and the use of kept items. */
export const responseTable = `
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
`;
