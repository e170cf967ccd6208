/** Quota operations written a second time, each on its own, to compare those in batches with. */
import type pg from 'pg';
import { jsonWithBigints } from '../../../src/json.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import { statements } from '../../../src/stores/postgres/client.ts';
import {
  releaseResult,
  reserveResult,
  resultOf,
  settleResult,
} from '../../../src/stores/postgres/quota-replies.ts';
import { postgresQuotaStore } from '../../../src/stores/postgres/quota-store.ts';

/** A store whose operations each run in a function of its own, which it adds to the schema. */
export async function oneByOneStore(client: pg.Pool): Promise<QuotaStore> {
  await client.query(functions);
  const db = statements({ client });
  const call = async (name: string, input: object) => {
    const text = `SELECT "tollgate".quota_${name}($1::text::jsonb)::text AS result`;
    return resultOf(await db.rows(text, [jsonWithBigints(input)]));
  };
  return {
    ...postgresQuotaStore({ client }),
    reserve: async ({ onExpire, maxConcurrentCalls, ...input }) => {
      const lines = input.lines.map((line, index) => ({
        ...line,
        charge: onExpire === 'release' ? 0n : onExpire.charge[index],
        cap: maxConcurrentCalls?.[index],
      }));
      return reserveResult(await call('reserve', { ...input, lines }), lines.length);
    },
    settle: async (input) => settleResult(await call('settle', input), input.lines.length),
    release: async (input) => releaseResult(await call('release', input)),
  };
}

