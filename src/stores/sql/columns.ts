/**
 * Checked readers for the columns of a row. Drivers return values in different forms: int8 as
 * number, bigint or text; flags as 0 and 1; JSON as text or parsed.
 */
import { type JsonValue, parseJson } from '../../json.ts';
import type { Nanos } from '../../money.ts';
import { StoreCorrupt } from '../../ports/call-options.ts';
import { isNanos } from '../../ports/limits/quota-input.ts';

/** A value that can be bound to a column. `null` is SQL's NULL. */
export type SqlValue = string | bigint | number | boolean | null;

/** The driver's value of a column; undefined where there is none or it is NULL. */
export function valueAt(row: unknown, column: string): unknown {
  if (typeof row !== 'object' || row === null) throw new StoreCorrupt('a row is not an object');
  const value: unknown = Reflect.get(row, column);
  return value === null ? undefined : value;
}

/** @throws StoreCorrupt where the value is not text */
export function textAt(row: unknown, column: string): string {
  return textOrNoneAt(row, column) ?? corrupt(column);
}

export function textOrNoneAt(row: unknown, column: string): string | undefined {
  const value = valueAt(row, column);
  return value === undefined || typeof value === 'string' ? value : corrupt(column);
}

/** The names of a row of a report, as `selectedNames` selects them. */
export function namesFrom(row: unknown, groupings: number): readonly string[] {
  return ['name_1', 'name_2'].slice(0, groupings).map((name) => textAt(row, name));
}

/** An exact whole number of either sign, in any form in which drivers return int8. */
export function bigintAt(row: unknown, column: string): bigint {
  const value = valueAt(row, column);
  if (typeof value === 'bigint') return value;
  if (Number.isSafeInteger(value) || (typeof value === 'string' && /^-?\d{1,39}$/.test(value))) {
    return BigInt(String(value));
  }
  return corrupt(column);
}

/** An amount from 0 to 2^53 − 1. */
export function nanosAt(row: unknown, column: string): Nanos {
  const value = bigintAt(row, column);
  return isNanos(value) ? value : corrupt(column);
}

export function nanosOrNoneAt(row: unknown, column: string): Nanos | undefined {
  return valueAt(row, column) === undefined ? undefined : nanosAt(row, column);
}

/** A whole number within ±(2^53 − 1), such as a count or Unix milliseconds. */
export function integerAt(row: unknown, column: string): number {
  const value = Number(bigintAt(row, column));
  return Number.isSafeInteger(value) ? value : corrupt(column);
}

export function integerOrNoneAt(row: unknown, column: string): number | undefined {
  return valueAt(row, column) === undefined ? undefined : integerAt(row, column);
}

/** A number that may have a fraction, such as a duration in milliseconds. */
export function numberAt(row: unknown, column: string): number {
  const value = Number(valueAt(row, column));
  return Number.isFinite(value) ? value : corrupt(column);
}

export function numberOrNoneAt(row: unknown, column: string): number | undefined {
  return valueAt(row, column) === undefined ? undefined : numberAt(row, column);
}

/** True or false, also as 1 and 0. */
export function flagAt(row: unknown, column: string): boolean {
  const value = valueAt(row, column);
  if (typeof value === 'boolean') return value;
  const number = bigintAt(row, column);
  return number === 0n || number === 1n ? number === 1n : corrupt(column);
}

export function literalAt<T extends string>(
  row: unknown,
  column: string,
  literals: readonly T[],
): T {
  const value = valueAt(row, column);
  return literals.find((literal) => literal === value) ?? corrupt(column);
}

/** The JSON in a column, from text or as parsed by the driver; undefined for NULL. */
export function jsonAt(row: unknown, column: string): JsonValue | undefined {
  const value = valueAt(row, column);
  if (value === undefined) return undefined;
  // Only objects and arrays are stored as JSON, so a string is never an already parsed value.
  return parseJson(typeof value === 'string' ? value : JSON.stringify(value)) ?? corrupt(column);
}

/** Refuses a row. The error names the column but not the value, which may be anything. */
export function corrupt(column: string): never {
  throw new StoreCorrupt(`the column ${column} has an invalid value`);
}
