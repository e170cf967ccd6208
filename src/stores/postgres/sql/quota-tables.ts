/** Migration 2: the quota tables. Ended reservations are deleted after an hour, rows never. */

/**
 * Amounts are nanos as bigint; times are Unix milliseconds of the server's clock. Keys begin with
 * the most selective column, so that even a plan made while a table was empty is a good one.
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
