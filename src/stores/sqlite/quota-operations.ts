/**
 * The operations of the SQLite quota store on its ledger, each inside one transaction. Their input
 * has been checked.
 */
import type { Nanos } from '../../money.ts';
import type {
  AdjustInput,
  AdjustResult,
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
} from '../../ports/limits/quota-store.ts';
import { adjusted, balanceOf, expiryCharge, lineRefusal } from '../memory/quota-operations.ts';
import {
  availableOf,
  carryLimit,
  changeAmounts,
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
  type PartitionLedger,
  recordEnding,
  renew,
} from './quota-ledger.ts';

export function reserve(ledger: PartitionLedger, input: ReserveInput): ReserveResult {
  expireDueOf(ledger, input.lines);
  const known = findHold(ledger, input.id);
  if (known !== undefined) return replay(ledger, known, input);
  const refusal = refusalOf(ledger, input);
  if (refusal !== undefined) return refusal;

  for (const line of input.lines) {
    makeRow(ledger, line.subject, line.period);
    const row = findRow(ledger, line.subject, line.period);
    if (row !== undefined) carryLimit(ledger, line, row);
  }
  const dueAtMs = ledger.nowMs + input.ttlMs;
  hold(ledger, input.id, heldLines(input), dueAtMs);
  return held(ledger, dueAtMs, input.lines, false);
}

function replay(ledger: PartitionLedger, known: Hold, { lines }: ReserveInput): ReserveResult {
  if (known.state !== 'held') return { status: 'resolved', as: known.state };
  const same =
    known.lines.length === lines.length &&
    lines.every(({ subject, period, amount }, index) => {
      const line = known.lines[index];
      return line?.subject === subject && line.period === period && line.asked === amount;
    });
  return same ? held(ledger, known.dueAtMs, lines, true) : { status: 'id_conflict' };
}

function held(
  ledger: PartitionLedger,
  expiresAtMs: number,
  lines: readonly QuotaLine[],
  isReplay: boolean,
): ReserveResult {
  const available = lines.map(({ subject, period }) =>
    availableOf(findRow(ledger, subject, period)),
  );
  return { status: 'held', replay: isReplay, expiresAtMs, available };
}

/** Why a line can't be held, for the first such line; stores the limits that lines carry. */
function refusalOf(ledger: PartitionLedger, input: ReserveInput): ReserveResult | undefined {
  let refusal: ReserveResult | undefined;
  for (const [index, line] of input.lines.entries()) {
    const found = findRow(ledger, line.subject, line.period);
    // Even if the hold is refused: a lowered limit must also bound the growth of running holds.
    const row = found === undefined ? undefined : carryLimit(ledger, line, found);
    const cap = input.maxConcurrentCalls?.[index];
    const running = cap === undefined ? 0 : inFlightOf(ledger, line.subject, cap);
    refusal ??= lineRefusal(line, row, cap, running);
  }
  return refusal;
}

function heldLines(input: ReserveInput): readonly HeldLine[] {
  return input.lines.map(({ subject, period, amount }, index) => ({
    subject,
    period,
    asked: amount,
    amount,
    onExpire: expiryCharge(input, index),
  }));
}

/**
 * Renews one lease, never to an earlier end, and grows its hold if requested and if it fits.
 *
 * @throws RangeError where `add` does not have one amount for each line
 */
export function extend(
  ledger: PartitionLedger,
  { id, ttlMs, add, idle }: ExtendInput,
): ExtendResult {
  const known = findHold(ledger, id);
  if (known === undefined) return { status: 'gone', as: 'unknown' };
  if (known.state !== 'held') return { status: 'gone', as: known.state };
  if (add !== undefined && add.length !== known.lines.length) {
    throw new RangeError('Quota input refused: add must have an amount for each line.');
  }
  expireDueOf(ledger, known.lines);
  const extended = add === undefined ? known.lines : grow(ledger, known.lines, add);
  // A delayed renewal with a short lease must not shorten a long one.
  const dueAtMs = Math.max(known.dueAtMs, ledger.nowMs + ttlMs);
  const renewed = { ...known, dueAtMs, isIdle: known.isIdle || idle === true };
  if ('status' in extended) {
    renew(ledger, known, renewed);
    return extended;
  }
  renew(ledger, known, { ...renewed, lines: extended });
  return { status: 'held', expiresAtMs: dueAtMs };
}

function grow(
  ledger: PartitionLedger,
  lines: readonly HeldLine[],
  add: readonly Nanos[],
): readonly HeldLine[] | Extract<ExtendResult, { status: 'insufficient' }> {
  for (const [index, { subject, period }] of lines.entries()) {
    const amount = add[index] ?? 0n;
    const available = availableOf(findRow(ledger, subject, period));
    if (amount > 0n && available < amount) return { status: 'insufficient', subject, available };
  }
  return lines.map((line, index) => {
    const amount = add[index] ?? 0n;
    if (amount > 0n) changeAmounts(ledger, line, { held: amount });
    return { ...line, amount: line.amount + amount };
  });
}

/** Ends a hold with a charge, in any state but released or settled. */
export function settle(ledger: PartitionLedger, { id, lines }: SettleInput): SettleResult {
  expireDueOf(ledger, lines);
  const known = findHold(ledger, id);
  if (known?.state === 'settled') return { status: 'already', charged: known.charged };
  if (known?.state === 'released') return { status: 'conflict', as: 'released' };

  for (const line of lines) {
    makeRow(ledger, line.subject, line.period);
    changeAmounts(ledger, line, { used: line.amount });
  }
  if (known?.state === 'held') giveBack(ledger, known);
  // The final charge includes what the expiry charged.
  if (known?.state === 'expired') {
    for (const line of known.lines) changeAmounts(ledger, line, { used: -line.onExpire });
  }
  const charged = lines.map(({ amount }) => amount);
  recordEnding(ledger, id, known, 'settled', charged);
  const balances = lines.map(({ subject, period }) => {
    const row = findRow(ledger, subject, period);
    return row === undefined ? { used: 0n, limit: 0n } : balanceOf(row);
  });
  if (known?.state === 'held') return { status: 'settled', balances };
  return { status: 'settled_late', from: known === undefined ? 'unknown' : 'expired', balances };
}

/** Ends a hold without a charge, or blocks a reserve that has not arrived yet. */
export function release(ledger: PartitionLedger, { id, lines }: ReleaseInput): ReleaseResult {
  expireDueOf(ledger, lines);
  const known = findHold(ledger, id);
  if (known !== undefined && known.state !== 'held') return { status: 'already', as: known.state };
  if (known !== undefined) giveBack(ledger, known);
  recordEnding(ledger, id, known, 'released');
  return { status: 'released' };
}

export function read(
  ledger: PartitionLedger,
  subject: string,
  period: string,
): QuotaState | undefined {
  expireDueOf(ledger, [{ subject }]);
  const row = findRow(ledger, subject, period);
  if (row === undefined) return undefined;
  const { isCarried: _, ...state } = row;
  return { ...state, limit: row.limit ?? 0n };
}

export function adjust(ledger: PartitionLedger, input: AdjustInput, replay: boolean): AdjustResult {
  const { subject, period } = input;
  makeRow(ledger, subject, period);
  const known = findRow(ledger, subject, period);
  if (!replay && known !== undefined) changeRow(ledger, input, adjusted(known, input));
  const state = read(ledger, subject, period);
  if (state === undefined) throw new Error('a row that was created is missing');
  return { ...state, replay };
}
