/**
 * The books of the memory quota store: rows of money, the reservations on them, and the steps that
 * move amounts between the two. Each step is synchronous and leaves every invariant whole.
 */
import type { Nanos } from '../../money.ts';
import { maxLazyExpirations } from '../../ports/quota-input.ts';
import type { Line } from '../../ports/quota-store.ts';
import type { DueQueue, Place } from './due-queue.ts';
import { enter, firstDue, leave, reorder } from './due-queue.ts';
import type { Tombstones } from './tombstones.ts';
import { tombstones } from './tombstones.ts';

/** One subject and period. */
export interface Row {
  /** Undefined where only a charge is known of it: the next reserve brings its limit. */
  limit: Nanos | undefined;
  used: Nanos;
  held: Nanos;
  inFlight: number;
  enabled: boolean;
  version: number;
}

/** Reservations are counted and expired by subject, whatever period they are pinned to. */
export interface Subject {
  readonly rows: Map<string, Row>;
  readonly leases: DueQueue<Reservation>;
}

/** The subjects that share a shard, and every reservation on them. */
export interface Partition {
  readonly subjects: Map<string, Subject>;
  readonly reservations: Map<string, Reservation>;
  readonly leases: DueQueue<Reservation>;
}

/** One line of a reservation. */
export interface HeldLine {
  readonly subject: string;
  readonly period: string;
  readonly row: Row;
  /** The amount of the reserve, which a replay must repeat; extends add to `amount` only. */
  readonly asked: Nanos;
  amount: Nanos;
  /** What an expiry charges, and what it has charged once the state is `expired`. */
  readonly onExpire: Nanos;
}

/** How a reservation ended. */
export type Ending = 'settled' | 'released' | 'expired';

/** A hold, from its reserve until its tombstone is forgotten. */
export interface Reservation {
  readonly id: string;
  readonly partition: Partition;
  /** None where the store never saw the reserve. */
  readonly lines: readonly HeldLine[];
  state: 'held' | Ending;
  dueAtMs: number;
  places: readonly Place<Reservation>[];
  charged: readonly Nanos[];
  endedAtMs: number;
}

/** All partitions, and the tombstones of what has ended. */
export interface Ledger {
  readonly partitions: Map<string, Partition>;
  readonly ended: Tombstones<Reservation>;
}

/** Empty books that remember at most `limit` ended reservations, each for `maxAgeMs`. */
export function openLedger(limit: number, maxAgeMs: number): Ledger {
  const forget = (reservation: Reservation, atMs: number): void => {
    // One that expired and was settled later is in the ring twice; the later entry counts.
    if (reservation.endedAtMs !== atMs) return;
    reservation.partition.reservations.delete(reservation.id);
  };
  return { partitions: new Map(), ended: tombstones({ limit, maxAgeMs, forget }) };
}

/** The partition of this name, made where there is none. */
export function partitionOf(ledger: Ledger, name: string): Partition {
  const known = ledger.partitions.get(name);
  if (known !== undefined) return known;
  const partition: Partition = { subjects: new Map(), reservations: new Map(), leases: [] };
  ledger.partitions.set(name, partition);
  return partition;
}

/** The row of a subject and period, or undefined. */
export function findRow(partition: Partition, subject: string, period: string): Row | undefined {
  return partition.subjects.get(subject)?.rows.get(period);
}

/** The row of a subject and period, made without a limit where there is none. */
export function rowOf(partition: Partition, subject: string, period: string): Row {
  const { rows } = subjectOf(partition, subject);
  const known = rows.get(period);
  if (known !== undefined) return known;
  const row: Row = {
    limit: undefined,
    used: 0n,
    held: 0n,
    inFlight: 0,
    enabled: true,
    version: 0,
  };
  rows.set(period, row);
  return row;
}

/** What can still be held; below zero in debt. */
export function availableOf(row: Row): bigint {
  return (row.limit ?? 0n) - row.used - row.held;
}

