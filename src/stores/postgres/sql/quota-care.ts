/** Migration 5: the quota operations sweep, read and adjust. */
import { extraTooLarge, limitStatedByRecords } from '../../../ports/limits/quota-input.ts';

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
