/** Migration 6: claims of the `Idempotency-Key`. No column holds a body or the header itself. */

/** The table, and the function `claim`, which claims a name or returns the record that has it. */
export const idempotencyTables = `
CREATE TABLE "tollgate".claims (
  name text COLLATE "C" PRIMARY KEY,
  fingerprint text NOT NULL,
  claim_id text NOT NULL,
  request_id text NOT NULL,
  state text NOT NULL CHECK (state IN ('running', 'done', 'unknown')),
  http_status integer,
  claimed_ms bigint NOT NULL,
  ended_ms bigint,
  lease_ends_ms bigint NOT NULL,
  forget_ms bigint NOT NULL
);
CREATE INDEX claims_forget ON "tollgate".claims (forget_ms);

CREATE FUNCTION "tollgate".claim(p_input jsonb) RETURNS jsonb LANGUAGE plpgsql AS $body$
DECLARE
  at_ms bigint := "tollgate".now_ms();
  lease_ms bigint := (p_input->>'leaseMs')::bigint;
  standing "tollgate".claims;
BEGIN
  -- A few for each one added: expired records get fewer, and no single call deletes all of them.
  DELETE FROM "tollgate".claims c USING (
    SELECT name FROM "tollgate".claims WHERE forget_ms <= at_ms
    ORDER BY forget_ms LIMIT 4 FOR UPDATE SKIP LOCKED
  ) old WHERE c.name = old.name;
  LOOP
    at_ms := "tollgate".now_ms();
    INSERT INTO "tollgate".claims AS c (name, fingerprint, claim_id, request_id, state,
      claimed_ms, lease_ends_ms, forget_ms)
    VALUES (p_input->>'name', p_input->>'fingerprint', p_input->>'claimId',
      p_input->>'requestId', 'running', at_ms, at_ms + lease_ms,
      at_ms + lease_ms + (p_input->>'keepMs')::bigint)
    ON CONFLICT (name) DO UPDATE
    SET fingerprint = excluded.fingerprint, claim_id = excluded.claim_id,
      request_id = excluded.request_id, state = 'running', http_status = NULL,
      claimed_ms = excluded.claimed_ms, ended_ms = NULL,
      lease_ends_ms = excluded.lease_ends_ms, forget_ms = excluded.forget_ms
    WHERE c.forget_ms <= at_ms OR p_input->>'ifTaken' = 'replace';
    IF FOUND THEN RETURN jsonb_build_object('status', 'claimed'); END IF;
    -- If the record was deleted between the two statements, the name is free: try again.
    SELECT * INTO standing FROM "tollgate".claims WHERE name = p_input->>'name';
    EXIT WHEN FOUND;
  END LOOP;
  RETURN jsonb_build_object(
    'status', 'taken',
    -- The lease has run out: the gateway crashed and the call may have run.
    'state', CASE WHEN standing.state = 'running' AND standing.lease_ends_ms <= at_ms
      THEN 'unknown' ELSE standing.state END,
    'fingerprint', standing.fingerprint, 'claimId', standing.claim_id,
    'requestId', standing.request_id, 'httpStatus', standing.http_status,
    'claimedAtMs', standing.claimed_ms, 'endedAtMs', standing.ended_ms);
END $body$;
`;
