/**
 * The operations of the SQLite quota store on its books, each inside one transaction. Their input
 * has been checked.
 */
import type { Nanos } from '../../money.ts';
import { checkExtra, limitStatedByRecords, refuse } from '../../ports/quota-input.ts';
import type {
  AdjustInput,
  ExtendInput,
  ExtendResult,
  QuotaLine,
  QuotaState,
  ReleaseInput,
  ReleaseResult,
  ReserveInput,
  ReserveResult,
  SettleInput,
  SettleResult,
} from '../../ports/quota-store.ts';
import {
  availableOf,
  type Books,
  bury,
  carryLimit,
  changeRow,
  expireDueOf,
  findHold,
  findRow,
  giveBack,
  type HeldLine,
  type Hold,
  hold,
  inFlightOf,
  makeRow,
  move,
  type Row,
  renew,
} from './quota-books.ts';

/** Holds every line or none. */
export function reserve(books: Books, input: ReserveInput): ReserveResult {
  expireDueOf(books, input.lines);
  const known = findHold(books, input.id);
  if (known !== undefined) return replay(books, known, input);
  const refusal = refusalOf(books, input);
  if (refusal !== undefined) return refusal;

  for (const line of input.lines) {
    makeRow(books, line.subject, line.period);
    const row = findRow(books, line.subject, line.period);
    if (row !== undefined) carryLimit(books, line, row);
  }
  const dueAtMs = books.nowMs + input.ttlMs;
  hold(books, input.id, heldLines(input), dueAtMs);
  return held(books, dueAtMs, input.lines, false);
}

function replay(books: Books, known: Hold, { lines }: ReserveInput): ReserveResult {
  if (known.state !== 'held') return { status: 'resolved', as: known.state };
  const same =
    known.lines.length === lines.length &&
    lines.every(({ subject, period, amount }, index) => {
      const line = known.lines[index];
      return line?.subject === subject && line.period === period && line.asked === amount;
    });
  return same ? held(books, known.dueAtMs, lines, true) : { status: 'id_conflict' };
}

function held(
  books: Books,
  expiresAtMs: number,
  lines: readonly QuotaLine[],
  isReplay: boolean,
): ReserveResult {
  const available = lines.map(({ subject, period }) =>
    availableOf(findRow(books, subject, period)),
  );
  return { status: 'held', replay: isReplay, expiresAtMs, available };
}

/** Why the lines can't all be held, by the first that can't; each keeps the limit it carries. */
function refusalOf(books: Books, input: ReserveInput): ReserveResult | undefined {
  let refusal: ReserveResult | undefined;
  for (const [index, line] of input.lines.entries()) {
    const found = findRow(books, line.subject, line.period);
    // Granted or not: a limit that was lowered must bound the growth of running holds too.
    const row = found === undefined ? undefined : carryLimit(books, line, found);
    refusal ??= lineRefusal(books, line, row, input.maxConcurrentCalls?.[index]);
  }
  return refusal;
}

function lineRefusal(
  books: Books,
  { subject, amount, limit: carried }: QuotaLine,
  row: Row | undefined,
  cap: number | undefined,
): ReserveResult | undefined {
  const limit = row === undefined ? carried : row.limit;
  if (row?.enabled === false) return { status: 'disabled_subject', subject };
  if (limit === undefined) return { status: 'unknown_subject', subject };
  const available = row === undefined ? limit : availableOf(row);
  // What costs nothing fits a debt too.
  if (amount > 0n && available < amount) return { status: 'insufficient', subject, available };
  if (cap !== undefined && inFlightOf(books, subject, cap) >= cap) {
    return { status: 'too_many_in_flight', subject };
  }
  return undefined;
}

function heldLines({ lines, onExpire }: ReserveInput): readonly HeldLine[] {
  return lines.map(({ subject, period, amount }, index) => ({
    subject,
    period,
    asked: amount,
    amount,
    onExpire: onExpire === 'release' ? 0n : (onExpire.charge[index] ?? 0n),
  }));
}

/**
 * Renews one lease, and grows its hold where asked and where it fits.
 *
 * @throws RangeError where it is to grow by other than one amount a line
 */
