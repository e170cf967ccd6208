/** Migrations that only create and change tables, and the first: the schema and its clock. */

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

/**
 * Ended reservations are deleted after an hour, rows never. Amounts are nanos as bigint; times are
 * Unix milliseconds of the server's clock. Keys begin with the most selective column, so that even
 * a plan made while a table was empty is a good one.
 */
export const quotaTables = `
-- One row per subject and period. No limit where the row was created by a charge.
CREATE TABLE "tollgate".quota_rows (
  partition text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  period text COLLATE "C" NOT NULL,
  limit_nanos bigint CHECK (limit_nanos BETWEEN 0 AND 9007199254740991),
  -- Whether the latest reserve carried the limit.
  limit_carried boolean NOT NULL DEFAULT false,
  -- The amount that operators have added to the limit.
  extra_nanos bigint NOT NULL DEFAULT 0
    CHECK (extra_nanos BETWEEN -9007199254740991 AND 9007199254740991),
  used_nanos bigint NOT NULL DEFAULT 0 CHECK (used_nanos >= 0),
  held_nanos bigint NOT NULL DEFAULT 0 CHECK (held_nanos >= 0),
  in_flight integer NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  enabled boolean NOT NULL DEFAULT true,
  version bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (subject, period, partition)
  -- Free space on each page, so that an update need not touch the index.
) WITH (fillfactor = 50);

-- Item n of each array belongs to line n. Empty where the store never saw the reserve.
CREATE TABLE "tollgate".quota_reservations (
  partition text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  state text NOT NULL CHECK (state IN ('held', 'settled', 'released', 'expired')),
  due_ms bigint NOT NULL,
  -- The call no longer runs, but its money stays held.
  idle boolean NOT NULL DEFAULT false,
  subjects text[] COLLATE "C" NOT NULL DEFAULT '{}',
  periods text[] COLLATE "C" NOT NULL DEFAULT '{}',
  -- The amounts of the reserve, which a replay must repeat; an extend adds to amounts only.
  asked bigint[] NOT NULL DEFAULT '{}',
  amounts bigint[] NOT NULL DEFAULT '{}',
  on_expire bigint[] NOT NULL DEFAULT '{}',
  charged bigint[] NOT NULL DEFAULT '{}',
  ended_ms bigint,
  PRIMARY KEY (id, partition)
) WITH (fillfactor = 80);
CREATE INDEX quota_reservations_due ON "tollgate".quota_reservations (due_ms)
  WHERE state = 'held';
CREATE INDEX quota_reservations_ended ON "tollgate".quota_reservations (ended_ms)
  WHERE state <> 'held';

-- Held reservations by subject and due time: one row for each subject of a reservation.
CREATE TABLE "tollgate".quota_leases (
  partition text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  due_ms bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  idle boolean NOT NULL DEFAULT false,
  PRIMARY KEY (subject, partition, due_ms, id)
);

-- Adjustments by operators, each once by its id. Never pruned: payments may be reported again.
CREATE TABLE "tollgate".quota_adjustments (
  partition text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  period text COLLATE "C" NOT NULL,
  limit_nanos bigint,
  add_limit_nanos bigint,
  enabled boolean,
  adjusted_ms bigint NOT NULL,
  PRIMARY KEY (id, partition)
);
`;

/** No column holds a secret: a channel's credential is a reference by name or variable. */
export const keysAndModels = `
CREATE TABLE "tollgate".keys (
  id text COLLATE "C" PRIMARY KEY,
  digest text COLLATE "C" NOT NULL UNIQUE,
  key_group text COLLATE "C" NOT NULL,
  disabled boolean NOT NULL DEFAULT false,
  -- json, not jsonb: labels may contain what jsonb refuses, such as an escaped NUL.
  record json NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX keys_by_group ON "tollgate".keys (key_group, id);

-- The published lists of models; the newest is served.
CREATE TABLE "tollgate".catalogs (
  version bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  models json NOT NULL,
  published_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
`;

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

export const auditTable = `
CREATE TABLE "tollgate".audit (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms bigint NOT NULL,
  actor text NOT NULL,
  action text COLLATE "C" NOT NULL,
  target text,
  change json NOT NULL,
  outcome text NOT NULL,
  code text
);
CREATE INDEX audit_by_age ON "tollgate".audit (at_ms, seq);
-- Who published a version, why, and what it changed, as JSON text.
ALTER TABLE "tollgate".catalogs
  ADD COLUMN actor text, ADD COLUMN note text, ADD COLUMN changes text;
`;

export const keyOwners = `
CREATE TABLE "tollgate".owners (
  id text COLLATE "C" PRIMARY KEY,
  record json NOT NULL,
  searched text NOT NULL,
  version bigint NOT NULL DEFAULT 1
);
ALTER TABLE "tollgate".keys ADD COLUMN owner text COLLATE "C";
-- NULL in rows of older versions.
ALTER TABLE "tollgate".keys ADD COLUMN searched text;
CREATE INDEX keys_by_owner ON "tollgate".keys (owner, id) WHERE owner IS NOT NULL;
`;

export const clusterTables = `
-- What the processes that are running report of themselves, every few seconds.
CREATE UNLOGGED TABLE "tollgate".replicas (
  id text COLLATE "C" PRIMARY KEY,
  host text COLLATE "C" NOT NULL,
  pid bigint NOT NULL,
  version text NOT NULL,
  started_at_ms bigint NOT NULL,
  seen_at_ms bigint NOT NULL,
  channels json NOT NULL
) WITH (fillfactor = 50);

-- The latest switch of each channel, by an operator.
CREATE TABLE "tollgate".switches (
  channel_id text COLLATE "C" PRIMARY KEY,
  is_off boolean NOT NULL,
  actor text NOT NULL,
  at_ms bigint NOT NULL
);
`;