/** Holds every line; the caller has made sure that each fits. */
export function hold(
  partition: Partition,
  id: string,
  lines: readonly HeldLine[],
  dueAtMs: number,
): Reservation {
  const reservation: Reservation = {
    id,
    partition,
    lines,
    state: 'held',
    dueAtMs,
    places: [],
    charged: [],
    endedAtMs: 0,
  };
  const places = [enter(partition.leases, reservation)];
  let previous = '';
  for (const { subject, row, amount } of lines) {
    row.held += amount;
    row.inFlight += 1;
    row.version += 1;
    // Sorted by subject: one with lines in two periods queues once.
    if (subject !== previous) places.push(enter(subjectOf(partition, subject).leases, reservation));
    previous = subject;
  }
  reservation.places = places;
  partition.reservations.set(id, reservation);
  return reservation;
}

/** Moves the end of a lease. */
export function renew(reservation: Reservation, dueAtMs: number): void {
  reservation.dueAtMs = dueAtMs;
  for (const place of reservation.places) reorder(place);
}

/** Gives back what is held and ends the reservation; charging is a step of its own. */
export function giveBack(
  ledger: Ledger,
  reservation: Reservation,
  state: Ending,
  nowMs: number,
): void {
  for (const place of reservation.places) leave(place);
  reservation.places = [];
  for (const { row, amount } of reservation.lines) {
    row.held -= amount;
    row.inFlight -= 1;
    row.version += 1;
  }
  bury(ledger, reservation, state, nowMs);
}

/** Marks a reservation as ended and remembers it from now. */
export function bury(ledger: Ledger, reservation: Reservation, state: Ending, nowMs: number): void {
  reservation.state = state;
  reservation.endedAtMs = nowMs;
  ledger.ended.add(reservation, nowMs);
}

/** A reservation that ends before the store has seen its reserve. */
export function stranger(partition: Partition, id: string): Reservation {
  const reservation: Reservation = {
    id,
    partition,
    lines: [],
    state: 'released',
    dueAtMs: 0,
    places: [],
    charged: [],
    endedAtMs: 0,
  };
  partition.reservations.set(id, reservation);
  return reservation;
}

/** Ends a lease that ran out, with the charge fixed when it was reserved. */
function expire(ledger: Ledger, reservation: Reservation, nowMs: number): void {
  giveBack(ledger, reservation, 'expired', nowMs);
  for (const { row, onExpire } of reservation.lines) row.used += onExpire;
}

/** Expires due leases of a queue, at most `max`; tells how many. */
export function expireDue(
  ledger: Ledger,
  queue: DueQueue<Reservation>,
  max: number,
  nowMs: number,
): number {
  let expired = 0;
  let due = firstDue(queue, nowMs);
  while (due !== undefined && expired < max) {
    expire(ledger, due, nowMs);
    expired += 1;
    due = firstDue(queue, nowMs);
  }
  return expired;
}

/** What every operation on a subject does first. */
export function expireDueOf(
  ledger: Ledger,
  partition: Partition,
  lines: readonly Pick<Line, 'subject'>[],
  nowMs: number,
): void {
  for (const { subject } of lines) {
    const leases = partition.subjects.get(subject)?.leases;
    if (leases !== undefined) expireDue(ledger, leases, maxLazyExpirations, nowMs);
  }
}

/** The reservation of this id as of now: one whose lease has run out has expired. */
export function findReservation(
  ledger: Ledger,
  partition: Partition,
  id: string,
  nowMs: number,
): Reservation | undefined {
  const reservation = partition.reservations.get(id);
  if (reservation?.state === 'held' && reservation.dueAtMs <= nowMs) {
    expire(ledger, reservation, nowMs);
  }
  return reservation;
}

function subjectOf(partition: Partition, name: string): Subject {
  const known = partition.subjects.get(name);
  if (known !== undefined) return known;
  const subject: Subject = { rows: new Map(), leases: [] };
  partition.subjects.set(name, subject);
  return subject;
}
