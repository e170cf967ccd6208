/**
 * The ledger of the memory quota store: rows, the reservations on them, and the steps that move
 * amounts between the two. Each step is synchronous and preserves every invariant.
 */
import type { Nanos } from '../../money.ts';
import { limitWithExtra, maxLazyExpirations } from '../../ports/limits/quota-input.ts';
import type { QuotaLine } from '../../ports/limits/quota-store.ts';
import type { DueQueue, QueueEntry } from './due-queue.ts';
import { dequeue, enqueue, firstDue, reorder } from './due-queue.ts';
import { EndedHolds } from './ended-holds.ts';
import { type HashedId, HoldTable, hashOf } from './hold-table.ts';

/** What may be held on a row. */
export interface Balance {
  /** Undefined where the row was created by a charge: the next reserve carries the limit. */
  limit: Nanos | undefined;
  /** The latest reserve carried the limit, so an operator must not set it. */
  isCarried: boolean;
  /** What operators have added to the limit. */
  extra: bigint;
  used: Nanos;
  held: Nanos;
  enabled: boolean;
}

/** One subject and period. */
export interface Row extends Balance {
  readonly period: string;
  /** The row of the same subject that was created before this one. */
  readonly older: Row | undefined;
  inFlight: number;
  version: number;
}

/** Reservations are counted and expired by subject, across its periods. */
export interface Subject {
  readonly name: string;
  /** The newest row, nearly always the one that is needed; links to the older ones. */
  latest: Row | undefined;
  readonly leases: DueQueue<Reservation>;
  /** How many of the leases belong to calls in doubt, which no longer run. */
  idle: number;
}

/** The subjects that share a shard, and every reservation on them. */
export interface Partition {
  /** The index among all partitions, in order of creation. */
  readonly number: number;
  readonly subjects: Map<string, Subject>;
  readonly held: HoldTable<Reservation>;
  readonly leases: DueQueue<Reservation>;
}

export interface HeldLine {
  readonly subject: Subject;
  readonly row: Row;
  /** The amount of the reserve, which a replay must repeat; an extend adds to `amount` only. */
  readonly reserved: Nanos;
  amount: Nanos;
  /** The amount that is charged if the lease expires. */
  readonly onExpire: Nanos;
  /** Undefined where an earlier line of the same subject has queued the reservation. */
  entry: QueueEntry<Reservation> | undefined;
}

export interface HoldName extends HashedId {
  readonly partition: Partition;
}

/** A hold that has not ended. */
export interface Reservation extends HoldName {
  readonly lines: readonly HeldLine[];
  dueAtMs: number;
  /** The call no longer runs, but its money stays held. */
  isIdle: boolean;
  entry: QueueEntry<Reservation> | undefined;
  next: Reservation | undefined;
}

export interface Ledger {
  readonly partitions: Map<string, Partition>;
  readonly ended: EndedHolds;
}

export function openLedger(limit: number, maxAgeMs: number): Ledger {
  return { partitions: new Map(), ended: new EndedHolds(limit, maxAgeMs) };
}

/** The partition of this name, created where there is none. */
export function partitionOf(ledger: Ledger, name: string): Partition {
  const known = ledger.partitions.get(name);
  if (known !== undefined) return known;
  const partition: Partition = {
    number: ledger.partitions.size,
    subjects: new Map(),
    held: new HoldTable(),
    leases: [],
  };
  ledger.partitions.set(name, partition);
  return partition;
}

/** The key of the hold with this id, whether that exists or not. */
export function holdName(
  ledger: Ledger,
  { id, partition }: { readonly id: string; readonly partition: string },
): HoldName {
  return { id, hash: hashOf(id), partition: partitionOf(ledger, partition) };
}

export function findRow(partition: Partition, subject: string, period: string): Row | undefined {
  const known = partition.subjects.get(subject);
  return known === undefined ? undefined : findRowIn(known, period);
}

export function findRowIn({ latest }: Subject, period: string): Row | undefined {
  let row = latest;
  while (row !== undefined && row.period !== period) row = row.older;
  return row;
}

