/**
 * The operations of the memory quota store on its books, each one synchronous step. Their input has
 * been checked.
 */

import type { Nanos } from '../../money.ts';
import { maxNanos } from '../../money.ts';
import type {
  AdjustInput,
  ExtendInput,
  ExtendResult,
  Line,
  QuotaState,
  ReleaseInput,
  ReleaseResult,
  ReserveInput,
  ReserveResult,
  SettleInput,
  SettleResult,
} from '../../ports/quota-store.ts';
import { firstDue } from './due-queue.ts';
import type { HeldLine, Ledger, Partition, Reservation, Row } from './quota-ledger.ts';
import {
  availableOf,
  bury,
  expireDue,
  expireDueOf,
  findReservation,
  findRow,
  giveBack,
  hold,
  partitionOf,
  renew,
  rowOf,
  stranger,
} from './quota-ledger.ts';

/** Holds every line or none. */
export function reserve(ledger: Ledger, input: ReserveInput, nowMs: number): ReserveResult {
  const partition = partitionOf(ledger, input.partition);
  expireDueOf(ledger, partition, input.lines, nowMs);
  const known = findReservation(ledger, partition, input.id, nowMs);
  if (known !== undefined) return replay(known, input);
  const refusal = refusalOf(partition, input);
  if (refusal !== undefined) return refusal;

  const lines = input.lines.map((line, index) => heldLine(partition, input, line, index));
  const reservation = hold(partition, input.id, lines, nowMs + input.ttlMs);
  return held(reservation, false);
}

function replay(known: Reservation, input: ReserveInput): ReserveResult {
  if (known.state !== 'held') return { status: 'resolved', as: known.state };
  const same =
    known.lines.length === input.lines.length &&
    input.lines.every(({ subject, period, amount }, index) => {
      const line = known.lines[index];
      return line?.subject === subject && line.period === period && line.asked === amount;
    });
  return same ? held(known, true) : { status: 'id_conflict' };
}

function held({ dueAtMs, lines }: Reservation, isReplay: boolean): ReserveResult {
  const available = lines.map((line) => availableOf(line.row));
  return { status: 'held', replay: isReplay, expiresAtMs: dueAtMs, available };
}

/** Why the lines can't all be held, by the first that can't. Nothing is made or changed here. */
function refusalOf(partition: Partition, input: ReserveInput): ReserveResult | undefined {
  for (const [index, line] of input.lines.entries()) {
    const { subject } = line;
    const row = findRow(partition, subject, line.period);
    const limit = row?.limit ?? line.limit;
    if (row?.enabled === false) return { status: 'disabled_subject', subject };
    if (limit === undefined) return { status: 'unknown_subject', subject };
    const available = limit - (row?.used ?? 0n) - (row?.held ?? 0n);
    if (available < line.amount) return { status: 'insufficient', subject, available };
    const cap = input.maxInFlight?.[index];
    const inFlight = partition.subjects.get(subject)?.leases.length ?? 0;
    if (cap !== undefined && inFlight >= cap) return { status: 'too_many_in_flight', subject };
  }
  return undefined;
}

function heldLine(
  partition: Partition,
  input: ReserveInput,
  { subject, period, amount, limit }: Line,
  index: number,
): HeldLine {
  const row = rowOf(partition, subject, period);
  row.limit ??= limit;
  const onExpire = input.onExpire === 'release' ? 0n : (input.onExpire.charge[index] ?? 0n);
  return { subject, period, row, asked: amount, amount, onExpire };
}

/**
 * @throws RangeError before anything changes, where a hold is to grow by other than one amount a
 * line
 */
export function checkGrowth(ledger: Ledger, inputs: readonly ExtendInput[]): void {
  for (const { id, partition, add } of inputs) {
    const known = ledger.partitions.get(partition)?.reservations.get(id);
    if (known?.state === 'held' && add !== undefined && add.length !== known.lines.length) {
      throw new RangeError('Quota input refused: add must have an amount for each line.');
    }
  }
}

