/** Migration 13: the token buckets of rate limits. It only adds: older processes keep running. */

/**
 * The function does what `stores/memory/token-bucket.ts` does: time counts in ticks of 1/60,000 of
 * the period, and amounts in parts of 1/60,000, so that a bucket refills by `refill` parts in each
 * tick and all numbers are integers. No more than `refill * 60000` parts are ever missing.
 */
export const rateBuckets = `
CREATE TABLE "tollgate".rates (
  owner text COLLATE "C" NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  used bigint NOT NULL CHECK (used > 0),
  tick bigint NOT NULL,
  refill bigint NOT NULL CHECK (refill > 0),
  -- Without an index, so that an update needs to touch none.
  full_ms bigint NOT NULL,
  PRIMARY KEY (owner, bucket)
) WITH (fillfactor = 50);

-- The buckets of takes as they are now.
CREATE FUNCTION "tollgate".rate_buckets(p_takes jsonb, p_at_ms bigint) RETURNS TABLE (
  n integer, owner text, bucket text, amount bigint, given bigint, tick_ms bigint,
  used bigint, tick bigint, refill bigint
) LANGUAGE sql STABLE AS $body$
  SELECT t.n::integer, t.owner, t.bucket, t.amount, t."limit", t.tick_ms, coalesce(b.used, 0),
    -- A clock that was set back refills nothing.
    greatest(p_at_ms / t.tick_ms, r.tick), coalesce(b.refill, t."limit")
  FROM (
    SELECT *, "periodMs" / 60000 AS tick_ms
    FROM ROWS FROM (jsonb_to_recordset(p_takes) AS (
      owner text, bucket text, amount bigint, "limit" bigint, "periodMs" bigint
    )) WITH ORDINALITY AS given (owner, bucket, amount, "limit", "periodMs", n)
  ) t
  LEFT JOIN "tollgate".rates r ON r.owner = t.owner AND r.bucket = t.bucket
  LEFT JOIN LATERAL (
    SELECT r.used - least(greatest(p_at_ms / t.tick_ms - r.tick, 0), 60000) * r.refill AS used,
      r.refill
  ) b ON b.used > 0
$body$;

CREATE FUNCTION "tollgate".rates(p_input jsonb) RETURNS jsonb LANGUAGE plpgsql AS $body$
DECLARE
  takes jsonb := p_input->'takes';
  isTake boolean := p_input->>'operation' = 'take';
  at_ms bigint;
  refusal record;
  remaining jsonb;
BEGIN
  -- A take that a crash of the server loses is one that a bucket would refill anyway.
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(k.key) FROM (
    SELECT DISTINCT hashtextextended('tollgate rate/' || (t->>'owner'), 0) AS key
    FROM jsonb_array_elements(takes) t ORDER BY key
  ) k;
  at_ms := "tollgate".now_ms();
  IF (p_input->>'sweep')::boolean THEN
    DELETE FROM "tollgate".rates r USING (
      SELECT owner, bucket FROM "tollgate".rates WHERE full_ms <= at_ms
      LIMIT 10000 FOR UPDATE SKIP LOCKED
    ) old WHERE r.owner = old.owner AND r.bucket = old.bucket;
  END IF;
  IF isTake THEN
    SELECT w.n - 1 AS refused, w.wait_ms INTO refusal FROM (
      SELECT b.n,
        (b.tick + (b.used + (b.amount - b.given) * 60000 + b.refill - 1) / b.refill) * b.tick_ms
          - at_ms AS wait_ms
      FROM "tollgate".rate_buckets(takes, at_ms) b
      WHERE b.used + (b.amount - b.given) * 60000 > 0
    ) w ORDER BY w.wait_ms DESC, w.n LIMIT 1;
    IF FOUND THEN
      SELECT jsonb_agg(greatest(b.given - (b.used + 59999) / 60000, 0) ORDER BY b.n)
      INTO remaining FROM "tollgate".rate_buckets(takes, at_ms) b;
      RETURN jsonb_build_object('granted', false, 'refused', refusal.refused,
        'retryAfterMs', refusal.wait_ms, 'remaining', remaining);
    END IF;
  END IF;
  WITH changed AS (
    SELECT b.n, b.owner, b.bucket, b.given, b.tick, b.tick_ms,
      CASE WHEN isTake THEN b.used + b.amount * 60000
        ELSE least(b.used + b.amount * 60000, b.refill * 60000) END AS used,
      CASE WHEN isTake THEN b.given ELSE b.refill END AS refill
    FROM "tollgate".rate_buckets(takes, at_ms) b
  ), written AS (
    INSERT INTO "tollgate".rates AS r (owner, bucket, used, tick, refill, full_ms)
    SELECT c.owner, c.bucket, c.used, c.tick, c.refill,
      (c.tick + (c.used + c.refill - 1) / c.refill) * c.tick_ms
    FROM changed c WHERE c.used > 0
    ON CONFLICT (owner, bucket) DO UPDATE SET used = excluded.used, tick = excluded.tick,
      refill = excluded.refill, full_ms = excluded.full_ms
  ), filled AS (
    DELETE FROM "tollgate".rates r USING changed c
    WHERE c.used <= 0 AND r.owner = c.owner AND r.bucket = c.bucket
  )
  SELECT jsonb_agg(greatest(c.given - (c.used + 59999) / 60000, 0) ORDER BY c.n)
  INTO remaining FROM changed c;
  RETURN jsonb_build_object('granted', true, 'remaining', remaining);
END $body$;
`;