/** The row of a subject and period, created without a limit where there is none. */
export function rowOf(partition: Partition, subject: string, period: string): Row {
  return rowIn(subjectOf(partition, subject), period);
}

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

/** The amount that can still be held; below zero in debt. */
export function availableOf({
  limit = 0n,
  extra,
  used,
  held,
}: Pick<Balance, 'limit' | 'extra' | 'used' | 'held'>): bigint {
  return (extra === 0n ? limit : limitWithExtra(limit, extra)) - used - held;
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
    entry: undefined,
    next: undefined,
  };
  reservation.entry = enqueue(partition.leases, reservation);
  let previous: Subject | undefined;
  for (const line of lines) {
    const { subject, row } = line;
    row.held += line.amount;
    row.inFlight += 1;
    row.version += 1;
    // Lines are sorted by subject: a subject with lines in two periods queues the hold once.
    if (subject !== previous) line.entry = enqueue(subject.leases, reservation);
    previous = subject;
  }
  partition.held.add(reservation);
  return reservation;
}

export function renew(reservation: Reservation, dueAtMs: number): void {
  reservation.dueAtMs = dueAtMs;
  if (reservation.entry !== undefined) reorder(reservation.entry);
  for (const { entry } of reservation.lines) if (entry !== undefined) reorder(entry);
}

/** Stops counting a reservation whose call no longer runs; its money stays held. */
export function makeIdle(reservation: Reservation): void {
  if (reservation.isIdle) return;
  reservation.isIdle = true;
  for (const { subject, row, entry } of reservation.lines) {
    // Only one line of each subject has queued the reservation.
    if (entry !== undefined) subject.idle += 1;
    row.inFlight -= 1;
    row.version += 1;
  }
}

/** Removes a reservation and returns its amounts; the caller records how it ended. */
export function giveBack(reservation: Reservation): void {
  const { isIdle } = reservation;
  reservation.partition.held.delete(reservation);
  if (reservation.entry !== undefined) dequeue(reservation.entry);
  for (const { subject, row, amount, entry } of reservation.lines) {
    if (entry !== undefined) dequeue(entry);
    row.held -= amount;
    row.version += 1;
    if (!isIdle) row.inFlight -= 1;
    else if (entry !== undefined) subject.idle -= 1;
  }
}

/** Ends a hold whose lease ran out, with the charge that was fixed when it was reserved. */
function expire(ledger: Ledger, reservation: Reservation, nowMs: number): void {
  const { lines } = reservation;
  const expiry = lines.map(({ row, onExpire }) => ({ row, onExpire }));
  ledger.ended.add(reservation, { as: 'expired', charged: [], expiry }, nowMs);
  giveBack(reservation);
  for (const { row, onExpire } of expiry) row.used += onExpire;
}

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

/** Expires due leases of these subjects; every operation on a subject does this first. */
export function expireDueOf(
  ledger: Ledger,
  partition: Partition,
  lines: readonly Pick<QuotaLine, 'subject'>[],
  nowMs: number,
): void {
  for (const { subject } of lines) {
    const leases = partition.subjects.get(subject)?.leases;
    if (leases === undefined || firstDue(leases, nowMs) === undefined) continue;
    expireDue(ledger, leases, maxLazyExpirations, nowMs);
  }
}

/** The reservation with this id, unless its lease has run out: then it is expired first. */
export function findHeld(ledger: Ledger, name: HoldName, nowMs: number): Reservation | undefined {
  const reservation = name.partition.held.find(name);
  if (reservation === undefined || reservation.dueAtMs > nowMs) return reservation;
  expire(ledger, reservation, nowMs);
  return undefined;
}

export function subjectOf(partition: Partition, name: string): Subject {
  const known = partition.subjects.get(name);
  if (known !== undefined) return known;
  const subject: Subject = { name, latest: undefined, leases: [], idle: 0 };
  partition.subjects.set(name, subject);
  return subject;
}
