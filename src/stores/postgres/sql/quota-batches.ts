/**
 * Migration 12: the operations of calls, several in one transaction. A commit waits for the disk
 * while it holds the locks of its subjects, so one commit for each operation limits a busy subject
 * to what a disk can sync.
 */

/**
 * Reservations and leases are written by each operation, and each row of balances once for all: a
 * row that is updated 64 times in a transaction has 64 dead versions. Until then its balances are
 * in arrays, with an item for each row.
 */
export const quotaBatches = `
-- Runs operations of one partition, of which no two have the same id: all of them or, if one
-- raises an error, none. Extends run first, because they read and write balances in the table; the
-- others run in their order. The answers have the order of the operations.
CREATE FUNCTION "tollgate".quota_batch(p_input jsonb) RETURNS jsonb
LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '5s' AS $body$
DECLARE
  place text := p_input->>'partition';
  at_ms bigint;
  end_ms bigint;
  item jsonb;
  n bigint;
  k integer;
  own integer;
  name text;
  known "tollgate".quota_reservations;
  standing "tollgate".quota_rows;
  subjects text[];
  periods text[];
  amounts bigint[];
  limits bigint[];
  charges bigint[];
  caps bigint[];
  touched text[];
  spans text[];
  room bigint;
  rest text[];
  answer jsonb;
  answers jsonb[] := '{}';
  -- For each line of the operation, and then of its reservation: the index of its row.
  at integer[];
  -- The rows.
  keys text[] := '{}';
  row_subjects text[];
  row_periods text[];
  exist boolean[];
  enabled boolean[];
  lims bigint[];
  carried boolean[];
  extras bigint[];
  spent bigint[];
  uses bigint[];
  more_used bigint[];
  more_held bigint[];
  more_calls integer[];
  changed boolean[];
BEGIN
  at_ms := "tollgate".quota_enter(
    place, ARRAY (SELECT i.item->>'id' FROM jsonb_array_elements(p_input->'items') AS i (item)),
    ARRAY (
      SELECT DISTINCT l.line->>'subject' FROM jsonb_array_elements(p_input->'items') AS i (item)
      CROSS JOIN jsonb_array_elements(i.item->'lines') AS l (line)
    ));
  FOR item, n IN
    SELECT i.item, i.n FROM jsonb_array_elements(p_input->'items') WITH ORDINALITY AS i (item, n)
    ORDER BY i.item->>'op' <> 'extend', i.n
  LOOP
    IF item->>'op' = 'extend' THEN
      answers[n] := "tollgate".quota_extend_one(place, item, at_ms);
      CONTINUE;
    END IF;
    name := item->>'id';
    SELECT array_agg(l.subject ORDER BY l.n), array_agg(l.period ORDER BY l.n),
      array_agg(l.amount ORDER BY l.n), array_agg(l.lim ORDER BY l.n),
      array_agg(l.charge ORDER BY l.n), array_agg(l.cap ORDER BY l.n)
    INTO subjects, periods, amounts, limits, charges, caps
    FROM ROWS FROM (jsonb_to_recordset(item->'lines')
      AS (subject text, period text, amount bigint, "limit" bigint, charge bigint, cap bigint))
      WITH ORDINALITY AS l (subject, period, amount, lim, charge, cap, n);
    -- Locked, so that a sweep can't delete it.
    SELECT * INTO known FROM "tollgate".quota_reservations
    WHERE id = name AND partition = place FOR UPDATE;
    own := cardinality(subjects);
    touched := subjects || known.subjects;
    spans := periods || known.periods;
    FOR i IN 1 .. cardinality(touched) LOOP
      -- Subjects contain no space.
      k := array_position(keys, touched[i] || ' ' || spans[i]);
      IF k IS NULL THEN
        k := cardinality(keys) + 1;
        SELECT * INTO standing FROM "tollgate".quota_rows
        WHERE subject = touched[i] AND period = spans[i] AND partition = place;
        keys[k] := touched[i] || ' ' || spans[i];
        row_subjects[k] := touched[i];
        row_periods[k] := spans[i];
        exist[k] := standing.subject IS NOT NULL;
        enabled[k] := coalesce(standing.enabled, true);
        lims[k] := standing.limit_nanos;
        carried[k] := coalesce(standing.limit_carried, false);
        extras[k] := coalesce(standing.extra_nanos, 0);
        spent[k] := coalesce(standing.used_nanos + standing.held_nanos, 0);
        uses[k] := coalesce(standing.used_nanos, 0);
        more_used[k] := 0;
        more_held[k] := 0;
        more_calls[k] := 0;
        changed[k] := false;
      END IF;
      at[i] := k;
    END LOOP;

    CASE item->>'op'
    WHEN 'reserve' THEN
      IF known.state <> 'held' THEN
        answers[n] := jsonb_build_object('status', 'resolved', 'as', known.state);
        CONTINUE;
      ELSIF known.state = 'held'
        AND (known.subjects, known.periods, known.asked) <> (subjects, periods, amounts) THEN
        answers[n] := jsonb_build_object('status', 'id_conflict');
        CONTINUE;
      END IF;
      -- Line by line, in order: the first refusal is the one returned. Each row stores the limit
      -- that its line carries, whether the hold is granted or not: a lowered limit must also bound
      -- the growth of running holds.
      answer := NULL;
      rest := '{}';
      FOR i IN 1 .. own LOOP
        k := at[i];
        IF known.state IS NULL AND exist[k] AND (carried[k], lims[k]) IS DISTINCT FROM
          (limits[i] IS NOT NULL, coalesce(limits[i], lims[k])) THEN
          lims[k] := coalesce(limits[i], lims[k]);
          carried[k] := limits[i] IS NOT NULL;
          changed[k] := true;
        END IF;
        CONTINUE WHEN answer IS NOT NULL;
        room := "tollgate".quota_limit(
            CASE WHEN exist[k] THEN lims[k] ELSE limits[i] END, extras[k])
          - spent[k] - more_used[k] - more_held[k];
        IF known.state = 'held' THEN
          rest := rest || room::text;
        ELSIF NOT enabled[k] THEN
          answer := jsonb_build_object('status', 'disabled_subject', 'subject', subjects[i]);
        ELSIF coalesce(lims[k], limits[i]) IS NULL THEN
          answer := jsonb_build_object('status', 'unknown_subject', 'subject', subjects[i]);
        -- A hold of nothing is granted even in debt.
        ELSIF amounts[i] > 0 AND room < amounts[i] THEN
          answer := jsonb_build_object(
            'status', 'insufficient', 'subject', subjects[i], 'available', room::text);
        ELSIF caps[i] <= (SELECT count(*) FROM (
          SELECT FROM "tollgate".quota_leases
          WHERE subject = subjects[i] AND partition = place AND NOT idle LIMIT caps[i]
        ) busy) THEN
          answer := jsonb_build_object('status', 'too_many_in_flight', 'subject', subjects[i]);
        ELSE
          rest := rest || (room - amounts[i])::text;
        END IF;
      END LOOP;
      end_ms := coalesce(known.due_ms, at_ms + (item->>'ttlMs')::bigint);
      answers[n] := coalesce(answer, jsonb_build_object('status', 'held',
        'replay', known.state IS NOT NULL, 'expiresAtMs', end_ms, 'available', rest));
      CONTINUE WHEN answer IS NOT NULL OR known.state IS NOT NULL;
      INSERT INTO "tollgate".quota_reservations
        (partition, id, state, due_ms, subjects, periods, asked, amounts, on_expire)
      VALUES (place, name, 'held', end_ms, subjects, periods, amounts, amounts, charges)
      ON CONFLICT DO NOTHING;
      -- Only a reservation with the same id and other subjects can have been created meanwhile.
      IF NOT FOUND THEN RAISE EXCEPTION 'a reservation appeared' USING ERRCODE = '40001'; END IF;
      FOR i IN 1 .. own LOOP
        k := at[i];
        IF NOT exist[k] THEN
          exist[k] := true;
          lims[k] := limits[i];
          carried[k] := limits[i] IS NOT NULL;
        END IF;
        more_held[k] := more_held[k] + amounts[i];
        more_calls[k] := more_calls[k] + 1;
        changed[k] := true;
        INSERT INTO "tollgate".quota_leases (partition, subject, due_ms, id)
        VALUES (place, subjects[i], end_ms, name) ON CONFLICT DO NOTHING;
      END LOOP;
      CONTINUE;
    WHEN 'settle' THEN
      answers[n] := CASE known.state
        WHEN 'settled' THEN
          jsonb_build_object('status', 'already', 'charged', known.charged::text[])
        WHEN 'released' THEN jsonb_build_object('status', 'conflict', 'as', 'released')
        WHEN 'held' THEN jsonb_build_object('status', 'settled')
        ELSE jsonb_build_object(
          'status', 'settled_late', 'from', coalesce(known.state, 'unknown'))
      END;
      CONTINUE WHEN known.state IN ('settled', 'released');
      charges := amounts;
      FOR i IN 1 .. own LOOP
        k := at[i];
        exist[k] := true;
        more_used[k] := more_used[k] + amounts[i];
        changed[k] := true;
      END LOOP;
      answers[n] := answers[n] || jsonb_build_object('balances', (
        SELECT jsonb_agg(jsonb_build_array(
          "tollgate".quota_limit(lims[at[line]], extras[at[line]])::text,
          (uses[at[line]] + more_used[at[line]] - coalesce((
            SELECT sum(known.on_expire[j]) FROM generate_series(1, cardinality(known.subjects)) AS j
            WHERE known.state = 'expired' AND at[own + j] = at[line]), 0))::text) ORDER BY line)
        FROM generate_series(1, own) AS lines (line)));
    WHEN 'release' THEN
      -- One that has overtaken its reserve blocks it.
      answers[n] := CASE WHEN known.state <> 'held'
        THEN jsonb_build_object('status', 'already', 'as', known.state)
        ELSE jsonb_build_object('status', 'released') END;
      CONTINUE WHEN known.state <> 'held';
      charges := '{}';
    END CASE;

    -- A settle or release ends the reservation.
    name := CASE item->>'op' WHEN 'settle' THEN 'settled' ELSE 'released' END;
    IF known.state IS NULL THEN
      INSERT INTO "tollgate".quota_reservations (partition, id, state, due_ms, charged, ended_ms)
      VALUES (place, item->>'id', name, at_ms, charges, at_ms) ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN RAISE EXCEPTION 'a reservation appeared' USING ERRCODE = '40001'; END IF;
      CONTINUE;
    END IF;
    UPDATE "tollgate".quota_reservations
    SET state = name, charged = charges, ended_ms = at_ms
    WHERE id = known.id AND partition = place;
    FOR i IN 1 .. cardinality(known.subjects) LOOP
      k := at[own + i];
      changed[k] := true;
      IF known.state = 'expired' THEN
        -- The final charge includes what the expiry charged.
        more_used[k] := more_used[k] - known.on_expire[i];
        CONTINUE;
      END IF;
      more_held[k] := more_held[k] - known.amounts[i];
      more_calls[k] := more_calls[k] - CASE WHEN known.idle THEN 0 ELSE 1 END;
      DELETE FROM "tollgate".quota_leases
      WHERE subject = known.subjects[i] AND partition = place
        AND due_ms = known.due_ms AND id = known.id;
    END LOOP;
  END LOOP;

  FOR k IN 1 .. cardinality(keys) LOOP
    CONTINUE WHEN NOT changed[k];
    UPDATE "tollgate".quota_rows
    SET limit_nanos = lims[k], limit_carried = carried[k],
      used_nanos = used_nanos + more_used[k], held_nanos = held_nanos + more_held[k],
      in_flight = in_flight + more_calls[k], version = version + 1
    WHERE subject = row_subjects[k] AND period = row_periods[k] AND partition = place;
    CONTINUE WHEN FOUND;
    INSERT INTO "tollgate".quota_rows (partition, subject, period, limit_nanos, limit_carried,
      used_nanos, held_nanos, in_flight, version)
    VALUES (place, row_subjects[k], row_periods[k], lims[k], carried[k],
      more_used[k], more_held[k], more_calls[k], 1);
  END LOOP;
  RETURN to_jsonb(answers);
END $body$;

-- Runs a batch. Its commit does not wait for the disk, which frees the locks of its subjects for
-- the batches of other processes. Its answers may be given only after the second commit, which does
-- wait: the log is written in order, so the second is on the disk only after the first.
CREATE PROCEDURE "tollgate".quota_run_batch(p_input text, INOUT result text DEFAULT NULL)
LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  result := "tollgate".quota_batch(p_input::jsonb)::text;
  COMMIT;
  -- A transaction that has written nothing would not wait.
  PERFORM pg_logical_emit_message(true, 'tollgate', '');
END $body$;
`;
