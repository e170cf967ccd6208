/**
 * The quota protocol in its shortest form: pure functions, sequential, one partition, no storage. A
 * store is correct if it returns what this model returns.
 */
import type { Nanos } from '../../src/money.ts';
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
} from '../../src/ports/limits/quota-store.ts';
import type { Operation, RowName } from './operations.ts';

interface Row {
  readonly limit: Nanos | undefined;
  readonly isCarried: boolean;
  readonly extra: bigint;
  readonly used: Nanos;
  readonly held: Nanos;
  readonly inFlight: number;
  readonly enabled: boolean;
}

interface Hold {
  readonly state: 'held' | 'settled' | 'released' | 'expired';
  readonly lines: readonly QuotaLine[];
  /** The amount held by each line; more than was reserved if the hold was extended. */
  readonly amounts: readonly Nanos[];
  readonly onExpire: readonly Nanos[];
  readonly charged: readonly Nanos[];
  readonly dueAtMs: number;
  readonly isIdle: boolean;
}

/** The state of a store. */
export interface Books {
  readonly rows: Map<string, Row>;
  readonly holds: Map<string, Hold>;
  readonly adjusted: Set<string>;
}

/** The empty state. */
export function emptyBooks(): Books {
  return { rows: new Map(), holds: new Map(), adjusted: new Set() };
}

/** Returns the result of an operation and the state after it, without changing the state before. */
export function apply(
  before: Books,
  operation: Operation,
  nowMs: number,
): { readonly books: Books; readonly answer: unknown } {
  const books = {
    rows: new Map(before.rows),
    holds: new Map(before.holds),
    adjusted: new Set(before.adjusted),
  };
  expireDue(books, nowMs);
  return { books, answer: answerTo(books, operation, nowMs) };
}

/**
 * Serialises a state: equal states have equal text. Rows and holds are immutable, so the text of
 * each is computed once.
 */
export function scribe(): (books: Books) => string {
  const words = new WeakMap<Row | Hold, string>();
  const written = ([name, entry]: readonly [string, Row | Hold]): string => {
    const known = words.get(entry) ?? wordsOf(name, entry);
    words.set(entry, known);
    return known;
  };
  return ({ rows, holds, adjusted }) =>
    [...[...rows].map(written), ...[...holds].map(written), ...adjusted].sort().join();
}

