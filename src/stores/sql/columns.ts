/**
 * Reads the columns of a row that a database answered with. Drivers differ in what they make of a
 * value (int8 as number, bigint or text; flags as 0 and 1; JSON as text or parsed), and none of it
 * is believed unchecked.
 */
import { type JsonValue, parseJson } from '../../json.ts';
import type { Nanos } from '../../money.ts';
import { StoreCorrupt } from '../../ports/call-options.ts';
import { isNanos } from '../../ports/quota-input.ts';

/** What a column may be given, and may come back as. `null` is SQL's. */
export type SqlValue = string | bigint | number | boolean | null;

/** The value of a column as the driver gave it; undefined where there is none, or it is NULL. */
export function valueAt(row: unknown, column: string): unknown {
  if (typeof row !== 'object' || row === null) throw new StoreCorrupt('a row is no object');
  const value: unknown = Reflect.get(row, column);
  return value === null ? undefined : value;
}

/** @throws StoreCorrupt where it is no text */
export function textAt(row: unknown, column: string): string {
  return textOrNoneAt(row, column) ?? corrupt(column);
}

/** Text, or undefined for NULL. */
export function textOrNoneAt(row: unknown, column: string): string | undefined {
  const value = valueAt(row, column);
  return value === undefined || typeof value === 'string' ? value : corrupt(column);
}

/** A whole number of any sign, exact, whatever the driver makes of int8. */
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

/** The same, or undefined for NULL. */
export function nanosOrNoneAt(row: unknown, column: string): Nanos | undefined {
  return valueAt(row, column) === undefined ? undefined : nanosAt(row, column);
}

/** A whole number that a double holds: a count, Unix milliseconds. */
export function integerAt(row: unknown, column: string): number {
  const value = Number(bigintAt(row, column));
  return Number.isSafeInteger(value) ? value : corrupt(column);
}

/** The same, or undefined for NULL. */
export function integerOrNoneAt(row: unknown, column: string): number | undefined {
  return valueAt(row, column) === undefined ? undefined : integerAt(row, column);
}

/** A number with a fraction: a duration in milliseconds. */
export function numberAt(row: unknown, column: string): number {
  const value = Number(valueAt(row, column));
  return Number.isFinite(value) ? value : corrupt(column);
}

/** The same, or undefined for NULL. */
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

/** One of a few words. */
export function wordAt<T extends string>(row: unknown, column: string, words: readonly T[]): T {
  const value = valueAt(row, column);
  return words.find((word) => word === value) ?? corrupt(column);
}

/** The JSON of a column that is text, or that the driver has parsed; undefined for NULL. */
export function jsonAt(row: unknown, column: string): JsonValue | undefined {
  const value = valueAt(row, column);
  if (value === undefined) return undefined;
  // Only objects and lists are kept as JSON, so text is never a parsed value.
  return parseJson(typeof value === 'string' ? value : JSON.stringify(value)) ?? corrupt(column);
}

/** JSON with amounts as decimal text, which no parser rounds. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) =>
    typeof item === 'bigint' ? item.toString() : item,
  );
}

/** Refuses a row. It names the column, never the value: that may be anything. */
export function corrupt(column: string): never {
  throw new StoreCorrupt(`the column ${column} holds what it may not`);
}
