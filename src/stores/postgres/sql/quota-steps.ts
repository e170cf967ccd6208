/**
 * Migration 3: the steps that the quota operations consist of. An operation first locks all its
 * subjects in sorted order and then waits for nothing else, so operations can't deadlock.
 */

/**
 * A subject is locked by an advisory lock of the transaction: this needs no row, and readers don't
 * wait for it. To change a reservation, the locks of all its subjects must be held.
 */
export const quotaSteps = `
-- Names contain no slash, so the texts are unique. Two that share a hash only wait needlessly.
CREATE FUNCTION "tollgate".quota_lock_key(p_partition text, p_subject text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $body$
  SELECT hashtextextended('tollgate/' || p_partition || '/' || p_subject, 0)
$body$;

-- The effective limit of a row, kept within the range of an amount.
CREATE FUNCTION "tollgate".quota_limit(p_limit bigint, p_extra bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $body$
  SELECT greatest(0, least(9007199254740991, coalesce(p_limit, 0) + p_extra))
$body$;

-- Reads a reservation; the caller has locked its subjects. The row is locked too, so that a sweep
-- can't delete it.
CREATE FUNCTION "tollgate".quota_find(p_partition text, p_id text)
RETURNS "tollgate".quota_reservations LANGUAGE sql AS $body$
  SELECT * FROM "tollgate".quota_reservations
  WHERE id = p_id AND partition = p_partition FOR UPDATE
$body$;

-- Ends a held reservation and returns its amounts. An expiry charges what the reserve has fixed;
-- any other charge is a separate step. Each statement names complete keys, so that it uses the
-- index whatever the tables contained when it was planned.
CREATE FUNCTION "tollgate".quota_give_back(
  p_known "tollgate".quota_reservations, p_state text, p_at_ms bigint
) RETURNS void LANGUAGE plpgsql AS $body$
BEGIN
  UPDATE "tollgate".quota_reservations SET state = p_state, ended_ms = p_at_ms
  WHERE id = p_known.id AND partition = p_known.partition;
  FOR i IN 1 .. cardinality(p_known.subjects) LOOP
    DELETE FROM "tollgate".quota_leases
    WHERE subject = p_known.subjects[i] AND partition = p_known.partition
      AND due_ms = p_known.due_ms AND id = p_known.id;
    UPDATE "tollgate".quota_rows
    SET held_nanos = held_nanos - p_known.amounts[i],
      used_nanos = used_nanos + CASE p_state WHEN 'expired' THEN p_known.on_expire[i] ELSE 0 END,
      in_flight = in_flight - CASE WHEN p_known.idle THEN 0 ELSE 1 END, version = version + 1
    WHERE subject = p_known.subjects[i] AND period = p_known.periods[i]
      AND partition = p_known.partition;
  END LOOP;
END $body$;

-- Expires a reservation if its lease has run out; returns whether it did.
CREATE FUNCTION "tollgate".quota_expire(p_partition text, p_id text, p_at_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $body$
DECLARE
  known "tollgate".quota_reservations;
BEGIN
  known := "tollgate".quota_find(p_partition, p_id);
  IF known.state IS DISTINCT FROM 'held' OR known.due_ms > p_at_ms THEN RETURN false; END IF;
  PERFORM "tollgate".quota_give_back(known, 'expired', p_at_ms);
  RETURN true;
END $body$;

-- Adds charges to rows, which are created without a limit where there are none.
CREATE FUNCTION "tollgate".quota_charge(
  p_partition text, p_subjects text[], p_periods text[], p_amounts bigint[]
) RETURNS void LANGUAGE sql AS $body$
  INSERT INTO "tollgate".quota_rows AS r (partition, subject, period, used_nanos, version)
  SELECT p_partition, n.subject, n.period, n.amount, 1
  FROM unnest(p_subjects, p_periods, p_amounts) AS n (subject, period, amount)
  ON CONFLICT (partition, subject, period) DO UPDATE
  SET used_nanos = r.used_nanos + excluded.used_nanos, version = r.version + 1
$body$;

-- The first step of every operation: locks its subjects, and expires up to 64 due leases of each,
-- and its reservations if they are due. Returns the time from which the operation counts.
CREATE FUNCTION "tollgate".quota_enter(p_partition text, p_ids text[], p_subjects text[])
RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  started_ms bigint := "tollgate".now_ms();
  at_ms bigint;
  touched text[];
  wanted text[];
  due text[];
  one text;
BEGIN
  -- An older snapshot could miss holds that were committed before the lock was granted.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'quota needs the isolation level READ COMMITTED' USING ERRCODE = 'TG002';
  END IF;
  touched := ARRAY (
    SELECT unnest(p_subjects)
    UNION SELECT unnest(subjects) FROM "tollgate".quota_reservations
    WHERE id = ANY (p_ids) AND partition = p_partition
  );
  due := ARRAY (
    SELECT d.id FROM unnest(touched) AS s (subject) CROSS JOIN LATERAL (
      SELECT l.id FROM "tollgate".quota_leases l
      WHERE l.subject = s.subject AND l.partition = p_partition AND l.due_ms <= started_ms
      ORDER BY l.due_ms LIMIT 64
    ) d
  );
  -- A due reservation may have other subjects too, which must be locked before it is expired.
  wanted := touched;
  IF cardinality(due) > 0 THEN
    wanted := ARRAY (
      SELECT unnest(touched)
      UNION SELECT unnest(subjects) FROM "tollgate".quota_reservations
      WHERE id = ANY (due) AND partition = p_partition
    );
  END IF;
  PERFORM pg_advisory_xact_lock(k.key) FROM (
    SELECT DISTINCT "tollgate".quota_lock_key(p_partition, w.subject) AS key
    FROM unnest(wanted) AS w (subject) ORDER BY key
  ) k;
  -- A reservation with these ids, but other subjects, was created meanwhile: start again.
  IF EXISTS (
    SELECT FROM "tollgate".quota_reservations
    WHERE id = ANY (p_ids) AND partition = p_partition
      AND NOT subjects <@ wanted
  ) THEN
    RAISE EXCEPTION 'a reservation appeared' USING ERRCODE = '40001';
  END IF;
  at_ms := "tollgate".now_ms();
  FOREACH one IN ARRAY due || p_ids LOOP
    PERFORM "tollgate".quota_expire(p_partition, one, at_ms);
  END LOOP;
  RETURN at_ms;
END $body$;
`;