export function extend(books: Books, { id, ttlMs, add, idle }: ExtendInput): ExtendResult {
  const known = findHold(books, id);
  if (known === undefined) return { status: 'gone', as: 'unknown' };
  if (known.state !== 'held') return { status: 'gone', as: known.state };
  if (add !== undefined && add.length !== known.lines.length) {
    throw new RangeError('Quota input refused: add must have an amount for each line.');
  }
  expireDueOf(books, known.lines);
  const grown = add === undefined ? known.lines : grow(books, known.lines, add);
  // A short renewal that comes late must not cut a long one.
  const dueAtMs = Math.max(known.dueAtMs, books.nowMs + ttlMs);
  const renewed = { ...known, dueAtMs, isIdle: known.isIdle || idle === true };
  if ('status' in grown) {
    renew(books, known, renewed);
    return grown;
  }
  renew(books, known, { ...renewed, lines: grown });
  return { status: 'held', expiresAtMs: dueAtMs };
}

/** The lines as they are when grown, or why they can't be. */
function grow(
  books: Books,
  lines: readonly HeldLine[],
  add: readonly Nanos[],
): readonly HeldLine[] | Extract<ExtendResult, { status: 'insufficient' }> {
  for (const [index, { subject, period }] of lines.entries()) {
    const amount = add[index] ?? 0n;
    const available = availableOf(findRow(books, subject, period));
    if (amount > 0n && available < amount) return { status: 'insufficient', subject, available };
  }
  return lines.map((line, index) => {
    const amount = add[index] ?? 0n;
    if (amount > 0n) move(books, line, { held: amount });
    return { ...line, amount: line.amount + amount };
  });
}

/** Ends a hold with a charge, in whatever state it is but released or settled. */
export function settle(books: Books, { id, lines }: SettleInput): SettleResult {
  expireDueOf(books, lines);
  const known = findHold(books, id);
  if (known?.state === 'settled') return { status: 'already', charged: known.charged };
  if (known?.state === 'released') return { status: 'conflict', as: 'released' };

  for (const line of lines) {
    makeRow(books, line.subject, line.period);
    move(books, line, { used: line.amount });
  }
  if (known?.state === 'held') giveBack(books, known);
  // What the expiry charged is inside the final charge, not beside it.
  if (known?.state === 'expired') {
    for (const line of known.lines) move(books, line, { used: -line.onExpire });
  }
  const charged = lines.map(({ amount }) => amount);
  bury(books, id, known, 'settled', charged);
  if (known?.state === 'held') return { status: 'settled' };
  return { status: 'settled_late', from: known === undefined ? 'unknown' : 'expired' };
}

/** Ends a hold without a charge, or blocks one that is still to come. */
export function release(books: Books, { id, lines }: ReleaseInput): ReleaseResult {
  expireDueOf(books, lines);
  const known = findHold(books, id);
  if (known !== undefined && known.state !== 'held') return { status: 'already', as: known.state };
  if (known !== undefined) giveBack(books, known);
  bury(books, id, known, 'released');
  return { status: 'released' };
}

/** A row as a reader sees it, or undefined. */
export function read(books: Books, subject: string, period: string): QuotaState | undefined {
  expireDueOf(books, [{ subject }]);
  const row = findRow(books, subject, period);
  if (row === undefined) return undefined;
  const { isCarried: _, ...state } = row;
  return { ...state, limit: row.limit ?? 0n };
}

/** Changes what an operator may change of a row, unless this id has done so already. */
export function adjust(books: Books, input: AdjustInput, isRepeated: boolean): QuotaState {
  const { subject, period } = input;
  makeRow(books, subject, period);
  const known = findRow(books, subject, period);
  if (!isRepeated && known !== undefined) changeRow(books, input, changed(known, input));
  const state = read(books, subject, period);
  if (state === undefined) throw new Error('a row that was made is not there');
  return state;
}

function changed(row: Row, { limit, addLimit, enabled }: AdjustInput): Row {
  if (limit !== undefined && row.isCarried) refuse(limitStatedByRecords);
  const extra = row.extra + (addLimit ?? 0n);
  checkExtra(extra);
  // What is added to no limit is added to one of nothing.
  const none = addLimit === undefined ? undefined : 0n;
  return { ...row, limit: limit ?? row.limit ?? none, extra, enabled: enabled ?? row.enabled };
}