const functions = `
-- Adds charges to rows, which are created without a limit where there are none.
CREATE OR REPLACE FUNCTION "tollgate".quota_charge(
  p_partition text, p_subjects text[], p_periods text[], p_amounts bigint[]
) RETURNS void LANGUAGE sql AS $body$
  INSERT INTO "tollgate".quota_rows AS r (partition, subject, period, used_nanos, version)
  SELECT p_partition, n.subject, n.period, n.amount, 1
  FROM unnest(p_subjects, p_periods, p_amounts) AS n (subject, period, amount)
  ON CONFLICT (partition, subject, period) DO UPDATE
  SET used_nanos = r.used_nanos + excluded.used_nanos, version = r.version + 1
$body$;

CREATE OR REPLACE FUNCTION "tollgate".quota_reserve(p_input jsonb) RETURNS jsonb
LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '5s' AS $body$
DECLARE
  place text := p_input->>'partition';
  name text := p_input->>'id';
  at_ms bigint;
  end_ms bigint;
  known "tollgate".quota_reservations;
  subjects text[];
  periods text[];
  amounts bigint[];
  limits bigint[];
  charges bigint[];
  caps bigint[];
  standing "tollgate".quota_rows;
  room bigint;
  refusal jsonb;
  rest text[] := '{}';
BEGIN
  SELECT array_agg(l.subject ORDER BY n), array_agg(l.period ORDER BY n),
    array_agg(l.amount ORDER BY n), array_agg(l.lim ORDER BY n),
    array_agg(l.charge ORDER BY n), array_agg(l.cap ORDER BY n)
  INTO subjects, periods, amounts, limits, charges, caps
  FROM ROWS FROM (jsonb_to_recordset(p_input->'lines')
    AS (subject text, period text, amount bigint, "limit" bigint, charge bigint, cap bigint))
    WITH ORDINALITY AS l (subject, period, amount, lim, charge, cap, n);
  at_ms := "tollgate".quota_enter(place, ARRAY[name], subjects);

  known := "tollgate".quota_find(place, name);
  IF known.state <> 'held' THEN
    RETURN jsonb_build_object('status', 'resolved', 'as', known.state);
  END IF;
  IF known.state = 'held'
    AND (known.subjects, known.periods, known.asked) <> (subjects, periods, amounts) THEN
    RETURN jsonb_build_object('status', 'id_conflict');
  END IF;

  -- Line by line, in order: the first refusal is the one returned. Each row stores the limit that
  -- its line carries, whether the hold is granted or not: a lowered limit must also bound the
  -- growth of running holds.
  FOR i IN 1 .. cardinality(subjects) LOOP
    SELECT * INTO standing FROM "tollgate".quota_rows
    WHERE subject = subjects[i] AND period = periods[i] AND partition = place;
    IF known.state = 'held' THEN
      room := "tollgate".quota_limit(standing.limit_nanos, standing.extra_nanos)
        - standing.used_nanos - standing.held_nanos;
      rest := rest || room::text;
      CONTINUE;
    END IF;
    IF standing.subject IS NOT NULL AND (
      standing.limit_carried <> (limits[i] IS NOT NULL) OR standing.limit_nanos <> limits[i]
      OR (standing.limit_nanos IS NULL AND limits[i] IS NOT NULL)
    ) THEN
      standing.limit_nanos := coalesce(limits[i], standing.limit_nanos);
      UPDATE "tollgate".quota_rows
      SET limit_nanos = standing.limit_nanos, limit_carried = (limits[i] IS NOT NULL),
        version = version + 1
      WHERE subject = subjects[i] AND period = periods[i] AND partition = place;
    END IF;
    CONTINUE WHEN refusal IS NOT NULL;
    room := "tollgate".quota_limit(
        coalesce(standing.limit_nanos, limits[i]), coalesce(standing.extra_nanos, 0))
      - coalesce(standing.used_nanos, 0) - coalesce(standing.held_nanos, 0);
    IF NOT standing.enabled THEN
      refusal := jsonb_build_object('status', 'disabled_subject', 'subject', subjects[i]);
    ELSIF coalesce(standing.limit_nanos, limits[i]) IS NULL THEN
      refusal := jsonb_build_object('status', 'unknown_subject', 'subject', subjects[i]);
    -- A hold of nothing is granted even in debt.
    ELSIF amounts[i] > 0 AND room < amounts[i] THEN
      refusal := jsonb_build_object(
        'status', 'insufficient', 'subject', subjects[i], 'available', room::text);
    ELSIF caps[i] <= (SELECT count(*) FROM (
      SELECT FROM "tollgate".quota_leases
      WHERE subject = subjects[i] AND partition = place AND NOT idle LIMIT caps[i]
    ) busy) THEN
      refusal := jsonb_build_object('status', 'too_many_in_flight', 'subject', subjects[i]);
    END IF;
    rest := rest || (room - amounts[i])::text;
  END LOOP;
  IF refusal IS NOT NULL THEN RETURN refusal; END IF;
  IF known.state = 'held' THEN
    RETURN jsonb_build_object(
      'status', 'held', 'replay', true, 'expiresAtMs', known.due_ms, 'available', rest);
  END IF;

  end_ms := at_ms + (p_input->>'ttlMs')::bigint;
  INSERT INTO "tollgate".quota_reservations
    (partition, id, state, due_ms, subjects, periods, asked, amounts, on_expire)
  VALUES (place, name, 'held', end_ms, subjects, periods, amounts, amounts, charges)
  ON CONFLICT DO NOTHING;
  -- Only a reservation with the same id and other subjects can have been created meanwhile.
  IF NOT FOUND THEN RAISE EXCEPTION 'a reservation appeared' USING ERRCODE = '40001'; END IF;
  INSERT INTO "tollgate".quota_leases (partition, subject, due_ms, id)
  SELECT DISTINCT place, s.subject, end_ms, name FROM unnest(subjects) AS s (subject);
  INSERT INTO "tollgate".quota_rows AS r
    (partition, subject, period, limit_nanos, limit_carried, held_nanos, in_flight, version)
  SELECT place, l.subject, l.period, l.lim, l.lim IS NOT NULL, l.amount, 1, 1
  FROM unnest(subjects, periods, amounts, limits) AS l (subject, period, amount, lim)
  ON CONFLICT (partition, subject, period) DO UPDATE
  SET held_nanos = r.held_nanos + excluded.held_nanos,
    in_flight = r.in_flight + 1, version = r.version + 1;
  RETURN jsonb_build_object(
    'status', 'held', 'replay', false, 'expiresAtMs', end_ms, 'available', rest);
END $body$;

CREATE OR REPLACE FUNCTION "tollgate".quota_settle(p_input jsonb) RETURNS jsonb
LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '5s' AS $body$
DECLARE
  place text := p_input->>'partition';
  name text := p_input->>'id';
  at_ms bigint;
  known "tollgate".quota_reservations;
  subjects text[];
  periods text[];
  charges bigint[];
BEGIN
  SELECT array_agg(l.subject ORDER BY n), array_agg(l.period ORDER BY n),
    array_agg(l.amount ORDER BY n)
  INTO subjects, periods, charges
  FROM ROWS FROM (jsonb_to_recordset(p_input->'lines')
    AS (subject text, period text, amount bigint))
    WITH ORDINALITY AS l (subject, period, amount, n);
  at_ms := "tollgate".quota_enter(place, ARRAY[name], subjects);
  known := "tollgate".quota_find(place, name);
  IF known.state = 'settled' THEN
    RETURN jsonb_build_object('status', 'already', 'charged', known.charged::text[]);
  END IF;
  IF known.state = 'released' THEN
    RETURN jsonb_build_object('status', 'conflict', 'as', 'released');
  END IF;

  PERFORM "tollgate".quota_charge(place, subjects, periods, charges);
  IF known.state IS NULL THEN
    INSERT INTO "tollgate".quota_reservations (partition, id, state, due_ms, charged, ended_ms)
    VALUES (place, name, 'settled', at_ms, charges, at_ms) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RAISE EXCEPTION 'a reservation appeared' USING ERRCODE = '40001'; END IF;
    RETURN jsonb_build_object('status', 'settled_late', 'from', 'unknown');
  END IF;
  IF known.state = 'held' THEN
    PERFORM "tollgate".quota_give_back(known, 'settled', at_ms);
  ELSE
    -- The final charge includes what the expiry charged.
    FOR i IN 1 .. cardinality(known.subjects) LOOP
      UPDATE "tollgate".quota_rows
      SET used_nanos = used_nanos - known.on_expire[i], version = version + 1
      WHERE subject = known.subjects[i] AND period = known.periods[i] AND partition = place;
    END LOOP;
  END IF;
  UPDATE "tollgate".quota_reservations
  SET state = 'settled', charged = charges, ended_ms = at_ms
  WHERE id = name AND partition = place;
  IF known.state = 'held' THEN RETURN jsonb_build_object('status', 'settled'); END IF;
  RETURN jsonb_build_object('status', 'settled_late', 'from', 'expired');
END $body$;

CREATE OR REPLACE FUNCTION "tollgate".quota_release(p_input jsonb) RETURNS jsonb
LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '5s' AS $body$
DECLARE
  place text := p_input->>'partition';
  name text := p_input->>'id';
  at_ms bigint;
  known "tollgate".quota_reservations;
BEGIN
  at_ms := "tollgate".quota_enter(
    place, ARRAY[name],
    ARRAY (SELECT l.line->>'subject' FROM jsonb_array_elements(p_input->'lines') AS l (line)));
  known := "tollgate".quota_find(place, name);
  IF known.state <> 'held' THEN
    RETURN jsonb_build_object('status', 'already', 'as', known.state);
  END IF;
  IF known.state = 'held' THEN
    PERFORM "tollgate".quota_give_back(known, 'released', at_ms);
  ELSE
    -- The release has overtaken its reserve and blocks it.
    INSERT INTO "tollgate".quota_reservations (partition, id, state, due_ms, ended_ms)
    VALUES (place, name, 'released', at_ms, at_ms) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RAISE EXCEPTION 'a reservation appeared' USING ERRCODE = '40001'; END IF;
  END IF;
  RETURN jsonb_build_object('status', 'released');
END $body$;
`;
