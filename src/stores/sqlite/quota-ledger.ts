/**
 * The ledger of the SQLite quota store: rows, the reservations on them, and the steps that move
 * amounts between the two. Every step runs inside the transaction of its operation.
 */
import { items, jsonWithBigints, member } from '../../json.ts';
import type { Nanos } from '../../money.ts';
import { isNanos, maxLazyExpirations } from '../../ports/limits/quota-input.ts';
import type { QuotaLine, QuotaState } from '../../ports/limits/quota-store.ts';
import { availableOf as balanceOf } from '../memory/quota-ledger.ts';
import {
  bigintAt,
  corrupt,
  flagAt,
  integerAt,
  jsonAt,
  literalAt,
  nanosAt,
  textAt,
  valueAt,
} from '../sql/columns.ts';
import { nanosFrom } from '../sql/usage/json.ts';
import type { Connection } from './handle.ts';

export interface PartitionLedger {
  readonly connection: Connection;
  readonly partition: string;
  readonly nowMs: number;
}

/** One subject and period; its limit is undefined where the row was created by a charge. */
export interface Row extends Omit<QuotaState, 'limit'> {
  readonly limit: Nanos | undefined;
  /** The latest reserve carried the limit, so an operator must not set it. */
  readonly isCarried: boolean;
}

export interface HeldLine {
  readonly subject: string;
  readonly period: string;
  /** The amount of the reserve, which a replay must repeat; an extend adds to `amount` only. */
  readonly asked: Nanos;
  readonly amount: Nanos;
  /** The amount that an expiry charges, or has charged once the state is `expired`. */
  readonly onExpire: Nanos;
}

export type HoldEnding = 'settled' | 'released' | 'expired';

/** A reservation that is held, or has ended. */
export interface Hold {
  readonly id: string;
  readonly state: 'held' | HoldEnding;
  readonly dueAtMs: number;
  /** The call no longer runs, but its money stays held. */
  readonly isIdle: boolean;
  /** Empty where the store never saw the reserve. */
  readonly lines: readonly HeldLine[];
  readonly charged: readonly Nanos[];
}

// Amounts are read as text: a driver may return numbers, and fail above 2^53 − 1.
const selectRow = `
SELECT CAST(limit_nanos AS TEXT) AS limit_nanos, limit_carried,
  CAST(extra_nanos AS TEXT) AS extra_nanos, CAST(used_nanos AS TEXT) AS used_nanos,
  CAST(held_nanos AS TEXT) AS held_nanos, in_flight, enabled, version
FROM tollgate_quota WHERE quota_partition = ? AND subject = ? AND period = ?`;
const insertRow = `
INSERT OR IGNORE INTO tollgate_quota (quota_partition, subject, period) VALUES (?, ?, ?)`;
const updateAmounts = `
UPDATE tollgate_quota SET used_nanos = used_nanos + ?, held_nanos = held_nanos + ?,
  in_flight = in_flight + ?, version = version + 1
WHERE quota_partition = ? AND subject = ? AND period = ?`;
const keepLimit = `
UPDATE tollgate_quota SET limit_nanos = ?, limit_carried = ?, version = version + 1
WHERE quota_partition = ? AND subject = ? AND period = ?`;
const setRow = `
UPDATE tollgate_quota SET limit_nanos = ?, extra_nanos = ?, enabled = ?, version = version + 1
WHERE quota_partition = ? AND subject = ? AND period = ?`;
const selectHold = `
SELECT id, state, due_at_ms, idle, lines, charged
FROM tollgate_hold WHERE quota_partition = ? AND id = ?`;
const insertHold = `
INSERT INTO tollgate_hold (quota_partition, id, state, due_at_ms, ended_at_ms, lines, charged)
VALUES (?, ?, ?, ?, ?, ?, ?)`;
const endHold = `
UPDATE tollgate_hold SET state = ?, ended_at_ms = ?, charged = ?
WHERE quota_partition = ? AND id = ?`;
const renewHold = `
UPDATE tollgate_hold SET due_at_ms = ?, idle = ?, lines = ? WHERE quota_partition = ? AND id = ?`;
const insertLease = `
INSERT INTO tollgate_lease (quota_partition, subject, due_at_ms, id, idle)
VALUES (?, ?, ?, ?, ?)`;
const deleteLease = `
DELETE FROM tollgate_lease
WHERE quota_partition = ? AND subject = ? AND due_at_ms = ? AND id = ?`;
const countLeases = `
SELECT count(*) AS leases FROM (
  SELECT 1 FROM tollgate_lease WHERE quota_partition = ? AND subject = ? AND idle = 0 LIMIT ?
)`;
const dueLeases = `
SELECT id FROM tollgate_lease WHERE quota_partition = ? AND subject = ? AND due_at_ms <= ?
ORDER BY due_at_ms LIMIT ?`;

