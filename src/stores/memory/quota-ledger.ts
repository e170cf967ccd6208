/**
 * The books of the memory quota store: rows of money, the reservations on them, and the steps that
 * move amounts between the two. Each step is synchronous and leaves every invariant whole.
 */
import type { Nanos } from '../../money.ts';
import { limitWithExtra, maxLazyExpirations } from '../../ports/quota-input.ts';
import type { QuotaLine } from '../../ports/quota-store.ts';
import type { DueQueue, Place } from './due-queue.ts';
import { enter, firstDue, leave, reorder } from './due-queue.ts';
import { type EndedHolds, endedHolds } from './ended-holds.ts';
import { type HashedId, type HoldTable, hashOf, holdTable } from './hold-table.ts';

/** One subject and period. */
export interface Row {
  readonly period: string;
  /** The row of the same subject that was made before. */
  readonly older: Row | undefined;
  /** Undefined where only a charge is known of it: the next reserve brings its limit. */
  limit: Nanos | undefined;
  /** The latest reserve carried the limit, so it is not the operator's to set. */
  isCarried: boolean;
  /** What operators have added to the limit. */
  extra: bigint;
  used: Nanos;
  held: Nanos;
  inFlight: number;
  enabled: boolean;
  version: number;
}

/** Reservations are counted and expired by subject, whatever period they are pinned to. */
export interface Subject {
  readonly name: string;
  /** The row that was made last, nearly always the one that is asked for; the others behind it. */
  latest: Row | undefined;
  readonly leases: DueQueue<Reservation>;
  /** How many of the leases are of calls in doubt, which run no more. */
  idle: number;
}

/** The subjects that share a shard, and every reservation on them. */
export interface Partition {
  /** Among the partitions, in the order in which they were made. */
  readonly number: number;
  readonly subjects: Map<string, Subject>;
  readonly held: HoldTable<Reservation>;
  readonly leases: DueQueue<Reservation>;
}

/** One line of a reservation. */
export interface HeldLine {
  readonly subject: Subject;
  readonly row: Row;
  /** The amount of the reserve, which a replay must repeat; extends add to `amount` only. */
  readonly asked: Nanos;
  amount: Nanos;
  /** What an expiry charges. */
  readonly onExpire: Nanos;
  /** Undefined where a line of the same subject before it has queued the reservation. */
  place: Place<Reservation> | undefined;
}

/** What a hold is known by. */
export interface HoldName extends HashedId {
  readonly partition: Partition;
}

/** A hold that stands. */
export interface Reservation extends HoldName {
  readonly lines: readonly HeldLine[];
  dueAtMs: number;
  /** The call runs no more; its money stays held. */
  isIdle: boolean;
  place: Place<Reservation> | undefined;
  /** The next of its bucket. */
  next: Reservation | undefined;
}

/** All partitions, and what has ended in them. */
export interface Ledger {
  readonly partitions: Map<string, Partition>;
  readonly ended: EndedHolds;
}

/** Empty books that remember at most `limit` ended reservations, each for `maxAgeMs`. */
export function openLedger(limit: number, maxAgeMs: number): Ledger {
  return { partitions: new Map(), ended: endedHolds(limit, maxAgeMs) };
}

/** The partition of this name, made where there is none. */
export function partitionOf(ledger: Ledger, name: string): Partition {
  const known = ledger.partitions.get(name);
  if (known !== undefined) return known;
  const partition: Partition = {
    number: ledger.partitions.size,
    subjects: new Map(),
    held: holdTable(),
    leases: [],
  };
  ledger.partitions.set(name, partition);
  return partition;
}

/** What the hold of this id is known by, whether it stands or not. */
export function holdName(
  ledger: Ledger,
  { id, partition }: { readonly id: string; readonly partition: string },
): HoldName {
  return { id, hash: hashOf(id), partition: partitionOf(ledger, partition) };
}

/** The row of a subject and period, or undefined. */
export function findRow(partition: Partition, subject: string, period: string): Row | undefined {
  const known = partition.subjects.get(subject);
  return known === undefined ? undefined : findRowIn(known, period);
}

/** The same of a subject that is at hand. */
export function findRowIn({ latest }: Subject, period: string): Row | undefined {
  let row = latest;
  while (row !== undefined && row.period !== period) row = row.older;
  return row;
}

