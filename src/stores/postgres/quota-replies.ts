/** Checks the replies of the quota functions and converts them to the results of the port. */
import { items, type JsonValue, member, parseJson } from '../../json.ts';
import type { Nanos } from '../../money.ts';
import { StoreCorrupt } from '../../ports/call-options.ts';
import { isNanos } from '../../ports/limits/quota-input.ts';
import type {
  AdjustResult,
  ExtendResult,
  QuotaBalance,
  QuotaState,
  ReleaseResult,
  ReserveResult,
  SettleResult,
} from '../../ports/limits/quota-store.ts';
import { textOrNoneAt } from '../sql/columns.ts';

/**
 * The JSON in the column `result` of the only row; undefined for NULL.
 *
 * @throws StoreCorrupt
 */
export function resultOf(rows: readonly unknown[]): JsonValue | undefined {
  const [row, ...others] = rows;
  if (row === undefined || others.length > 0) corrupt('rows');
  const text = textOrNoneAt(row, 'result');
  return text === undefined ? undefined : (parseJson(text) ?? corrupt('result'));
}

/** Like all readers below, throws StoreCorrupt where the reply is not valid. */
export function reserveResult(reply: JsonValue | undefined, lines: number): ReserveResult {
  const status = member(reply, 'status');
  switch (status) {
    case 'held': {
      const available = items(member(reply, 'available')).map(wholeFrom);
      if (available.length !== lines) corrupt('available');
      const replay = flagOf(reply, 'replay');
      // For a repeated hold the rest may be below zero, since the limit may have been lowered.
      return { status, replay, expiresAtMs: countOf(reply, 'expiresAtMs'), available };
    }
    case 'insufficient':
      return insufficient(reply);
    case 'too_many_in_flight':
    case 'unknown_subject':
    case 'disabled_subject':
      return { status, subject: textOf(reply, 'subject') };
    case 'resolved':
      return { status, as: literalOf(reply, 'as', ['settled', 'released', 'expired']) };
    case 'id_conflict':
      return { status };
    default:
      return corrupt('status');
  }
}

export function extendResults(
  reply: JsonValue | undefined,
  count: number,
): readonly ExtendResult[] {
  const replies = items(reply);
  if (replies.length !== count) corrupt('answers');
  return replies.map(extendResult);
}

export function extendResult(reply: JsonValue): ExtendResult {
  const status = member(reply, 'status');
  if (status === 'held') return { status, expiresAtMs: countOf(reply, 'expiresAtMs') };
  if (status === 'insufficient') return insufficient(reply);
  if (status !== 'gone') corrupt('status');
  return { status, as: literalOf(reply, 'as', ['settled', 'released', 'expired', 'unknown']) };
}

export function settleResult(reply: JsonValue | undefined, lines: number): SettleResult {
  const status = member(reply, 'status');
  switch (status) {
    case 'settled':
      return { status, ...balancesOf(reply, lines) };
    case 'settled_late': {
      const from = literalOf(reply, 'from', ['expired', 'unknown']);
      return { status, from, ...balancesOf(reply, lines) };
    }
    case 'already':
      return { status, charged: items(member(reply, 'charged')).map(nanosFrom) };
    case 'conflict':
      return { status, as: literalOf(reply, 'as', ['released']) };
    default:
      return corrupt('status');
  }
}

export function releaseResult(reply: JsonValue | undefined): ReleaseResult {
  const status = member(reply, 'status');
  if (status === 'released') return { status };
  if (status !== 'already') corrupt('status');
  return { status, as: literalOf(reply, 'as', ['settled', 'released', 'expired']) };
}

export function sweepResult(reply: JsonValue | undefined): {
  readonly expired: number;
  readonly more: boolean;
} {
  return { expired: countOf(reply, 'expired'), more: flagOf(reply, 'more') };
}

/** The state of a row. Debts and sums may exceed the range of one amount. */
export function quotaState(reply: JsonValue | undefined): QuotaState {
  return {
    limit: nanosFrom(member(reply, 'limit')),
    extra: wholeFrom(member(reply, 'extra')),
    used: sumFrom(member(reply, 'used')),
    held: sumFrom(member(reply, 'held')),
    inFlight: countOf(reply, 'inFlight'),
    enabled: flagOf(reply, 'enabled'),
    version: countOf(reply, 'version'),
  };
}

export function adjustResult(reply: JsonValue | undefined): AdjustResult {
  return { ...quotaState(reply), replay: flagOf(reply, 'replay') };
}

/** Before migration 16 there are none. A charge that was taken must not look as if it failed. */
function balancesOf(
  reply: JsonValue | undefined,
  lines: number,
): { readonly balances?: readonly QuotaBalance[] } {
  const list = member(reply, 'balances');
  if (list === undefined) return {};
  const balances = items(list);
  if (balances.length !== lines) corrupt('balances');
  return {
    balances: balances.map((balance) => {
      const [limit, used] = items(balance);
      return { limit: nanosFrom(limit), used: wholeFrom(used) };
    }),
  };
}

function insufficient(reply: JsonValue | undefined): ReserveResult & ExtendResult {
  const available = wholeFrom(member(reply, 'available'));
  return { status: 'insufficient', subject: textOf(reply, 'subject'), available };
}

function nanosFrom(value: JsonValue | undefined): Nanos {
  const nanos = wholeFrom(value);
  return isNanos(nanos) ? nanos : corrupt('an amount');
}

function sumFrom(value: JsonValue | undefined): bigint {
  const sum = wholeFrom(value);
  return sum >= 0n ? sum : corrupt('a sum');
}

function wholeFrom(value: JsonValue | undefined): bigint {
  const isWhole = typeof value === 'string' && /^-?\d{1,19}$/.test(value);
  return isWhole ? BigInt(value) : corrupt('an amount');
}

function countOf(reply: JsonValue | undefined, name: string): number {
  const value = member(reply, name);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? value
    : corrupt(name);
}

function flagOf(reply: JsonValue | undefined, name: string): boolean {
  const value = member(reply, name);
  return typeof value === 'boolean' ? value : corrupt(name);
}

function textOf(reply: JsonValue | undefined, name: string): string {
  const value = member(reply, name);
  return typeof value === 'string' ? value : corrupt(name);
}

function literalOf<T extends string>(
  reply: JsonValue | undefined,
  name: string,
  literals: readonly T[],
): T {
  const value = member(reply, name);
  return literals.find((literal) => literal === value) ?? corrupt(name);
}

/** Names the member and never its value, which may be anything. */
function corrupt(name: string): never {
  throw new StoreCorrupt(['PostgreSQL returned an invalid ', name].join(''));
}
