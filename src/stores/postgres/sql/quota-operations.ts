/**
 * Migrations 3 to 5: the steps of quota operations, and the operations extend, sweep, read and
 * adjust, with JSON as input and output. Amounts are decimal text, which no parser rounds.
 * `enable_seqscan` is off because a connection keeps the plans it made while a table was small.
 * `lock_timeout` is 5 s so that one stuck lock can't block a whole connection pool. An operation
 * first locks all its subjects in sorted order and then waits for nothing else, so operations can't
 * deadlock.
 */
import { extraTooLarge, limitStatedByRecords } from '../../../ports/limits/quota-input.ts';

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

export const quotaOperations = `
-- Extends one lease of a batch; the caller has taken the locks.
CREATE FUNCTION "tollgate".quota_extend_one(p_partition text, p_item jsonb, p_at_ms bigint)
RETURNS jsonb LANGUAGE plpgsql AS $body$
DECLARE
  known "tollgate".quota_reservations;
  end_ms bigint;
  more bigint[];
  room bigint;
BEGIN
  known := "tollgate".quota_find(p_partition, p_item->>'id');
  IF known.state IS DISTINCT FROM 'held' THEN
    RETURN jsonb_build_object('status', 'gone', 'as', coalesce(known.state, 'unknown'));
  END IF;
  more := ARRAY (
    SELECT a.amount::bigint FROM jsonb_array_elements_text(p_item->'add')
      WITH ORDINALITY AS a (amount, n) ORDER BY a.n
  );
  IF p_item ? 'add' AND cardinality(more) <> cardinality(known.subjects) THEN
    RAISE EXCEPTION 'Quota input refused: add must have an amount for each line.'
      USING ERRCODE = 'TG001';
  END IF;

  -- A delayed renewal with a short lease must not shorten a long one.
  end_ms := greatest(known.due_ms, p_at_ms + (p_item->>'ttlMs')::bigint);
  IF coalesce((p_item->>'idle')::boolean, false) AND NOT known.idle THEN
    UPDATE "tollgate".quota_reservations SET idle = true
    WHERE id = known.id AND partition = p_partition;
    FOR i IN 1 .. cardinality(known.subjects) LOOP
      UPDATE "tollgate".quota_leases SET idle = true
      WHERE subject = known.subjects[i] AND partition = p_partition
        AND due_ms = known.due_ms AND id = known.id;
      UPDATE "tollgate".quota_rows SET in_flight = in_flight - 1, version = version + 1
      WHERE subject = known.subjects[i] AND period = known.periods[i]
        AND partition = p_partition;
    END LOOP;
  END IF;
  IF end_ms > known.due_ms THEN
    UPDATE "tollgate".quota_reservations SET due_ms = end_ms
    WHERE id = known.id AND partition = p_partition;
    FOR i IN 1 .. cardinality(known.subjects) LOOP
      UPDATE "tollgate".quota_leases SET due_ms = end_ms
      WHERE subject = known.subjects[i] AND partition = p_partition
        AND due_ms = known.due_ms AND id = known.id;
    END LOOP;
  END IF;

  FOR i IN 1 .. cardinality(more) LOOP
    room := (
      SELECT "tollgate".quota_limit(limit_nanos, extra_nanos) - used_nanos - held_nanos
      FROM "tollgate".quota_rows
      WHERE subject = known.subjects[i] AND period = known.periods[i] AND partition = p_partition
    );
    IF more[i] > 0 AND room < more[i] THEN
      RETURN jsonb_build_object(
        'status', 'insufficient', 'subject', known.subjects[i], 'available', room::text);
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(more) LOOP
    CONTINUE WHEN more[i] = 0;
    known.amounts[i] := known.amounts[i] + more[i];
    UPDATE "tollgate".quota_rows
    SET held_nanos = held_nanos + more[i], version = version + 1
    WHERE subject = known.subjects[i] AND period = known.periods[i] AND partition = p_partition;
    UPDATE "tollgate".quota_reservations SET amounts = known.amounts
    WHERE id = known.id AND partition = p_partition;
  END LOOP;
  RETURN jsonb_build_object('status', 'held', 'expiresAtMs', end_ms);
END $body$;

CREATE FUNCTION "tollgate".quota_extend(p_input jsonb) RETURNS jsonb
LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '5s' AS $body$
DECLARE
  place text := p_input->>'partition';
  at_ms bigint;
  item jsonb;
  answers jsonb := '[]';
BEGIN
  at_ms := "tollgate".quota_enter(
    place, ARRAY (SELECT i.item->>'id' FROM jsonb_array_elements(p_input->'items') AS i (item)),
    '{}');
  FOR item IN
    SELECT i.item FROM jsonb_array_elements(p_input->'items') WITH ORDINALITY AS i (item, n)
    ORDER BY i.n
  LOOP
    answers := answers || jsonb_build_array("tollgate".quota_extend_one(place, item, at_ms));
  END LOOP;
  RETURN answers;
END $body$;
`;

