/**
 * Checks every quota store's inputs before anything is changed or sent. All stores share the
 * checks, so that no two of them accept different inputs. An illegal input is a bug of the calling
 * code and throws a `RangeError`.
 */

import type { Nanos } from '../../money.ts';
import { maxNanos } from '../../money.ts';
import type { PeriodOfLimit } from '../keys/key-store.ts';
import type {
  AdjustInput,
  ExtendInput,
  QuotaLine,
  ReleaseInput,
  ReserveInput,
  SettleInput,
} from './quota-store.ts';

/** The partition of keys that name none. */
export const defaultPartition = 'default';

/** The most due leases of a subject that one operation on it expires first. */
export const maxLazyExpirations = 64;

/**
 * The most lines of one hold: one for each subject that is charged, and one that only counts the
 * key's calls.
 */
export const maxLines = 8;

const printable = /^[!-~]{1,128}$/;
const nameSyntax = /^[A-Za-z0-9._-]{1,64}$/;
const periodSyntax = /^\d{4}-(?:W\d{2}|\d{2}(?:[-.]\d{2})?)$/;
const idSyntax = /^[A-Za-z0-9_-]{16,64}$/;
const minTtlMs = 1_000;
const maxTtlMs = 900_000;

/** What {@link isPrintableId} asks for, to be read after "must be". */
export const printableId: string = '1 to 128 printable ASCII characters without spaces';

/**
 * True if a text may be the id of a key or a subject: the ids that identity providers give, such as
 * `auth0|5f7c`. Stores escape what their own syntax needs.
 */
export function isPrintableId(text: unknown): text is string {
  return typeof text === 'string' && printable.test(text);
}

/**
 * True if a text may name a partition: `/^[A-Za-z0-9._-]{1,64}$/`, which holds neither separators
 * nor glob characters.
 */
export function isName(text: string): boolean {
  return typeof text === 'string' && nameSyntax.test(text);
}

/** What {@link isPeriod} asks for, to be read after "must be". */
export const periodForm: string = "'', 'YYYY-MM', 'YYYY-MM-DD', 'YYYY-Www' or 'YYYY-MM.DD'";

/** True if a text may name a period, as {@link periodName} names them. */
export function isPeriod(text: string): boolean {
  return text === '' || (typeof text === 'string' && periodSyntax.test(text));
}

const dayMs = 86_400_000;

/**
 * The name of the current period in UTC: empty for `total`, `2026-11-20`, `2026-11`, the ISO week
 * `2026-W47`, or `2026-11.15` for the month that begins on its anchor day. Names of one kind sort
 * by time, and those of different kinds differ.
 */
export function periodName({ period, anchorDay = 1 }: PeriodOfLimit, nowMs: number): string {
  switch (period) {
    case 'total':
      return '';
    case 'day':
      return isoDay(nowMs);
    case 'week':
      return weekName(nowMs);
    case 'month': {
      const month = isoDay(monthStart(anchorDay, nowMs, 0)).slice(0, 7);
      return anchorDay === 1 ? month : `${month}.${String(anchorDay).padStart(2, '0')}`;
    }
  }
}

/** When the next period begins, in Unix ms; undefined for `total`. */
export function nextPeriodMs(
  { period, anchorDay = 1 }: PeriodOfLimit,
  nowMs: number,
): number | undefined {
  switch (period) {
    case 'total':
      return undefined;
    case 'day':
      return dayStart(nowMs) + dayMs;
    case 'week':
      return mondayOf(nowMs) + 7 * dayMs;
    case 'month':
      return monthStart(anchorDay, nowMs, 1);
  }
}

function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function dayStart(ms: number): number {
  return Math.floor(ms / dayMs) * dayMs;
}

/** 1970 began on a Thursday. */
function mondayOf(ms: number): number {
  const days = Math.floor(ms / dayMs);
  return (days - ((((days + 3) % 7) + 7) % 7)) * dayMs;
}

/** An ISO week belongs to the year that has its Thursday. */
function weekName(nowMs: number): string {
  const thursday = new Date(mondayOf(nowMs) + 3 * dayMs);
  const year = thursday.getUTCFullYear();
  const week = Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * dayMs)) + 1;
  return `${year}-W${String(week).padStart(2, '0')}`;
}

/** The start of the month that is running (0) or of a later one, by its anchor day. */
function monthStart(anchorDay: number, nowMs: number, later: number): number {
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const hasBegun = anchorIn(year, month, anchorDay) <= nowMs;
  return anchorIn(year, month + later - (hasBegun ? 0 : 1), anchorDay);
}

function anchorIn(year: number, month: number, anchorDay: number): number {
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(anchorDay, lastDay));
}

/** True if a value is an amount: a bigint from 0 to 2^53 − 1. */
export function isNanos(value: unknown): value is Nanos {
  return typeof value === 'bigint' && value >= 0n && value <= maxNanos;
}

/** @throws RangeError if `QuotaStore.reserve` must not accept the input */
export function checkReserve(input: ReserveInput): void {
  checkIdAndPartition(input);
  checkLines(input.lines);
  checkTtl(input.ttlMs);
  if (input.onExpire !== 'release') checkExpiryCharge(input.onExpire.charge, input.lines);
  if (input.maxConcurrentCalls !== undefined)
    checkMaxInFlight(input.maxConcurrentCalls, input.lines);
}

