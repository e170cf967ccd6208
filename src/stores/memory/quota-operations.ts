/**
 * The operations of the memory quota store on its ledger, each one synchronous step. Their input
 * has been checked.
 */
import type { Nanos } from '../../money.ts';
import {
  checkExtra,
  limitStatedByRecords,
  limitWithExtra,
  maxLazyExpirations,
  refuse,
} from '../../ports/limits/quota-input.ts';
import type {
  AdjustInput,
  ExtendInput,
  ExtendResult,
  QuotaBalance,
  QuotaLine,
  QuotaState,
  ReleaseInput,
  ReleaseResult,
  ReserveInput,
  ReserveResult,
  SettleInput,
  SettleResult,
} from '../../ports/limits/quota-store.ts';
import { firstDue } from './due-queue.ts';
import { hashOf } from './hold-table.ts';
import type {
  Balance,
  HeldLine,
  Ledger,
  Partition,
  Reservation,
  Row,
  Subject,
} from './quota-ledger.ts';
import {
  availableOf,
  expireDue,
  expireDueOf,
  findHeld,
  findRow,
  findRowIn,
  giveBack,
  hold,
  holdName,
  makeIdle,
  renew,
  rowIn,
  rowOf,
  subjectOf,
} from './quota-ledger.ts';

/** A moment of the store's clock. Leases are timed by `nowMs`, which is monotonic. */
export interface Moment {
  readonly nowMs: number;
  /** Add this to a monotonic time to get its Unix time. */
  readonly epochMs: number;
}

/** Holds every line or none. */
export function reserve(
  ledger: Ledger,
  input: ReserveInput,
  { nowMs, epochMs }: Moment,
): ReserveResult {
  const name = holdName(ledger, input);
  const { partition } = name;
  expireDueOf(ledger, partition, input.lines, nowMs);
  const known = findHeld(ledger, name, nowMs);
  if (known !== undefined) return replay(known, input, epochMs);
  const ended = ledger.ended.find(name);
  if (ended !== undefined) return { status: 'resolved', as: ended.as };
  const refusal = refusalOf(partition, input);
  if (refusal !== undefined) return refusal;

  const lines: HeldLine[] = [];
  for (const line of input.lines) lines.push(heldLine(partition, input, line, lines.length));
  return held(hold(name, lines, nowMs + input.ttlMs), false, epochMs);
}

function replay(known: Reservation, input: ReserveInput, epochMs: number): ReserveResult {
  const same =
    known.lines.length === input.lines.length &&
    input.lines.every((line, index) => {
      const heldBefore = known.lines[index];
      return isOf(line, heldBefore) && heldBefore.reserved === line.amount;
    });
  return same ? held(known, true, epochMs) : { status: 'id_conflict' };
}

function isOf({ subject, period }: QuotaLine, line: HeldLine | undefined): line is HeldLine {
  return line?.subject.name === subject && line.row.period === period;
}

function held({ dueAtMs, lines }: Reservation, isReplay: boolean, epochMs: number): ReserveResult {
  const available: bigint[] = [];
  for (const { row } of lines) available.push(availableOf(row));
  const expiresAtMs = Math.round(dueAtMs + epochMs);
  return { status: 'held', replay: isReplay, expiresAtMs, available };
}

/** Why a line can't be held, for the first such line; stores the limits that lines carry. */
function refusalOf(partition: Partition, input: ReserveInput): ReserveResult | undefined {
  let refusal: ReserveResult | undefined;
  for (let index = 0; index < input.lines.length; index += 1) {
    const line = input.lines[index];
    if (line === undefined) continue;
    const subject = partition.subjects.get(line.subject);
    const row = subject === undefined ? undefined : findRowIn(subject, line.period);
    if (row !== undefined) carryLimit(row, line.limit);
    refusal ??= lineRefusal(line, row, input.maxConcurrentCalls?.[index], runningOf(subject));
  }
  return refusal;
}

/**
 * The limit is stored whether the hold is granted or not: a lowered limit must also bound the
 * growth of running holds while every new one is refused.
 */