/** The row of a subject and period, made without a limit where there is none. */
export function rowOf(partition: Partition, subject: string, period: string): Row {
  return rowIn(subjectOf(partition, subject), period);
}

/** The same of a subject that is at hand. */
export function rowIn(subject: Subject, period: string): Row {
  const known = findRowIn(subject, period);
  if (known !== undefined) return known;
  const row: Row = {
    period,
    older: subject.latest,
    limit: undefined,
    isCarried: false,
    extra: 0n,
    used: 0n,
    held: 0n,
    inFlight: 0,
    enabled: true,
    version: 0,
  };
  subject.latest = row;
  return row;
}

/** What can still be held; below zero in debt. */
export function availableOf(row: Row): bigint {
  return limitWithExtra(row.limit ?? 0n, row.extra) - row.used - row.held;
}

/** Holds every line; the caller has made sure that each fits. */
export function hold(
  { id, hash, partition }: HoldName,
  lines: readonly HeldLine[],
  dueAtMs: number,
): Reservation {
  const reservation: Reservation = {
    id,
    hash,
    partition,
    lines,
    dueAtMs,
    isIdle: false,
    place: undefined,
    next: undefined,
  };
  reservation.place = enter(partition.leases, reservation);
  let previous: Subject | undefined;
  for (const line of lines) {
    const { subject, row } = line;
    row.held += line.amount;
    row.inFlight += 1;
    row.version += 1;
    // Sorted by subject: one with lines in two periods queues once.
    if (subject !== previous) line.place = enter(subject.leases, reservation);
    previous = subject;
  }
  partition.held.add(reservation);
  return reservation;
}

/** Moves the end of a lease. */
export function renew(reservation: Reservation, dueAtMs: number): void {
  reservation.dueAtMs = dueAtMs;
  if (reservation.place !== undefined) reorder(reservation.place);
  for (const { place } of reservation.lines) if (place !== undefined) reorder(place);
}

/** Frees the places of a reservation whose call runs no more; its money stays held. */
export function makeIdle(reservation: Reservation): void {
  if (reservation.isIdle) return;
  reservation.isIdle = true;
  for (const { subject, row, place } of reservation.lines) {
    // The one line of each subject that has queued the reservation.
    if (place !== undefined) subject.idle += 1;
    row.inFlight -= 1;
    row.version += 1;
  }
}

/** Gives back what is held: the reservation stands no more. How it ended is a step of its own. */
export function giveBack(reservation: Reservation): void {
  const { isIdle } = reservation;
  reservation.partition.held.delete(reservation);
  if (reservation.place !== undefined) leave(reservation.place);
  for (const { subject, row, amount, place } of reservation.lines) {
    if (place !== undefined) leave(place);
    row.held -= amount;
    row.version += 1;
    if (!isIdle) row.inFlight -= 1;
    else if (place !== undefined) subject.idle -= 1;
  }
}

/** Ends a lease that ran out, with the charge fixed when it was reserved. */
function expire(ledger: Ledger, reservation: Reservation, nowMs: number): void {
  const { lines } = reservation;
  const expiry = lines.map(({ row, onExpire }) => ({ row, onExpire }));
  ledger.ended.add(reservation, { as: 'expired', charged: [], expiry }, nowMs);
  giveBack(reservation);
  for (const { row, onExpire } of expiry) row.used += onExpire;
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
  lines: readonly Pick<QuotaLine, 'subject'>[],
  nowMs: number,
): void {
  for (const { subject } of lines) {
    const leases = partition.subjects.get(subject)?.leases;
    if (leases !== undefined) expireDue(ledger, leases, maxLazyExpirations, nowMs);
  }
}

/** The reservation of this id as of now: one whose lease has run out has expired. */
export function findHeld(ledger: Ledger, name: HoldName, nowMs: number): Reservation | undefined {
  const reservation = name.partition.held.find(name);
  if (reservation === undefined || reservation.dueAtMs > nowMs) return reservation;
  expire(ledger, reservation, nowMs);
  return undefined;
}

/** The subject of this name, made where there is none. */
export function subjectOf(partition: Partition, name: string): Subject {
  const known = partition.subjects.get(name);
  if (known !== undefined) return known;
  const subject: Subject = { name, latest: undefined, leases: [], idle: 0 };
  partition.subjects.set(name, subject);
  return subject;
}