/** @throws RangeError if `QuotaStore.extend` must not accept one of the inputs */
export function checkExtend(inputs: readonly ExtendInput[]): void {
  for (const input of inputs) {
    checkIdAndPartition(input);
    checkTtl(input.ttlMs);
    for (const amount of input.add ?? []) if (!isNanos(amount)) refuseAmount('an added amount');
    if (input.idle !== undefined && typeof input.idle !== 'boolean') {
      refuse('idle must be true or false');
    }
  }
}

/** @throws RangeError if `QuotaStore.settle` or `QuotaStore.release` must not accept the input */
export function checkEnding(input: SettleInput | ReleaseInput): void {
  checkIdAndPartition(input);
  checkLines(input.lines);
}

/** @throws RangeError if `QuotaStore.adjust` must not accept the input */
export function checkAdjust(input: AdjustInput): void {
  checkIdAndPartition(input);
  checkRow(input.subject, input.period, input.partition);
  if (input.limit !== undefined && !isNanos(input.limit)) refuseAmount('a limit');
  const { addLimit } = input;
  if (addLimit === undefined) return;
  if (typeof addLimit !== 'bigint' || addLimit > maxNanos || addLimit < -maxNanos) {
    refuse('addLimit must be a bigint within ±(2^53 − 1)');
  }
}

/** @throws RangeError if one of the names is not legal */
export function checkRow(subject: string, period: string, partition: string): void {
  if (!isPrintableId(subject)) refuse(`a subject must be ${printableId}`);
  if (!isPeriod(period)) refuse(`a period must be ${periodForm}`);
  checkPartition(partition);
}

/** @throws RangeError if `QuotaStore.sweep` must not accept the options */
export function checkSweep(options: { readonly max: number; readonly partition?: string }): void {
  if (!Number.isSafeInteger(options.max) || options.max < 1) {
    refuse('max must be a positive integer');
  }
  if (options.partition !== undefined) checkPartition(options.partition);
}

function checkIdAndPartition(input: { readonly id: string; readonly partition: string }): void {
  const { id, partition } = input;
  if (typeof id !== 'string' || !idSyntax.test(id)) {
    refuse('an id must match /^[A-Za-z0-9_-]{16,64}$/');
  }
  if (partition !== defaultPartition) checkPartition(partition);
}

function checkPartition(partition: string): void {
  if (!isName(partition)) refuse('a partition must match /^[A-Za-z0-9._-]{1,64}$/');
}

function checkLines(lines: readonly QuotaLine[]): void {
  if (lines.length < 1 || lines.length > maxLines) refuse('there must be 1 to 8 lines');
  let previous: QuotaLine | undefined;
  for (const line of lines) {
    if (!isPrintableId(line.subject)) refuse(`a subject must be ${printableId}`);
    if (!isPeriod(line.period)) refuse(`a period must be ${periodForm}`);
    if (!isNanos(line.amount)) refuseAmount('an amount');
    if (line.limit !== undefined && !isNanos(line.limit)) refuseAmount('a limit');
    if (previous !== undefined && previous.subject >= line.subject) checkOrder(lines);
    previous = line;
  }
}

/** A subject may have several lines, next to each other, with different periods. */
function checkOrder(lines: readonly QuotaLine[]): void {
  const seen = new Set<string>();
  let subject = '';
  for (const line of lines) {
    if (line.subject < subject) refuse('lines must be sorted by subject');
    subject = line.subject;
    const row = `${line.subject}|${line.period}`;
    if (seen.has(row)) refuse('two lines must not name one subject and period');
    seen.add(row);
  }
}

function checkExpiryCharge(charge: readonly Nanos[], lines: readonly QuotaLine[]): void {
  if (charge.length !== lines.length) refuse('onExpire.charge must have an amount for each line');
  for (const [index, line] of lines.entries()) {
    const amount = charge[index];
    if (!isNanos(amount) || amount > line.amount) {
      refuse("an amount of onExpire.charge must be 0 to its line's amount");
    }
  }
}

function checkMaxInFlight(
  limits: readonly (number | undefined)[],
  lines: readonly QuotaLine[],
): void {
  if (limits.length !== lines.length) refuse('maxConcurrentCalls must have a member for each line');
  for (const limit of limits) {
    if (limit !== undefined && (!Number.isSafeInteger(limit) || limit < 1)) {
      refuse('a member of maxConcurrentCalls must be a positive integer or undefined');
    }
  }
}

function checkTtl(ttlMs: number): void {
  if (!Number.isSafeInteger(ttlMs) || ttlMs < minTtlMs || ttlMs > maxTtlMs) {
    refuse('ttlMs must be an integer from 1,000 to 900,000');
  }
}

function refuseAmount(what: string): never {
  refuse(`${what} must be a bigint from 0 to 2^53 − 1`);
}

/** The effective limit: the sum, clamped to the range of an amount. */
export function limitWithExtra(limit: Nanos, extra: bigint): Nanos {
  const sum = limit + extra;
  return sum < 0n ? 0n : sum > maxNanos ? maxNanos : sum;
}

/** @throws RangeError if `extra` is beyond what a store can keep */
export function checkExtra(extra: bigint): void {
  if (extra > maxNanos || extra < -maxNanos) refuse(extraTooLarge);
}

/** Error text for `adjust({ limit })` on a subject whose limit is stated by key records. */
export const limitStatedByRecords: string =
  'the limit of this subject is stated by the records of its keys and is changed there. ' +
  'Use addLimit to raise or lower it for one period';

/** Error text for an `addLimit` that would exceed the range of `extra`. */
export const extraTooLarge: string = 'what is added to a limit must stay within ±(2^53 − 1)';

/** @throws RangeError with this reason */
export function refuse(sentence: string): never {
  throw new RangeError(`Quota input refused: ${sentence}.`);
}
