/**
 * The books of the SQLite quota store: rows of money, the reservations on them, and the steps that
 * move amounts between the two. Every step runs inside the transaction of its operation.
 */
import { items, member } from '../../json.ts';
import type { Nanos } from '../../money.ts';
import { isNanos, limitWithExtra, maxLazyExpirations } from '../../ports/quota-input.ts';
import type { QuotaLine, QuotaState } from '../../ports/quota-store.ts';
import {
  bigintAt,
  corrupt,
  flagAt,
  integerAt,
  jsonAt,
  jsonText,
  nanosAt,
  textAt,
  valueAt,
  wordAt,
} from '../sql/columns.ts';
import { nanosFrom } from '../sql/usage-json.ts';
import type { Connection } from './handle.ts';

/** One partition at one moment of the store's clock. */
export interface Books {
  readonly connection: Connection;
  readonly partition: string;
  readonly nowMs: number;
}

/** One subject and period; its limit is undefined where only a charge is known of it. */
export interface Row extends Omit<QuotaState, 'limit'> {
  readonly limit: Nanos | undefined;
  /** The latest reserve carried the limit, so it is not the operator's to set. */
  readonly isCarried: boolean;
}

/** One line of a reservation. */
export interface HeldLine {
  readonly subject: string;
  readonly period: string;
  /** The amount of the reserve, which a replay must repeat; extends add to `amount` only. */
  readonly asked: Nanos;
  readonly amount: Nanos;
  /** What an expiry charges, and what it has charged once the state is `expired`. */
  readonly onExpire: Nanos;
}

/** How a reservation ended. */
export type HoldEnding = 'settled' | 'released' | 'expired';

/** A reservation, or its tombstone. */
export interface Hold {
  readonly id: string;
  readonly state: 'held' | HoldEnding;
  readonly dueAtMs: number;
  /** The call runs no more; its money stays held. */
  readonly isIdle: boolean;
  /** None where the store never saw the reserve. */
  readonly lines: readonly HeldLine[];
  readonly charged: readonly Nanos[];
}

