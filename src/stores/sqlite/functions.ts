/**
 * The functions of the database. Each runs inside a transaction, and takes and returns plain data,
 * so that it may run wherever the connection is.
 */
import type { JsonValue } from '../../json.ts';
import type { ClaimInput } from '../../ports/replies/idempotency-store.ts';
import {
  adjustAll,
  type Buckets,
  bucketAt,
  fullAtMs,
  type TokenBucket,
  takeAll,
} from '../memory/token-bucket.ts';
import { integerAt, integerOrNoneAt, textAt } from '../sql/columns.ts';
import type { KeepInput, RatesInput, SqlFunctions } from '../sql/engine.ts';
import type { Connection } from './handle.ts';

export const functions: {
  readonly [Name in keyof SqlFunctions]: (
    connection: Connection,
    input: SqlFunctions[Name],
    nowMs: number,
    bytes?: Uint8Array,
  ) => JsonValue;
} = { claim, rates, keep, use };

/** Functions whose last results may be lost with the machine, and which wait for no disk. */
export const forgetful: ReadonlySet<keyof SqlFunctions> = new Set(['rates', 'keep', 'use']);

const selectClaim = `
SELECT state, fingerprint, claim_id, request_id, http_status, claimed_at_ms, ended_at_ms,
  lease_ends_at_ms
FROM tollgate_claim WHERE name = ? AND forget_at_ms > ?`;
const putClaim = `
INSERT OR REPLACE INTO tollgate_claim (name, state, fingerprint, claim_id, request_id,
  claimed_at_ms, lease_ends_at_ms, forget_at_ms)
VALUES (?, 'running', ?, ?, ?, ?, ?, ?)`;
const forgetClaims = `
DELETE FROM tollgate_claim WHERE name IN (
  SELECT name FROM tollgate_claim WHERE forget_at_ms <= ? ORDER BY forget_at_ms LIMIT 10
)`;

const selectBucket = `
SELECT used, tick, refill FROM tollgate_rate WHERE owner = ? AND bucket = ?`;
const putBucket = `
INSERT OR REPLACE INTO tollgate_rate (owner, bucket, used, tick, refill, full_at_ms)
VALUES (?, ?, ?, ?, ?, ?)`;
const deleteBucket = 'DELETE FROM tollgate_rate WHERE owner = ? AND bucket = ?';
const forgetBuckets = 'DELETE FROM tollgate_rate WHERE full_at_ms <= ?';

const forgetEnded = `
DELETE FROM tollgate_kept WHERE rowid IN (
  SELECT rowid FROM tollgate_kept WHERE ends_ms <= ? ORDER BY ends_ms LIMIT 100
)`;
const deleteKept = `
DELETE FROM tollgate_kept WHERE id = ? AND kind = ? AND (owner = ? OR kind = 'result')`;
const nextUse = `
1 + coalesce((SELECT used FROM tollgate_kept WHERE kind = ? ORDER BY used DESC LIMIT 1), 0)`;
const insertKept = `
INSERT INTO tollgate_kept (kind, id, owner, content, size, ends_ms, used)
VALUES (?, ?, ?, ?, ?, ?, ${nextUse})`;
const useItem = `
UPDATE tollgate_kept SET used = ${nextUse} WHERE id = ? AND owner = ? AND kind = ?`;
const selectSum = 'SELECT bytes FROM tollgate_kept_sum WHERE kind = ? AND name = ?';
const deleteOldestOf = `
DELETE FROM tollgate_kept WHERE rowid = (
  SELECT rowid FROM tollgate_kept WHERE kind = ? AND owner = ? ORDER BY used LIMIT 1
)`;
const deleteOldest = `
DELETE FROM tollgate_kept WHERE rowid = (
  SELECT rowid FROM tollgate_kept WHERE kind = ? ORDER BY used LIMIT 1
)`;

/** The statements, exported so that a test can check their query plans. */
export const functionStatements: readonly string[] = [
  ...[selectClaim, forgetClaims, selectBucket],
  ...[forgetEnded, deleteKept, insertKept, useItem, selectSum, deleteOldestOf, deleteOldest],
];

function claim(connection: Connection, input: ClaimInput, nowMs: number): JsonValue {
  const { name, fingerprint, claimId, requestId, leaseMs, keepMs } = input;
  const existing = connection.row(selectClaim, name, BigInt(nowMs));
  if (existing !== undefined && input.ifTaken === 'answer') return takenBy(existing, nowMs);
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

/** A running claim whose lease has run out is unknown: its gateway crashed, it may have run. */
function takenBy(row: unknown, nowMs: number): JsonValue {
  const state = textAt(row, 'state');
  const isLost = state === 'running' && integerAt(row, 'lease_ends_at_ms') <= nowMs;
  return {
    status: 'taken',
    state: isLost ? 'unknown' : state,
    fingerprint: textAt(row, 'fingerprint'),
    claimId: textAt(row, 'claim_id'),
    requestId: textAt(row, 'request_id'),
    httpStatus: integerOrNoneAt(row, 'http_status') ?? null,
    claimedAtMs: integerAt(row, 'claimed_at_ms'),
    endedAtMs: integerOrNoneAt(row, 'ended_at_ms') ?? null,
  };
}

function rates(
  connection: Connection,
  { operation, takes, sweep }: RatesInput,
  nowMs: number,
): JsonValue {
  if (sweep) connection.run(forgetBuckets, BigInt(nowMs));
  const buckets: Buckets = {
    get: ({ owner, bucket, periodMs }) => {
      const row = connection.row(selectBucket, owner, bucket);
      return row === undefined ? undefined : bucketAt(bucketFrom(row), periodMs, nowMs);
    },
    set: ({ owner, bucket, periodMs }, changed) => {
      if (changed === undefined) return connection.run(deleteBucket, owner, bucket);
      const { used, tick, limit } = changed;
      const numbers = [used, tick, limit, fullAtMs(changed, periodMs)].map(BigInt);
      connection.run(putBucket, owner, bucket, ...numbers);
    },
  };
  if (operation === 'take') return { ...takeAll(takes, buckets, nowMs) };
  adjustAll(takes, buckets, nowMs);
  return null;
}

function bucketFrom(row: unknown): TokenBucket {
  return {
    used: integerAt(row, 'used'),
    tick: integerAt(row, 'tick'),
    limit: integerAt(row, 'refill'),
  };
}

function keep(
  connection: Connection,
  { kind, owner, ttlMs, maxBytes, maxOwnerBytes, entries }: KeepInput,
  nowMs: number,
  bytes: Uint8Array = new Uint8Array(),
): JsonValue {
  connection.run(forgetEnded, BigInt(nowMs));
  let first = 0;
  for (const { id, length, size } of entries) {
    const content = Buffer.from(bytes.subarray(first, first + length));
    connection.run(deleteKept, id, kind, owner);
    const numbers = [size, nowMs + ttlMs].map(BigInt);
    connection.run(insertKept, kind, id, owner, content, ...numbers, kind);
    first += length;
  }
  const sum = (name: string): number => {
    const row = connection.row(selectSum, kind, name);
    return row === undefined ? 0 : integerAt(row, 'bytes');
  };
  while (sum(`of ${owner}`) > maxOwnerBytes) connection.run(deleteOldestOf, kind, owner);
  while (sum('all') > maxBytes) connection.run(deleteOldest, kind);
  return null;
}

function use(connection: Connection, { owner, ids }: SqlFunctions['use']): JsonValue {
  for (const id of ids) connection.run(useItem, 'item', id, owner, 'item');
  return null;
}