function carryLimit(row: Row, limit: Nanos | undefined): void {
  row.isCarried = limit !== undefined;
  if (limit === undefined || limit === row.limit) return;
  row.limit = limit;
  row.version += 1;
}

/** Why a line can't be held on its row, of whose subject this many calls are running. */
export function lineRefusal(
  { subject, amount, limit: carried }: QuotaLine,
  row: Omit<Balance, 'isCarried'> | undefined,
  cap: number | undefined,
  running: number,
): ReserveResult | undefined {
  const limit = row === undefined ? carried : row.limit;
  if (row?.enabled === false) return { status: 'disabled_subject', subject };
  if (limit === undefined) return { status: 'unknown_subject', subject };
  const available = row === undefined ? limit : availableOf(row);
  // A hold of nothing is granted even in debt.
  if (amount > 0n && available < amount) return { status: 'insufficient', subject, available };
  if (cap !== undefined && running >= cap) return { status: 'too_many_in_flight', subject };
  return undefined;
}

function runningOf(subject: Subject | undefined): number {
  return subject === undefined ? 0 : subject.leases.length - subject.idle;
}

function heldLine(
  partition: Partition,
  input: ReserveInput,
  { subject: name, period, amount, limit }: QuotaLine,
  index: number,
): HeldLine {
  const subject = subjectOf(partition, name);
  const row = rowIn(subject, period);
  // Only for a row created here: an existing one took the limit in `carryLimit`.
  if (row.limit === undefined) {
    row.limit = limit;
    row.isCarried = limit !== undefined;
  }
  const onExpire = expiryCharge(input, index);
  return { subject, row, reserved: amount, amount, onExpire, entry: undefined };
}

export function expiryCharge({ onExpire }: ReserveInput, index: number): Nanos {
  return onExpire === 'release' ? 0n : (onExpire.charge[index] ?? 0n);
}

/**
 * @throws RangeError before anything changes, where `add` does not have one amount for each line of
 *   a hold
 */
export function checkGrowth(ledger: Ledger, inputs: readonly ExtendInput[]): void {
  for (const { id, partition, add } of inputs) {
    const known = ledger.partitions.get(partition)?.held.find({ id, hash: hashOf(id) });
    if (known !== undefined && add !== undefined && add.length !== known.lines.length) {
      throw new RangeError('Quota input refused: add must have an amount for each line.');
    }
  }
}

/** Renews one lease, never to an earlier end, and grows its hold if requested and if it fits. */
export function extend(
  ledger: Ledger,
  input: ExtendInput,
  { nowMs, epochMs }: Moment,
): ExtendResult {
  const name = holdName(ledger, input);
  const reservation = findHeld(ledger, name, nowMs);
  if (reservation === undefined) {
    const ended = ledger.ended.find(name);
    return { status: 'gone', as: ended?.as ?? 'unknown' };
  }
  // A delayed renewal with a short lease must not shorten a long one.
  renew(reservation, Math.max(reservation.dueAtMs, nowMs + input.ttlMs));
  if (input.idle === true) makeIdle(reservation);
  for (const { subject } of reservation.lines) {
    expireDue(ledger, subject.leases, maxLazyExpirations, nowMs);
  }
  const refusal = grow(reservation, input.add ?? []);
  const expiresAtMs = Math.round(reservation.dueAtMs + epochMs);
  return refusal ?? { status: 'held', expiresAtMs };
}

function grow(reservation: Reservation, add: readonly Nanos[]): ExtendResult | undefined {
  for (const [index, { row, subject }] of reservation.lines.entries()) {
    const amount = add[index] ?? 0n;
    const available = availableOf(row);
    if (amount > 0n && available < amount) {
      return { status: 'insufficient', subject: subject.name, available };
    }
  }
  for (const [index, line] of reservation.lines.entries()) {
    const amount = add[index] ?? 0n;
    if (amount === 0n) continue;
    line.amount += amount;
    line.row.held += amount;
    line.row.version += 1;
  }
  return undefined;
}

