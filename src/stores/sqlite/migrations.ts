/**
 * The tables as numbered migrations. A released migration never changes; a change is a new
 * migration.
 */

/** Money is in whole nanos; STRICT tables accept no text or fraction for it. */
const quotaTables = `
CREATE TABLE tollgate_quota (
  quota_partition TEXT NOT NULL,
  subject TEXT NOT NULL,
  period TEXT NOT NULL,
  -- NULL where the row was created by a charge: the next reserve carries the limit.
  limit_nanos INTEGER CHECK (limit_nanos >= 0),
  -- Whether the latest reserve carried the limit.
  limit_carried INTEGER NOT NULL DEFAULT 0 CHECK (limit_carried IN (0, 1)),
  -- The amount that operators have added to the limit.
  extra_nanos INTEGER NOT NULL DEFAULT 0,
  used_nanos INTEGER NOT NULL DEFAULT 0 CHECK (used_nanos >= 0),
  held_nanos INTEGER NOT NULL DEFAULT 0 CHECK (held_nanos >= 0),
  in_flight INTEGER NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  version INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (quota_partition, subject, period)
) STRICT, WITHOUT ROWID;

-- A reservation that is held, or has ended.
CREATE TABLE tollgate_hold (
  quota_partition TEXT NOT NULL,
  id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('held', 'settled', 'released', 'expired')),
  due_at_ms INTEGER NOT NULL,
  -- The call no longer runs, but its money stays held.
  idle INTEGER NOT NULL DEFAULT 0 CHECK (idle IN (0, 1)),
  ended_at_ms INTEGER CHECK ((ended_at_ms IS NULL) = (state = 'held')),
  -- JSON: subject, period, asked, amount and onExpire of each line; amounts as text.
  lines TEXT NOT NULL,
  -- JSON: the charge of each line; amounts as text.
  charged TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY (quota_partition, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tollgate_hold_due ON tollgate_hold (due_at_ms, quota_partition) WHERE state = 'held';
CREATE INDEX tollgate_hold_ended ON tollgate_hold (ended_at_ms) WHERE ended_at_ms IS NOT NULL;

-- The held reservations of each subject, in all its periods, by due time.
CREATE TABLE tollgate_lease (
  quota_partition TEXT NOT NULL,
  subject TEXT NOT NULL,
  due_at_ms INTEGER NOT NULL,
  id TEXT NOT NULL,
  idle INTEGER NOT NULL DEFAULT 0 CHECK (idle IN (0, 1)),
  PRIMARY KEY (quota_partition, subject, due_at_ms, id)
) STRICT, WITHOUT ROWID;

-- Never deleted: a payment may be reported again after days.
CREATE TABLE tollgate_adjustment (
  quota_partition TEXT NOT NULL,
  id TEXT NOT NULL,
  adjusted_at_ms INTEGER NOT NULL,
  PRIMARY KEY (quota_partition, id)
) STRICT, WITHOUT ROWID;
`;

/** Keys by the digest of their secret; claims by the digest of their name; the catalog. */
const keyTables = `
CREATE TABLE tollgate_key (
  id TEXT NOT NULL PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  key_group TEXT NOT NULL,
  disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
  record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tollgate_key_group ON tollgate_key (key_group, id);

CREATE TABLE tollgate_claim (
  name TEXT NOT NULL PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('running', 'done', 'unknown')),
  fingerprint TEXT NOT NULL,
  claim_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  http_status INTEGER,
  claimed_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  lease_ends_at_ms INTEGER NOT NULL,
  forget_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tollgate_claim_age ON tollgate_claim (forget_at_ms);

CREATE TABLE tollgate_catalog (
  version INTEGER PRIMARY KEY AUTOINCREMENT,
  models TEXT NOT NULL,
  published_at_ms INTEGER NOT NULL
) STRICT;
`;

/** One row per call; a later revision of its record replaces an earlier one. */
const usageTable = `
CREATE TABLE tollgate_usage (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  request_id TEXT NOT NULL,
  reservation_id TEXT NOT NULL,
  quota_partition TEXT NOT NULL,
  key_id TEXT NOT NULL,
  key_group TEXT NOT NULL,
  protocol TEXT NOT NULL,
  streamed INTEGER NOT NULL,
  model_id TEXT NOT NULL,
  channel_id TEXT,
  upstream_model TEXT,
  started_at_ms INTEGER NOT NULL,
  duration_ms REAL NOT NULL,
  first_byte_ms REAL,
  status INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT,
  basis TEXT NOT NULL,
  input_tokens INTEGER,
  cached_input_tokens INTEGER,
  output_tokens INTEGER,
  images INTEGER,
  cache_write_5m_tokens INTEGER,
  cache_write_1h_tokens INTEGER,
  reasoning_tokens INTEGER,
  audio_input_tokens INTEGER,
  audio_output_tokens INTEGER,
  image_input_tokens INTEGER,
  image_output_tokens INTEGER,
  video_input_tokens INTEGER,
  largest_pass_input_tokens INTEGER,
  tool_calls TEXT,
  held_nanos INTEGER NOT NULL,
  charge_nanos INTEGER NOT NULL,
  cost_nanos INTEGER,
  price TEXT NOT NULL,
  metadata TEXT,
  lines TEXT NOT NULL,
  attempts TEXT NOT NULL,
  booked INTEGER NOT NULL CHECK (booked IN (0, 1)),
  revision INTEGER NOT NULL,
  UNIQUE (request_id, reservation_id)
) STRICT;
CREATE INDEX tollgate_usage_start ON tollgate_usage (started_at_ms, seq);
`;