/** Renews one lease, never to an earlier end, and grows its hold where asked and where it fits. */
export function extend(ledger: Ledger, input: ExtendInput, nowMs: number): ExtendResult {
  const partition = partitionOf(ledger, input.partition);
  const reservation = findReservation(ledger, partition, input.id, nowMs);
  if (reservation === undefined) return { status: 'gone', as: 'unknown' };
  if (reservation.state !== 'held') return { status: 'gone', as: reservation.state };
  // A short renewal that comes late must not cut a long lease.
  renew(reservation, Math.max(reservation.dueAtMs, nowMs + input.ttlMs));
  expireDueOf(ledger, partition, reservation.lines, nowMs);
  return grow(reservation, input.add ?? []);
}

function grow(reservation: Reservation, add: readonly Nanos[]): ExtendResult {
  for (const [index, { row, subject }] of reservation.lines.entries()) {
    const amount = add[index] ?? 0n;
    const available = availableOf(row);
    if (amount > 0n && available < amount) return { status: 'insufficient', subject, available };
  }
  for (const [index, line] of reservation.lines.entries()) {
    const amount = add[index] ?? 0n;
    if (amount === 0n) continue;
    line.amount += amount;
    line.row.held += amount;
    line.row.version += 1;
  }
  return { status: 'held', expiresAtMs: reservation.dueAtMs };
}

/** Ends a hold with a charge, in whatever state it is but released or settled. */
export function settle(ledger: Ledger, input: SettleInput, nowMs: number): SettleResult {
  const partition = partitionOf(ledger, input.partition);
  expireDueOf(ledger, partition, input.lines, nowMs);
  const known = findReservation(ledger, partition, input.id, nowMs);
  if (known?.state === 'settled') return { status: 'already', charged: known.charged };
  if (known?.state === 'released') return { status: 'conflict', as: 'released' };

  const reservation = known ?? stranger(partition, input.id);
  reservation.charged = input.lines.map((line) => line.amount);
  for (const { subject, period, amount } of input.lines) {
    const row = rowOf(partition, subject, period);
    row.used += amount;
    row.version += 1;
  }
  if (known?.state === 'held') {
    giveBack(ledger, known, 'settled', nowMs);
    return { status: 'settled' };
  }
  // What the expiry charged is inside the final charge, not beside it.
  for (const { row, onExpire } of reservation.lines) row.used -= onExpire;
  bury(ledger, reservation, 'settled', nowMs);
  return { status: 'settled_late', from: known === undefined ? 'unknown' : 'expired' };
}

/** Ends a hold without a charge, or blocks one that is still to come. */
export function release(ledger: Ledger, input: ReleaseInput, nowMs: number): ReleaseResult {
  const partition = partitionOf(ledger, input.partition);
  expireDueOf(ledger, partition, input.lines, nowMs);
  const known = findReservation(ledger, partition, input.id, nowMs);
  if (known === undefined) {
    bury(ledger, stranger(partition, input.id), 'released', nowMs);
    return { status: 'released' };
  }
  if (known.state !== 'held') return { status: 'already', as: known.state };
  giveBack(ledger, known, 'released', nowMs);
  return { status: 'released' };
}

/** Expires due leases of one partition or of all, at most `max`. */
export function sweep(
  ledger: Ledger,
  max: number,
  only: string | undefined,
  nowMs: number,
): { readonly expired: number; readonly more: boolean } {
  let expired = 0;
  let more = false;
  for (const [name, { leases }] of ledger.partitions) {
    if (only !== undefined && name !== only) continue;
    expired += expireDue(ledger, leases, max - expired, nowMs);
    more ||= firstDue(leases, nowMs) !== undefined;
  }
  return { expired, more };
}

/** Changes what an operator may change of a row. */
export function adjust(partition: Partition, input: AdjustInput): void {
  const known = findRow(partition, input.subject, input.period);
  let limit = input.limit ?? known?.limit;
  if (input.addLimit !== undefined) limit = atLeastZero((limit ?? 0n) + input.addLimit);
  if (limit !== undefined && limit > maxNanos) {
    throw new RangeError('Quota input refused: a limit must not exceed 2^53 − 1.');
  }
  const row = rowOf(partition, input.subject, input.period);
  row.limit = limit;
  row.enabled = input.enabled ?? row.enabled;
  row.version += 1;
}

function atLeastZero(amount: bigint): Nanos {
  return amount < 0n ? 0n : amount;
}

/** A row as a reader sees it. */
export function stateOf({ limit, used, held, inFlight, enabled, version }: Row): QuotaState {
  return { limit: limit ?? 0n, used, held, inFlight, enabled, version };
}