/** Ends a hold with a charge, in any state but released or settled. */
export function settle(ledger: Ledger, input: SettleInput, nowMs: number): SettleResult {
  const { lines } = input;
  const name = holdName(ledger, input);
  const { partition } = name;
  const end = { as: 'settled', charged: lines, expiry: [] } as const;
  expireDueOf(ledger, partition, lines, nowMs);
  const known = findHeld(ledger, name, nowMs);
  if (known !== undefined) {
    // The ending first: if its allocation fails, nothing was charged and a repeat can do it.
    ledger.ended.add(name, end, nowMs);
    const rows = charge(partition, lines, known.lines);
    giveBack(known);
    return { status: 'settled', balances: rows.map(balanceOf) };
  }
  const ended = ledger.ended.find(name);
  if (ended?.as === 'settled') return { status: 'already', charged: ended.charged };
  if (ended?.as === 'released') return { status: 'conflict', as: 'released' };
  ledger.ended.add(name, end, nowMs);
  const rows = charge(partition, lines, []);
  // The final charge includes what the expiry charged.
  for (const { row, onExpire } of ended?.expiry ?? []) row.used -= onExpire;
  const from = ended === undefined ? 'unknown' : 'expired';
  return { status: 'settled_late', from, balances: rows.map(balanceOf) };
}

export function balanceOf({
  limit = 0n,
  extra,
  used,
}: Pick<Balance, 'limit' | 'extra' | 'used'>): QuotaBalance {
  return { used, limit: limitWithExtra(limit, extra) };
}

/** Charges each line, on the rows of the hold where it has them, and returns the rows. */
function charge(
  partition: Partition,
  lines: readonly QuotaLine[],
  heldLines: readonly HeldLine[],
): readonly Row[] {
  const rows: Row[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index];
    if (line === undefined) continue;
    const heldBefore = heldLines[index];
    const row = isOf(line, heldBefore)
      ? heldBefore.row
      : rowOf(partition, line.subject, line.period);
    row.used += line.amount;
    row.version += 1;
    rows.push(row);
  }
  return rows;
}

/** Ends a hold without a charge, or blocks a reserve that has not arrived yet. */
export function release(ledger: Ledger, input: ReleaseInput, nowMs: number): ReleaseResult {
  const name = holdName(ledger, input);
  expireDueOf(ledger, name.partition, input.lines, nowMs);
  const known = findHeld(ledger, name, nowMs);
  if (known === undefined) {
    const ended = ledger.ended.find(name);
    if (ended !== undefined) return { status: 'already', as: ended.as };
  }
  const end = { as: 'released', charged: [], expiry: [] } as const;
  ledger.ended.add(name, end, nowMs);
  if (known !== undefined) giveBack(known);
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

export function adjust(partition: Partition, input: AdjustInput): void {
  const changed = adjusted(findRow(partition, input.subject, input.period), input);
  const row = rowOf(partition, input.subject, input.period);
  Object.assign(row, changed);
  row.version += 1;
}

/** What an adjustment makes of a row, or of none. */
export function adjusted(
  row: Pick<Balance, 'limit' | 'extra' | 'isCarried' | 'enabled'> | undefined,
  { limit, addLimit, enabled }: AdjustInput,
): Pick<Balance, 'limit' | 'extra' | 'enabled'> {
  if (limit !== undefined && row?.isCarried === true) refuse(limitStatedByRecords);
  const extra = (row?.extra ?? 0n) + (addLimit ?? 0n);
  checkExtra(extra);
  // An addition to a row without a limit counts from a limit of zero.
  const none = addLimit === undefined ? undefined : 0n;
  return { limit: limit ?? row?.limit ?? none, extra, enabled: enabled ?? row?.enabled ?? true };
}

export function stateOf({ limit, extra, used, held, inFlight, enabled, version }: Row): QuotaState {
  return { limit: limit ?? 0n, extra, used, held, inFlight, enabled, version };
}