/** The statements of every call, exported so that a test can check their query plans. */
export const hotStatements: readonly string[] = [
  selectRow,
  insertRow,
  updateAmounts,
  keepLimit,
  setRow,
  selectHold,
  insertHold,
  endHold,
  renewHold,
  insertLease,
  deleteLease,
  countLeases,
  dueLeases,
];

export function findRow(
  { connection, partition }: PartitionLedger,
  subject: string,
  period: string,
): Row | undefined {
  const row = connection.row(selectRow, partition, subject, period);
  if (row === undefined) return undefined;
  return {
    limit: valueAt(row, 'limit_nanos') === undefined ? undefined : nanosAt(row, 'limit_nanos'),
    isCarried: flagAt(row, 'limit_carried'),
    extra: bigintAt(row, 'extra_nanos'),
    used: bigintAt(row, 'used_nanos'),
    held: bigintAt(row, 'held_nanos'),
    inFlight: integerAt(row, 'in_flight'),
    enabled: flagAt(row, 'enabled'),
    version: integerAt(row, 'version'),
  };
}

export function makeRow(
  { connection, partition }: PartitionLedger,
  subject: string,
  period: string,
): void {
  connection.run(insertRow, partition, subject, period);
}

/** Stores in a row the limit that a reserve carried, or that it carried none. */
export function carryLimit(
  { connection, partition }: PartitionLedger,
  { subject, period, limit }: QuotaLine,
  row: Row,
): Row {
  const isCarried = limit !== undefined;
  const kept = { ...row, isCarried, limit: limit ?? row.limit };
  if (kept.limit !== row.limit || isCarried !== row.isCarried) {
    const carried = isCarried ? 1n : 0n;
    connection.run(keepLimit, kept.limit ?? null, carried, partition, subject, period);
  }
  return kept;
}

export function changeRow(
  { connection, partition }: PartitionLedger,
  { subject, period }: Pick<QuotaLine, 'subject' | 'period'>,
  { limit, extra, enabled }: Pick<Row, 'limit' | 'extra' | 'enabled'>,
): void {
  const values = [limit ?? null, extra, enabled ? 1n : 0n];
  connection.run(setRow, ...values, partition, subject, period);
}

/** The amount that can still be held; below zero in debt. */
export function availableOf(row: Row | undefined): bigint {
  return row === undefined ? 0n : balanceOf(row);
}

interface AmountChanges {
  readonly used?: bigint;
  readonly held?: bigint;
  readonly inFlight?: bigint;
}

export function changeAmounts(
  { connection, partition }: PartitionLedger,
  { subject, period }: Pick<QuotaLine, 'subject' | 'period'>,
  { used = 0n, held = 0n, inFlight = 0n }: AmountChanges,
): void {
  connection.run(updateAmounts, used, held, inFlight, partition, subject, period);
}

/** How many reservations of a subject are running, in all periods; stops counting at `max`. */
export function inFlightOf(
  { connection, partition }: PartitionLedger,
  subject: string,
  max: number,
): number {
  return integerAt(connection.row(countLeases, partition, subject, BigInt(max)), 'leases');
}

export function hold(
  ledger: PartitionLedger,
  id: string,
  lines: readonly HeldLine[],
  dueAtMs: number,
): void {
  const { connection, partition } = ledger;
  const text = jsonWithBigints(lines);
  connection.run(insertHold, partition, id, 'held', BigInt(dueAtMs), null, text, '[]');
  for (const line of lines) changeAmounts(ledger, line, { held: line.amount, inFlight: 1n });
  for (const subject of subjectsOf(lines)) {
    connection.run(insertLease, partition, subject, BigInt(dueAtMs), id, 0n);
  }
}