export const quotaCare: string = `
-- Locks these subjects unless somebody else has locked one of them; never waits.
CREATE FUNCTION "tollgate".quota_try_lock(p_partition text, p_subjects text[]) RETURNS boolean
LANGUAGE plpgsql AS $body$
DECLARE
  one text;
BEGIN
  FOREACH one IN ARRAY p_subjects LOOP
    IF NOT pg_try_advisory_xact_lock("tollgate".quota_lock_key(p_partition, one)) THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
END $body$;

-- Expires due leases without waiting for locks: whoever has locked a subject also expires its due
-- leases. Deletes reservations that ended long enough ago.
CREATE FUNCTION "tollgate".quota_sweep(p_input jsonb) RETURNS jsonb
LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '5s' AS $body$
DECLARE
  only_in text := p_input->>'partition';
  at_ms bigint := "tollgate".now_ms();
  due record;
  expired integer := 0;
BEGIN
  FOR due IN
    SELECT partition, id, subjects FROM "tollgate".quota_reservations
    WHERE state = 'held' AND due_ms <= at_ms AND (only_in IS NULL OR partition = only_in)
    ORDER BY due_ms LIMIT (p_input->>'max')::integer
  LOOP
    CONTINUE WHEN NOT "tollgate".quota_try_lock(due.partition, due.subjects);
    IF "tollgate".quota_expire(due.partition, due.id, at_ms) THEN expired := expired + 1; END IF;
  END LOOP;

  DELETE FROM "tollgate".quota_reservations r USING (
    SELECT partition, id FROM "tollgate".quota_reservations
    WHERE state <> 'held' AND ended_ms <= at_ms - (p_input->>'keepMs')::bigint
    ORDER BY ended_ms LIMIT 10000 FOR UPDATE SKIP LOCKED
  ) old WHERE r.id = old.id AND r.partition = old.partition;

  RETURN jsonb_build_object('expired', expired, 'more', EXISTS (
    SELECT FROM "tollgate".quota_reservations
    WHERE state = 'held' AND due_ms <= at_ms AND (only_in IS NULL OR partition = only_in)
  ));
END $body$;

CREATE FUNCTION "tollgate".quota_state(p_partition text, p_subject text, p_period text)
RETURNS jsonb LANGUAGE sql AS $body$
  SELECT jsonb_build_object(
    'limit', coalesce(limit_nanos, 0)::text, 'extra', extra_nanos::text,
    'used', used_nanos::text, 'held', held_nanos::text,
    'inFlight', in_flight, 'enabled', enabled, 'version', version)
  FROM "tollgate".quota_rows
  WHERE subject = p_subject AND period = p_period AND partition = p_partition
$body$;

-- Reads one row, null where there is none; locks nothing unless a lease has run out.
CREATE FUNCTION "tollgate".quota_read(p_input jsonb) RETURNS jsonb
LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '5s' AS $body$
DECLARE
  place text := p_input->>'partition';
  name text := p_input->>'subject';
  at_ms bigint := "tollgate".now_ms();
BEGIN
  IF EXISTS (
    SELECT FROM "tollgate".quota_leases
    WHERE subject = name AND partition = place AND due_ms <= at_ms
  ) THEN
    PERFORM "tollgate".quota_enter(place, '{}', ARRAY[name]);
  END IF;
  RETURN "tollgate".quota_state(place, name, p_input->>'period');
END $body$;

CREATE FUNCTION "tollgate".quota_adjust(p_input jsonb) RETURNS jsonb
LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '5s' AS $body$
DECLARE
  place text := p_input->>'partition';
  name text := p_input->>'subject';
  span text := p_input->>'period';
  given bigint := (p_input->>'limit')::bigint;
  added bigint := (p_input->>'addLimit')::bigint;
  switched boolean := (p_input->>'enabled')::boolean;
  at_ms bigint;
  standing "tollgate".quota_rows;
  new_extra bigint;
  is_new boolean;
BEGIN
  at_ms := "tollgate".quota_enter(place, '{}', ARRAY[name]);
  INSERT INTO "tollgate".quota_rows (partition, subject, period) VALUES (place, name, span)
  ON CONFLICT DO NOTHING;
  INSERT INTO "tollgate".quota_adjustments
    (partition, id, subject, period, limit_nanos, add_limit_nanos, enabled, adjusted_ms)
  VALUES (place, p_input->>'id', name, span, given, added, switched, at_ms)
  ON CONFLICT DO NOTHING;
  is_new := FOUND;
  IF is_new THEN
    SELECT * INTO standing FROM "tollgate".quota_rows
    WHERE subject = name AND period = span AND partition = place;
    IF given IS NOT NULL AND standing.limit_carried THEN
      RAISE EXCEPTION 'Quota input refused: ${limitStatedByRecords}.' USING ERRCODE = 'TG001';
    END IF;
    new_extra := standing.extra_nanos + coalesce(added, 0);
    IF abs(new_extra) > 9007199254740991 THEN
      RAISE EXCEPTION 'Quota input refused: ${extraTooLarge}.' USING ERRCODE = 'TG001';
    END IF;
    -- An addition to a row without a limit counts from a limit of zero.
    UPDATE "tollgate".quota_rows
    SET limit_nanos = coalesce(given, limit_nanos, CASE WHEN added IS NOT NULL THEN 0 END),
      extra_nanos = new_extra, enabled = coalesce(switched, enabled), version = version + 1
    WHERE subject = name AND period = span AND partition = place;
  END IF;
  RETURN "tollgate".quota_state(place, name, span) || jsonb_build_object('replay', NOT is_new);
END $body$;
`;
