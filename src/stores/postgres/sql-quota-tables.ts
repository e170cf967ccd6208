/** Migration 2: the tables of quota. Reservations go an hour after their end, rows never. */

/**
 * Amounts are bigints of nanos, times Unix milliseconds of the server's clock. Keys begin with what
 * tells most apart: a plan that was made while a table was empty is then no worse than any other.
 */
export const quotaTables = `
DO $migration$ BEGIN
PERFORM pg_advisory_xact_lock(8390880602266034277);
IF EXISTS (SELECT FROM "tollgate".schema_versions WHERE version = 2) THEN RETURN; END IF;

-- One subject and period. No limit where only a charge is known of it.
CREATE TABLE "tollgate".quota_rows (
  partition text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  period text COLLATE "C" NOT NULL,
  limit_nanos bigint CHECK (limit_nanos BETWEEN 0 AND 9007199254740991),
  -- Whether the latest reserve carried the limit.
  limit_carried boolean NOT NULL DEFAULT false,
  -- What operators have added to the limit.
  extra_nanos bigint NOT NULL DEFAULT 0
    CHECK (extra_nanos BETWEEN -9007199254740991 AND 9007199254740991),
  used_nanos bigint NOT NULL DEFAULT 0 CHECK (used_nanos >= 0),
  held_nanos bigint NOT NULL DEFAULT 0 CHECK (held_nanos >= 0),
  in_flight integer NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  enabled boolean NOT NULL DEFAULT true,
  version bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (subject, period, partition)
  -- Room on the page, so that an update need not touch the index.
) WITH (fillfactor = 50);

-- Member n of each array is line n. What a reserve never brought here has none.
CREATE TABLE "tollgate".quota_reservations (
  partition text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  state text NOT NULL CHECK (state IN ('held', 'settled', 'released', 'expired')),
  due_ms bigint NOT NULL,
  -- The call runs no more; its money stays held.
  idle boolean NOT NULL DEFAULT false,
  subjects text[] COLLATE "C" NOT NULL DEFAULT '{}',
  periods text[] COLLATE "C" NOT NULL DEFAULT '{}',
  -- The amounts of the reserve, which a replay must repeat; extends add to the next array only.
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

-- What is held, by subject and in order of its end: a row for each subject of a held reservation.
CREATE TABLE "tollgate".quota_leases (
  partition text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  due_ms bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  idle boolean NOT NULL DEFAULT false,
  PRIMARY KEY (subject, partition, due_ms, id)
);

-- What operators changed, each once by its id; never pruned, for a payment may be told twice.
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

INSERT INTO "tollgate".schema_versions (version) VALUES (2);
END $migration$`;
