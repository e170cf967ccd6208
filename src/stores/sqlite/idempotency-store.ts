/** An idempotency store in SQLite, exact over any number of processes on one machine. */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type {
  ClaimInput,
  ClaimRecord,
  ClaimResult,
  FinishInput,
  FinishResult,
  IdempotencyStore,
} from '../../ports/idempotency-store.ts';
import { aClock, checkMakerOptions } from '../../ports/set-up.ts';
import { integerAt, integerOrNoneAt, literalAt, textAt } from '../sql/columns.ts';
import { type Connection, connectionTo, type SqliteHandle } from './handle.ts';
import { aHandle, handleRemedy } from './handle-check.ts';

/** The database, and the clock of the leases. */
export interface SqliteIdempotencyStoreOptions {
  /** Open and migrated. */
  readonly client: SqliteHandle;
  /** The clock by which leases end. Default: the machine's clock, which all processes share. */
  readonly clock?: Clock;
}

const optionsSchema = z.strictObject(
  {
    client: aHandle,
    clock: aClock.optional(),
  } satisfies Record<keyof SqliteIdempotencyStoreOptions, z.ZodType>,
  'must be an object',
);

const selectClaim = `
SELECT state, fingerprint, claim_id, request_id, http_status, claimed_at_ms, ended_at_ms,
  lease_ends_at_ms
FROM tollgate_claim WHERE name = ? AND forget_at_ms > ?`;
const selectOpen = `
SELECT claim_id FROM tollgate_claim
WHERE name = ? AND claim_id = ? AND state = 'running' AND forget_at_ms > ?`;
const putClaim = `
INSERT OR REPLACE INTO tollgate_claim (name, state, fingerprint, claim_id, request_id,
  claimed_at_ms, lease_ends_at_ms, forget_at_ms)
VALUES (?, 'running', ?, ?, ?, ?, ?, ?)`;
const endClaim = `
UPDATE tollgate_claim SET state = ?, http_status = ?, ended_at_ms = ?, forget_at_ms = ?
WHERE name = ?`;
const deleteClaim = 'DELETE FROM tollgate_claim WHERE name = ?';
const forgetClaims = `
DELETE FROM tollgate_claim WHERE name IN (
  SELECT name FROM tollgate_claim WHERE forget_at_ms <= ? ORDER BY forget_at_ms LIMIT 10
)`;

/** The statements, exported so that a test can check their query plans. */
export const claimStatements: readonly string[] = [
  selectClaim,
  selectOpen,
  endClaim,
  deleteClaim,
  forgetClaims,
];

/**
 * An idempotency store over a migrated database; its methods return directly, never a promise.
 * Records are kept for their full time; each claim deletes up to ten expired ones.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteIdempotencyStore(options: SqliteIdempotencyStoreOptions): IdempotencyStore {
  checkMakerOptions('sqliteIdempotencyStore', optionsSchema, options, handleRemedy);
  const { client, clock = systemClock() } = options;
  const connection = connectionTo(client);

  /** Whether this claim is still running; call it inside a transaction. */
  const isOpen = (name: string, claimId: string): boolean =>
    connection.row(selectOpen, name, claimId, BigInt(clock.now())) !== undefined;

  return {
    claim: (input, callOptions) =>
      connection.transaction(() => claim(connection, input, clock.now()), callOptions),
    finish: (input, callOptions) =>
      connection.transaction((): FinishResult => {
        if (!isOpen(input.name, input.claimId)) return { status: 'gone' };
        end(connection, input, clock.now());
        return { status: 'finished' };
      }, callOptions),
    abandon: ({ name, claimId }, callOptions) =>
      connection.transaction(() => {
        if (!isOpen(name, claimId)) return { status: 'gone' };
        connection.run(deleteClaim, name);
        return { status: 'abandoned' };
      }, callOptions),
  };
}

function claim(connection: Connection, input: ClaimInput, nowMs: number): ClaimResult {
  const { name, fingerprint, claimId, requestId, leaseMs, keepMs } = input;
  const existing = connection.row(selectClaim, name, BigInt(nowMs));
  if (existing !== undefined && input.ifTaken === 'answer') {
    return { status: 'taken', record: recordFrom(existing, nowMs) };
  }
  connection.run(forgetClaims, BigInt(nowMs));
  connection.run(
    putClaim,
    name,
    fingerprint,
    claimId,
    requestId,
    BigInt(nowMs),
    BigInt(nowMs + leaseMs),
    BigInt(nowMs + leaseMs + keepMs),
  );
  return { status: 'claimed' };
}

function end(
  connection: Connection,
  { name, state, httpStatus, keepMs }: FinishInput,
  nowMs: number,
): void {
  const now = BigInt(nowMs);
  connection.run(endClaim, state, BigInt(httpStatus), now, BigInt(nowMs + keepMs), name);
}

/** A running claim whose lease has run out is unknown: its gateway crashed, it may have run. */
function recordFrom(row: unknown, nowMs: number): ClaimRecord {
  const state = literalAt(row, 'state', ['running', 'done', 'unknown']);
  const isLost = state === 'running' && integerAt(row, 'lease_ends_at_ms') <= nowMs;
  return {
    state: isLost ? 'unknown' : state,
    fingerprint: textAt(row, 'fingerprint'),
    claimId: textAt(row, 'claim_id'),
    requestId: textAt(row, 'request_id'),
    status: integerOrNoneAt(row, 'http_status'),
    claimedAtMs: integerAt(row, 'claimed_at_ms'),
    endedAtMs: integerOrNoneAt(row, 'ended_at_ms'),
  };
}