export function renew(ledger: PartitionLedger, before: Hold, renewed: Hold): void {
  const { connection, partition } = ledger;
  const { id, lines, dueAtMs, isIdle } = renewed;
  const idle = isIdle ? 1n : 0n;
  connection.run(renewHold, BigInt(dueAtMs), idle, jsonWithBigints(lines), partition, id);
  const becomesIdle = isIdle && !before.isIdle;
  if (becomesIdle) for (const line of lines) changeAmounts(ledger, line, { inFlight: -1n });
  if (dueAtMs === before.dueAtMs && !becomesIdle) return;
  for (const subject of subjectsOf(lines)) {
    connection.run(deleteLease, partition, subject, BigInt(before.dueAtMs), id);
    connection.run(insertLease, partition, subject, BigInt(dueAtMs), id, idle);
  }
}

/** Returns the held amounts; {@link recordEnding} ends the reservation. */
export function giveBack(ledger: PartitionLedger, { id, dueAtMs, isIdle, lines }: Hold): void {
  const { connection, partition } = ledger;
  const inFlight = isIdle ? 0n : -1n;
  for (const line of lines) changeAmounts(ledger, line, { held: -line.amount, inFlight });
  for (const subject of subjectsOf(lines)) {
    connection.run(deleteLease, partition, subject, BigInt(dueAtMs), id);
  }
}

/** Records how a reservation ended, also for one that the store never saw. */
export function recordEnding(
  { connection, partition, nowMs }: PartitionLedger,
  id: string,
  known: Hold | undefined,
  state: HoldEnding,
  charged: readonly Nanos[] = [],
): void {
  const text = jsonWithBigints(charged);
  if (known === undefined) {
    connection.run(insertHold, partition, id, state, 0n, BigInt(nowMs), '[]', text);
  } else {
    connection.run(endHold, state, BigInt(nowMs), text, partition, id);
  }
}

/** Expires due leases of these subjects; every operation on a subject does this first. */
export function expireDueOf(
  ledger: PartitionLedger,
  lines: readonly Pick<QuotaLine, 'subject'>[],
): void {
  const { connection, partition, nowMs } = ledger;
  for (const subject of subjectsOf(lines)) {
    const max = BigInt(maxLazyExpirations);
    for (const row of connection.rows(dueLeases, partition, subject, BigInt(nowMs), max)) {
      findHold(ledger, textAt(row, 'id'));
    }
  }
}

/** The reservation with this id; one whose lease has run out is expired first. */
export function findHold(ledger: PartitionLedger, id: string): Hold | undefined {
  const row = ledger.connection.row(selectHold, ledger.partition, id);
  if (row === undefined) return undefined;
  const found = holdFrom(row);
  if (found.state !== 'held' || found.dueAtMs > ledger.nowMs) return found;
  giveBack(ledger, found);
  for (const line of found.lines) changeAmounts(ledger, line, { used: line.onExpire });
  recordEnding(ledger, id, found, 'expired');
  return { ...found, state: 'expired' };
}

/** The distinct subjects, since one may have lines in two periods. */
function subjectsOf(lines: readonly Pick<QuotaLine, 'subject'>[]): ReadonlySet<string> {
  return new Set(lines.map(({ subject }) => subject));
}

function holdFrom(row: unknown): Hold {
  const charged = items(jsonAt(row, 'charged')).map(nanosFrom);
  return {
    id: textAt(row, 'id'),
    state: literalAt(row, 'state', ['held', 'settled', 'released', 'expired']),
    dueAtMs: integerAt(row, 'due_at_ms'),
    isIdle: flagAt(row, 'idle'),
    lines: items(jsonAt(row, 'lines')).map(lineFrom),
    charged: charged.every(isNanos) ? charged : corrupt('charged'),
  };
}

function lineFrom(value: unknown): HeldLine {
  const subject = member(value, 'subject');
  const period = member(value, 'period');
  const [asked, amount, onExpire] = ['asked', 'amount', 'onExpire'].map((name) =>
    nanosFrom(member(value, name)),
  );
  if (typeof subject !== 'string' || typeof period !== 'string') corrupt('lines');
  if (asked === undefined || amount === undefined || onExpire === undefined) corrupt('lines');
  return { subject, period, asked, amount, onExpire };
}
