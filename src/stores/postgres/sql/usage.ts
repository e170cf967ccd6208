/**
 * Migrations 8, 10 and 11: the usage log, one row per call, and counts of refused requests. No
 * column holds a body or a secret.
 */

/**
 * Members that reports filter by or sum up have a column; the rest is json, not jsonb, which
 * refuses some characters of a label. The two ids of a call let a batch be sent twice and count
 * once.
 */
export const usageTables = `
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
`;

/** A count that is sent again has the same id. */
export const refusalTable = `
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
`;

/** The member or the path that is wrong: up to 64 plain characters. */
export const refusalDetail = `
ALTER TABLE "tollgate".refusals ADD COLUMN detail text COLLATE "C";
`;