/**
 * A migration that only adds (a table, a column with a default) keeps the default, so that
 * processes with an older version of the package keep running. One that changes what they use sets
 * it to its own number for all rows, and they are refused when they start.
 */
const compatibility = `
ALTER TABLE tollgate_schema ADD COLUMN oldest_compatible INTEGER NOT NULL DEFAULT 1;
`;

const usageByKey = `
CREATE INDEX tollgate_usage_key ON tollgate_usage (key_id, started_at_ms);
`;

/** Counts of refused requests. A count that is sent again has the same id. */
const refusalTable = `
CREATE TABLE tollgate_refusal (
  id TEXT NOT NULL PRIMARY KEY,
  -- The beginning of the minute.
  refused_at_ms INTEGER NOT NULL,
  key_id TEXT,
  key_group TEXT,
  model_id TEXT,
  protocol TEXT,
  code TEXT NOT NULL,
  reason TEXT,
  refusals INTEGER NOT NULL CHECK (refusals > 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX tollgate_refusal_time ON tollgate_refusal (refused_at_ms, id);
`;

const refusalDetail = `
ALTER TABLE tollgate_refusal ADD COLUMN detail TEXT;
`;

/** Counts the changes of a key, so that none is lost where two processes make one. */
const keyVersion = `
ALTER TABLE tollgate_key ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
`;

/** Token buckets; the columns are the members of `TokenBucket`. */
const rateBuckets = `
CREATE TABLE tollgate_rate (
  owner TEXT NOT NULL,
  bucket TEXT NOT NULL,
  used INTEGER NOT NULL CHECK (used > 0),
  tick INTEGER NOT NULL,
  refill INTEGER NOT NULL CHECK (refill > 0),
  full_at_ms INTEGER NOT NULL,
  PRIMARY KEY (owner, bucket)
) STRICT, WITHOUT ROWID;
`;

/** Replies that are kept for some time, and the sum of their sizes: of all, and of each owner. */
const keptTables = `
CREATE TABLE tollgate_kept (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  owner TEXT NOT NULL,
  content BLOB NOT NULL,
  size INTEGER NOT NULL,
  -- What was not used for the longest time is forgotten first.
  used INTEGER NOT NULL,
  ends_ms INTEGER NOT NULL,
  PRIMARY KEY (id, owner, kind)
) STRICT;
CREATE INDEX tollgate_kept_use ON tollgate_kept (kind, used);
CREATE INDEX tollgate_kept_owner ON tollgate_kept (owner, kind, used);
CREATE INDEX tollgate_kept_end ON tollgate_kept (ends_ms);

CREATE TABLE tollgate_kept_sum (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (name, kind)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER tollgate_kept_added AFTER INSERT ON tollgate_kept BEGIN
  INSERT INTO tollgate_kept_sum (kind, name, bytes)
  VALUES (new.kind, 'all', new.size), (new.kind, 'of ' || new.owner, new.size)
  ON CONFLICT (name, kind) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER tollgate_kept_removed AFTER DELETE ON tollgate_kept BEGIN
  UPDATE tollgate_kept_sum SET bytes = bytes - old.size
  WHERE kind = old.kind AND name IN ('all', 'of ' || old.owner);
  DELETE FROM tollgate_kept_sum
  WHERE kind = old.kind AND name IN ('all', 'of ' || old.owner) AND bytes <= 0;
END;
`;

/** Whose a response of a provider is: ids, no content. */
const responseTable = `
CREATE TABLE tollgate_response (
  id TEXT NOT NULL,
  owner TEXT NOT NULL,
  account TEXT NOT NULL,
  model_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  max_tokens INTEGER,
  expires_ms INTEGER NOT NULL,
  PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tollgate_response_end ON tollgate_response (expires_ms);
`;

/** The audit trail, and who published a version of the catalog, why, and what it changed. */
const auditTable = `
CREATE TABLE tollgate_audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT,
  change TEXT NOT NULL,
  outcome TEXT NOT NULL,
  code TEXT
) STRICT;
CREATE INDEX tollgate_audit_age ON tollgate_audit (at_ms, seq);
ALTER TABLE tollgate_catalog ADD COLUMN actor TEXT;
ALTER TABLE tollgate_catalog ADD COLUMN note TEXT;
ALTER TABLE tollgate_catalog ADD COLUMN changes TEXT;
`;

/** The owners of keys, and what a search for keys looks into; NULL in rows of older versions. */
const keyOwners = `
CREATE TABLE tollgate_owner (
  id TEXT NOT NULL PRIMARY KEY,
  record TEXT NOT NULL,
  searched TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;
ALTER TABLE tollgate_key ADD COLUMN owner TEXT;
ALTER TABLE tollgate_key ADD COLUMN searched TEXT;
CREATE INDEX tollgate_key_owner ON tollgate_key (owner, id) WHERE owner IS NOT NULL;
`;

/** The processes that are running, and the channels that operators have switched. */
const clusterTables = `
CREATE TABLE tollgate_replica (
  id TEXT NOT NULL PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  version TEXT NOT NULL,
  started_at_ms INTEGER NOT NULL,
  seen_at_ms INTEGER NOT NULL,
  channels TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE tollgate_switch (
  channel_id TEXT NOT NULL PRIMARY KEY,
  is_off INTEGER NOT NULL,
  actor TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;

/** The migrations in order. The number of a migration is its position in the list, from 1. */
export const sqliteMigrations: readonly string[] = [
  quotaTables + keyTables + usageTable,
  compatibility,
  usageByKey,
  refusalTable,
  refusalDetail,
  keyVersion,
  rateBuckets,
  keptTables,
  responseTable,
  auditTable,
  keyOwners,
  clusterTables,
];
