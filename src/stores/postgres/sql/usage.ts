/** Migration 8: the usage log, one row per call. No column holds a body or a secret. */

/**
 * Members that reports filter by or sum up have a column; the rest is json, not jsonb, which
 * refuses some characters of a label. The two ids of a call let a batch be sent twice and count
 * once.
 */
export const usageTables = `
DO $migration$ BEGIN
PERFORM pg_advisory_xact_lock(8390880602266034277);
IF EXISTS (SELECT FROM "tollgate".schema_versions WHERE version = 8) THEN RETURN; END IF;

CREATE TABLE "tollgate".usage (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  request_id text COLLATE "C" NOT NULL,
  reservation_id text COLLATE "C" NOT NULL,
  quota_partition text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  key_group text COLLATE "C" NOT NULL,
  protocol text NOT NULL,
  streamed boolean NOT NULL,
  model_id text COLLATE "C" NOT NULL,
  channel_id text,
  upstream_model text,
  started_at_ms bigint NOT NULL,
  duration_ms double precision NOT NULL,
  first_byte_ms double precision,
  status integer NOT NULL,
  outcome text NOT NULL,
  reason text,
  basis text NOT NULL,
  input_tokens bigint,
  cached_input_tokens bigint,
  output_tokens bigint,
  images bigint,
  cache_write_5m_tokens bigint,
  cache_write_1h_tokens bigint,
  reasoning_tokens bigint,
  audio_input_tokens bigint,
  audio_output_tokens bigint,
  image_input_tokens bigint,
  image_output_tokens bigint,
  video_input_tokens bigint,
  largest_pass_input_tokens bigint,
  tool_calls json,
  held_nanos bigint NOT NULL,
  charge_nanos bigint NOT NULL,
  cost_nanos bigint,
  price json NOT NULL,
  metadata json,
  lines json NOT NULL,
  attempts json NOT NULL,
  booked boolean NOT NULL,
  revision integer NOT NULL,
  UNIQUE (request_id, reservation_id)
);
CREATE INDEX usage_by_start ON "tollgate".usage (started_at_ms, seq);
CREATE INDEX usage_by_key ON "tollgate".usage (key_id, started_at_ms);

INSERT INTO "tollgate".schema_versions (version) VALUES (8);
END $migration$`;