function wordsOf(name: string, entry: Row | Hold): string {
  return JSON.stringify([name, entry], (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}` : value,
  );
}

function answerTo(books: Books, operation: Operation, nowMs: number): unknown {
  switch (operation.op) {
    case 'reserve':
      return reserve(books, operation.input, nowMs);
    case 'extend':
      return operation.input.map((input) => extend(books, input, nowMs));
    case 'settle':
      return settle(books, operation.input);
    case 'release':
      return release(books, operation.input);
    case 'adjust':
      return adjust(books, operation.input);
    case 'read':
      return read(books, operation.input);
    case 'sweep':
      // Due holds have expired already, before any operation.
      return { more: false };
  }
}

function reserve(books: Books, input: ReserveInput, nowMs: number): ReserveResult {
  const known = books.holds.get(input.id);
  if (known !== undefined && known.state !== 'held') {
    return { status: 'resolved', as: known.state };
  }
  if (known !== undefined) {
    return namesOf(known.lines) === namesOf(input.lines)
      ? held(books, known, true)
      : { status: 'id_conflict' };
  }
  for (const { limit, ...line } of input.lines) {
    if (!books.rows.has(rowName(line))) continue;
    change(books, line, (row) => ({ limit: limit ?? row.limit, isCarried: limit !== undefined }));
  }
  for (const [index, { subject, period, amount, limit: carried }] of input.lines.entries()) {
    const row = books.rows.get(rowName({ subject, period }));
    const limit = carried ?? row?.limit;
    if (row?.enabled === false) return { status: 'disabled_subject', subject };
    if (limit === undefined) return { status: 'unknown_subject', subject };
    const available = availableOf(books, { subject, period }, limit);
    if (amount > 0n && available < amount) return { status: 'insufficient', subject, available };
    const cap = input.maxConcurrentCalls?.[index] ?? Number.POSITIVE_INFINITY;
    if (runningOf(books, subject) >= cap) return { status: 'too_many_in_flight', subject };
  }
  for (const { limit, ...line } of input.lines) {
    change(books, line, (row) => ({
      limit: limit ?? row.limit,
      isCarried: limit !== undefined,
      inFlight: row.inFlight + 1,
    }));
  }
  const amounts = input.lines.map((line) => line.amount);
  move(books, 'held', input.lines, amounts, 1n);
  const onExpire = input.onExpire === 'release' ? [] : input.onExpire.charge;
  const dueAtMs = nowMs + input.ttlMs;
  const { lines } = input;
  const state = { state: 'held', isIdle: false } as const;
  const hold: Hold = { ...state, lines, amounts, onExpire, charged: [], dueAtMs };
  books.holds.set(input.id, hold);
  return held(books, hold, false);
}

function extend(
  books: Books,
  { id, ttlMs, add, idle = false }: ExtendInput,
  nowMs: number,
): ExtendResult {
  const hold = books.holds.get(id);
  if (hold?.state !== 'held') return { status: 'gone', as: hold?.state ?? 'unknown' };
  const isIdle = hold.isIdle || idle;
  const renewed = { ...hold, isIdle, dueAtMs: Math.max(hold.dueAtMs, nowMs + ttlMs) };
  books.holds.set(id, renewed);
  if (isIdle && !hold.isIdle) leavePlaces(books, hold);
  for (const [index, line] of hold.lines.entries()) {
    const [amount, available] = [add?.[index] ?? 0n, availableOf(books, line)];
    if (amount > 0n && available < amount) {
      return { status: 'insufficient', subject: line.subject, available };
    }
  }
  move(books, 'held', hold.lines, add ?? [], 1n);
  const amounts = hold.amounts.map((amount, index) => amount + (add?.[index] ?? 0n));
  books.holds.set(id, { ...renewed, amounts });
  return { status: 'held', expiresAtMs: renewed.dueAtMs };
}

function settle(books: Books, { id, lines }: SettleInput): SettleResult {
  const known = books.holds.get(id);
  if (known?.state === 'settled') return { status: 'already', charged: known.charged };
  if (known?.state === 'released') return { status: 'conflict', as: 'released' };
  if (known?.state === 'held') end(books, id, known, 'settled');
  // The final charge includes what the expiry charged.
  if (known?.state === 'expired') move(books, 'used', known.lines, known.onExpire, -1n);
  const charged = lines.map((line) => line.amount);
  move(books, 'used', lines, charged, 1n);
  books.holds.set(id, { ...(known ?? unknownHold), state: 'settled', charged });
  const balances = lines.map((line) => {
    const { limit = 0n, extra, used } = books.rows.get(rowName(line)) ?? unwritten;
    return { used, limit: limit + extra < 0n ? 0n : limit + extra };
  });
  if (known?.state === 'held') return { status: 'settled', balances };
  return { status: 'settled_late', from: known === undefined ? 'unknown' : 'expired', balances };
}

function release(books: Books, { id }: ReleaseInput): ReleaseResult {
  const known = books.holds.get(id);
  if (known !== undefined && known.state !== 'held') return { status: 'already', as: known.state };
  if (known === undefined) books.holds.set(id, { ...unknownHold });
  else end(books, id, known, 'released');
  return { status: 'released' };
}

function adjust(books: Books, input: AdjustInput): AdjustResult | 'refused' | undefined {
  const replay = books.adjusted.has(input.id);
  if (!replay) {
    const { limit, addLimit } = input;
    // Refused: nothing changes, and the same id may be used again.
    if (limit !== undefined && books.rows.get(rowName(input))?.isCarried) return 'refused';
    books.adjusted.add(input.id);
    change(books, input, (row) => ({
      limit: limit ?? row.limit ?? (addLimit === undefined ? undefined : 0n),
      extra: row.extra + (addLimit ?? 0n),
      enabled: input.enabled ?? row.enabled,
    }));
  }
  const state = read(books, input);
  return state && { ...state, replay };
}

function read(
  books: Books,
  { subject, period }: Omit<RowName, 'partition'>,
): QuotaState | undefined {
  const row = books.rows.get(rowName({ subject, period }));
  if (row === undefined) return undefined;
  const { isCarried: _, ...state } = row;
  return { ...state, limit: row.limit ?? 0n, version: 0 };
}

function expireDue(books: Books, nowMs: number): void {
  for (const [id, hold] of books.holds) {
    if (hold.state !== 'held' || hold.dueAtMs > nowMs) continue;
    end(books, id, hold, 'expired');
    move(books, 'used', hold.lines, hold.onExpire, 1n);
  }
}

/** A reservation that ends before its reserve has arrived. */
const unknownHold: Hold = {
  ...{ state: 'released', lines: [], amounts: [], onExpire: [], charged: [], dueAtMs: 0 },
  isIdle: false,
};

function end(books: Books, id: string, hold: Hold, state: Hold['state']): void {
  books.holds.set(id, { ...hold, state });
  move(books, 'held', hold.lines, hold.amounts, -1n);
  if (!hold.isIdle) leavePlaces(books, hold);
}

function leavePlaces(books: Books, { lines }: Hold): void {
  for (const line of lines) change(books, line, (row) => ({ inFlight: row.inFlight - 1 }));
}

function move(
  books: Books,
  part: 'held' | 'used',
  lines: readonly QuotaLine[],
  amounts: readonly Nanos[],
  sign: 1n | -1n,
): void {
  for (const [index, line] of lines.entries()) {
    change(books, line, (row) => ({ [part]: row[part] + sign * (amounts[index] ?? 0n) }));
  }
}

function change(
  books: Books,
  { subject, period }: Pick<QuotaLine, 'subject' | 'period'>,
  to: (row: Row) => Partial<Row>,
): void {
  const row = books.rows.get(rowName({ subject, period })) ?? unwritten;
  books.rows.set(rowName({ subject, period }), { ...row, ...to(row) });
}

function rowName({ subject, period }: Pick<QuotaLine, 'subject' | 'period'>): string {
  return `${subject}|${period}`;
}

const unwritten: Row = {
  ...{ limit: undefined, isCarried: false, extra: 0n },
  ...{ used: 0n, held: 0n, inFlight: 0, enabled: true },
};

function held(books: Books, { lines, dueAtMs }: Hold, replay: boolean): ReserveResult {
  const available = lines.map((line) => availableOf(books, line));
  return { status: 'held', replay, expiresAtMs: dueAtMs, available };
}

function availableOf(
  books: Books,
  line: Pick<QuotaLine, 'subject' | 'period'>,
  carried?: Nanos,
): bigint {
  const row = books.rows.get(rowName(line)) ?? unwritten;
  const limit = (carried ?? row.limit ?? 0n) + row.extra;
  return (limit < 0n ? 0n : limit) - row.used - row.held;
}

function runningOf({ holds }: Books, subject: string): number {
  const concerns = ({ state, isIdle, lines }: Hold): boolean =>
    state === 'held' && !isIdle && lines.some((line) => line.subject === subject);
  return [...holds.values()].filter(concerns).length;
}

function namesOf(lines: readonly QuotaLine[]): string {
  return lines.map(({ subject, period, amount }) => `${subject}|${period}|${amount}`).join();
}
