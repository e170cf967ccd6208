/** What the functions of quota answer, checked before it is believed. */
import { items, type JsonValue, member, parseJson } from '../../json.ts';
import type { Nanos } from '../../money.ts';
import { StoreCorrupt } from '../../ports/call-options.ts';
import { isNanos } from '../../ports/quota-input.ts';
import type {
  ExtendResult,
  QuotaState,
  ReleaseResult,
  ReserveResult,
  SettleResult,
} from '../../ports/quota-store.ts';
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

/** @throws StoreCorrupt, as all of these */
export function reserveResult(answer: JsonValue | undefined, lines: number): ReserveResult {
  const status = member(answer, 'status');
  switch (status) {
    case 'held': {
      const available = items(member(answer, 'available')).map(wholeFrom);
      if (available.length !== lines) corrupt('available');
      const replay = flagOf(answer, 'replay');
      // After a limit was cut, what is left of a hold that is repeated may be a debt.
      return { status, replay, expiresAtMs: countOf(answer, 'expiresAtMs'), available };
    }
    case 'insufficient':
      return insufficient(answer);
    case 'too_many_in_flight':
    case 'unknown_subject':
    case 'disabled_subject':
      return { status, subject: textOf(answer, 'subject') };
    case 'resolved':
      return { status, as: wordOf(answer, 'as', ['settled', 'released', 'expired']) };
    case 'id_conflict':
      return { status };
    default:
      return corrupt('status');
  }
}

/** By lease, in the order asked. */
export function extendResults(
  answer: JsonValue | undefined,
  count: number,
): readonly ExtendResult[] {
  const answers = items(answer);
  if (answers.length !== count) corrupt('answers');
  return answers.map(extendResult);
}

function extendResult(answer: JsonValue): ExtendResult {
  const status = member(answer, 'status');
  if (status === 'held') return { status, expiresAtMs: countOf(answer, 'expiresAtMs') };
  if (status === 'insufficient') return insufficient(answer);
  if (status !== 'gone') corrupt('status');
  return { status, as: wordOf(answer, 'as', ['settled', 'released', 'expired', 'unknown']) };
}

/** How a charge landed. */
export function settleResult(answer: JsonValue | undefined): SettleResult {
  const status = member(answer, 'status');
  switch (status) {
    case 'settled':
      return { status };
    case 'settled_late':
      return { status, from: wordOf(answer, 'from', ['expired', 'unknown']) };
    case 'already':
      return { status, charged: items(member(answer, 'charged')).map(nanosFrom) };
    case 'conflict':
      return { status, as: wordOf(answer, 'as', ['released']) };
    default:
      return corrupt('status');
  }
}

/** What became of a release. */
export function releaseResult(answer: JsonValue | undefined): ReleaseResult {
  const status = member(answer, 'status');
  if (status === 'released') return { status };
  if (status !== 'already') corrupt('status');
  return { status, as: wordOf(answer, 'as', ['settled', 'released', 'expired']) };
}

/** One part of a sweep. */
export function sweepResult(answer: JsonValue | undefined): {
  readonly expired: number;
  readonly more: boolean;
} {
  return { expired: countOf(answer, 'expired'), more: flagOf(answer, 'more') };
}

/** A row as a reader sees it. Debts and sums may pass what one amount can be. */
export function quotaState(answer: JsonValue | undefined): QuotaState {
  return {
    limit: nanosFrom(member(answer, 'limit')),
    extra: wholeFrom(member(answer, 'extra')),
    used: sumFrom(member(answer, 'used')),
    held: sumFrom(member(answer, 'held')),
    inFlight: countOf(answer, 'inFlight'),
    enabled: flagOf(answer, 'enabled'),
    version: countOf(answer, 'version'),
  };
}

function insufficient(answer: JsonValue | undefined): ReserveResult & ExtendResult {
  const available = wholeFrom(member(answer, 'available'));
  return { status: 'insufficient', subject: textOf(answer, 'subject'), available };
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

function countOf(answer: JsonValue | undefined, name: string): number {
  const value = member(answer, name);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? value
    : corrupt(name);
}

function flagOf(answer: JsonValue | undefined, name: string): boolean {
  const value = member(answer, name);
  return typeof value === 'boolean' ? value : corrupt(name);
}

function textOf(answer: JsonValue | undefined, name: string): string {
  const value = member(answer, name);
  return typeof value === 'string' ? value : corrupt(name);
}

function wordOf<T extends string>(
  answer: JsonValue | undefined,
  name: string,
  words: readonly T[],
): T {
  const value = member(answer, name);
  return words.find((word) => word === value) ?? corrupt(name);
}

/** It names the member, never the value: that may be anything. */
function corrupt(name: string): never {
  throw new StoreCorrupt(['PostgreSQL answered what it may not: ', name].join(''));
}
