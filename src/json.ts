/**
 * JSON types, and the only place where JSON becomes typed: guarded parsing and reading of members
 * that may be anything.
 */

/**
 * Whatever `JSON.parse` can give, and numbers that it would change, which `parseExactly` gives.
 * `jsonText` of `canonical/raw-json.ts` prints it; `JSON.stringify` does not know such numbers.
 */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | JsonObject
  | ExactNumber;

/** The member under which a value carries the JSON text that is printed in its place. */
export const sourceText: unique symbol = Symbol('JSON source text');

/** A number that a double would change, as the text it came as: `9007199254740993`, `1e400`. */
export interface ExactNumber {
  readonly [sourceText]: string;
}

/** Read with {@link member}, never by index: a model may be called `constructor`. */
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** The parsed value, or undefined where the text is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Whether the value is an object: neither an array nor null nor an exact number. */
export function isJsonObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(sourceText in value)
  );
}

/** Whether the value is a number that no double is. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return typeof value === 'object' && value !== null && sourceText in value;
}

/** A number as it came, which can be printed but not calculated with. */
export type JsonNumber = number | ExactNumber;

/** Whether the value is a number of either kind. */
export function isJsonNumber(value: unknown): value is JsonNumber {
  return typeof value === 'number' || isExactNumber(value);
}

/** The nearest double of a value that is a number, undefined for anything else. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value;
  return isExactNumber(value) ? Number(value[sourceText]) : undefined;
}

/**
 * Own member of an object, or undefined: for what is no object, has no such member, or inherits it.
 */
export function member(value: unknown, name: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  // An exact number has no members with names, and so needs no test of its own.
  return Object.hasOwn(value, name) ? (value as JsonObject)[name] : undefined;
}

/** The value as an array, or an empty one. */
export function items(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}
