/** Claims in a SQLite table: exact over any number of processes on one machine. */
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
import { integerAt, integerOrNoneAt, textAt, wordAt } from '../sql/columns.ts';
import { type Connection, connectionTo, type SqliteHandle } from './handle.ts';
import { aHandle, handleCure } from './schema.ts';

/** The database, and the clock of the leases. */
export interface SqliteIdempotencyStoreOptions {
  /** Open and migrated. */
  readonly client: SqliteHandle;
  /** The store's own clock, by which leases end: the machine's, which all processes share. */
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

/** The statements of the idempotency store, for the test of their plans. */
export const claimStatements: readonly string[] = [
  selectClaim,
  selectOpen,
  endClaim,
  deleteClaim,
  forgetClaims,
];

/**
 * An idempotency store over a migrated database; answers at once, never by promise. Nothing is
 * forgotten before its time; each claim forgets up to ten whose time has come.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function sqliteIdempotencyStore(options: SqliteIdempotencyStoreOptions): IdempotencyStore {
  checkMakerOptions('sqliteIdempotencyStore', optionsSchema, options, handleCure);
  const { client, clock = systemClock() } = options;
  const connection = connectionTo(client);

  /** Whether this claim runs still; only inside a transaction is it true for longer. */
  const isOpen = (name: string, claimId: string): boolean =>
    connection.row(selectOpen, name, claimId, BigInt(clock.now())) !== undefined;

  return {
    claim: (input, call) =>
      connection.transaction(() => claim(connection, input, clock.now()), call),
    finish: (input, call) =>
      connection.transaction((): FinishResult => {
        if (!isOpen(input.name, input.claimId)) return { status: 'gone' };
        end(connection, input, clock.now());
        return { status: 'finished' };
      }, call),
    abandon: ({ name, claimId }, call) =>
      connection.transaction(() => {
        if (!isOpen(name, claimId)) return { status: 'gone' };
        connection.run(deleteClaim, name);
        return { status: 'abandoned' };
      }, call),
  };
}

function claim(connection: Connection, input: ClaimInput, nowMs: number): ClaimResult {
  const { name, fingerprint, claimId, requestId, leaseMs, keepMs } = input;
  const standing = connection.row(selectClaim, name, BigInt(nowMs));
  if (standing !== undefined && input.ifTaken === 'answer') {
    return { status: 'taken', record: recordFrom(standing, nowMs) };
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

/** A claim whose lease has run out is one of a gateway that crashed: it may have run. */
function recordFrom(row: unknown, nowMs: number): ClaimRecord {
  const state = wordAt(row, 'state', ['running', 'done', 'unknown']);
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