// Amounts are read as text: a driver may give numbers, and refuse those above 2^53 − 1.
const selectRow = `
SELECT CAST(limit_nanos AS TEXT) AS limit_nanos, limit_carried,
  CAST(extra_nanos AS TEXT) AS extra_nanos, CAST(used_nanos AS TEXT) AS used_nanos,
  CAST(held_nanos AS TEXT) AS held_nanos, in_flight, enabled, version
FROM tollgate_quota WHERE quota_partition = ? AND subject = ? AND period = ?`;
const insertRow = `
INSERT OR IGNORE INTO tollgate_quota (quota_partition, subject, period) VALUES (?, ?, ?)`;
const moveAmounts = `
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

/** The statements that every call runs, for the test of their plans. */
export const hotStatements: readonly string[] = [
  selectRow,
  insertRow,
  moveAmounts,
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

/** The row of a subject and period, or undefined. */
export function findRow(
  { connection, partition }: Books,
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

/** Makes a row without a limit where there is none. */
export function makeRow({ connection, partition }: Books, subject: string, period: string): void {
  connection.run(insertRow, partition, subject, period);
}

/** Keeps the limit that a reserve carried in a row, or that it carried none. */
export function carryLimit(
  { connection, partition }: Books,
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

/** An operator's change. */
export function changeRow(
  { connection, partition }: Books,
  { subject, period }: Pick<QuotaLine, 'subject' | 'period'>,
  { limit, extra, enabled }: Pick<Row, 'limit' | 'extra' | 'enabled'>,
): void {
  const words = [limit ?? null, extra, enabled ? 1n : 0n];
  connection.run(setRow, ...words, partition, subject, period);
}

/** What can still be held of a row; below zero in debt. */
export function availableOf(row: Row | undefined): bigint {
  if (row === undefined) return 0n;
  return limitWithExtra(row.limit ?? 0n, row.extra) - row.used - row.held;
}

/** What a step changes of a row. */
interface Move {
  readonly used?: bigint;
  readonly held?: bigint;
  readonly inFlight?: bigint;
}

/** Moves amounts of one row, which must be there. */
export function move(
  { connection, partition }: Books,
  { subject, period }: Pick<QuotaLine, 'subject' | 'period'>,
  { used = 0n, held = 0n, inFlight = 0n }: Move,
): void {
  connection.run(moveAmounts, used, held, inFlight, partition, subject, period);
}

/** How many reservations of a subject are running, over all periods, counted up to `most`. */
export function inFlightOf(
  { connection, partition }: Books,
  subject: string,
  most: number,
): number {
  return integerAt(connection.row(countLeases, partition, subject, BigInt(most)), 'leases');
}

/** Holds every line; the caller has made sure that each fits, and made the rows. */
export function hold(books: Books, id: string, lines: readonly HeldLine[], dueAtMs: number): void {
  const { connection, partition } = books;
  const text = jsonText(lines);
  connection.run(insertHold, partition, id, 'held', BigInt(dueAtMs), null, text, '[]');
  for (const line of lines) move(books, line, { held: line.amount, inFlight: 1n });
  for (const subject of subjectsOf(lines)) {
    connection.run(insertLease, partition, subject, BigInt(dueAtMs), id, 0n);
  }
}

/** Writes a lease down as it is from now on: its end, its lines, and whether its call runs. */
export function renew(books: Books, before: Hold, renewed: Hold): void {
  const { connection, partition } = books;
  const { id, lines, dueAtMs, isIdle } = renewed;
  const idle = isIdle ? 1n : 0n;
  connection.run(renewHold, BigInt(dueAtMs), idle, jsonText(lines), partition, id);
  const becomesIdle = isIdle && !before.isIdle;
  if (becomesIdle) for (const line of lines) move(books, line, { inFlight: -1n });
  if (dueAtMs === before.dueAtMs && !becomesIdle) return;
  for (const subject of subjectsOf(lines)) {
    connection.run(deleteLease, partition, subject, BigInt(before.dueAtMs), id);
    connection.run(insertLease, partition, subject, BigInt(dueAtMs), id, idle);
  }
}

/** Gives back what is held; ending the reservation is a step of its own. */
export function giveBack(books: Books, { id, dueAtMs, isIdle, lines }: Hold): void {
  const { connection, partition } = books;
  const inFlight = isIdle ? 0n : -1n;
  for (const line of lines) move(books, line, { held: -line.amount, inFlight });
  for (const subject of subjectsOf(lines)) {
    connection.run(deleteLease, partition, subject, BigInt(dueAtMs), id);
  }
}

/** Marks a reservation as ended and remembers it from now; also one the store never saw. */
export function bury(
  { connection, partition, nowMs }: Books,
  id: string,
  known: Hold | undefined,
  state: HoldEnding,
  charged: readonly Nanos[] = [],
): void {
  const text = jsonText(charged);
  if (known === undefined) {
    connection.run(insertHold, partition, id, state, 0n, BigInt(nowMs), '[]', text);
  } else {
    connection.run(endHold, state, BigInt(nowMs), text, partition, id);
  }
}

/** What every operation on a subject does first. */
export function expireDueOf(books: Books, lines: readonly Pick<QuotaLine, 'subject'>[]): void {
  const { connection, partition, nowMs } = books;
  for (const subject of subjectsOf(lines)) {
    const most = BigInt(maxLazyExpirations);
    for (const row of connection.rows(dueLeases, partition, subject, BigInt(nowMs), most)) {
      findHold(books, textAt(row, 'id'));
    }
  }
}

/** The reservation of this id as of now: one whose lease has run out has expired. */
export function findHold(books: Books, id: string): Hold | undefined {
  const row = books.connection.row(selectHold, books.partition, id);
  if (row === undefined) return undefined;
  const found = holdFrom(row);
  if (found.state !== 'held' || found.dueAtMs > books.nowMs) return found;
  giveBack(books, found);
  for (const line of found.lines) move(books, line, { used: line.onExpire });
  bury(books, id, found, 'expired');
  return { ...found, state: 'expired' };
}

/** Sorted by subject: one with lines in two periods counts once. */
function subjectsOf(lines: readonly Pick<QuotaLine, 'subject'>[]): ReadonlySet<string> {
  return new Set(lines.map(({ subject }) => subject));
}

function holdFrom(row: unknown): Hold {
  const charged = items(jsonAt(row, 'charged')).map(nanosFrom);
  return {
    id: textAt(row, 'id'),
    state: wordAt(row, 'state', ['held', 'settled', 'released', 'expired']),
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
