/**
 * JSON types, and the only place where JSON is given a type: safe parsing, and reading members of
 * unknown values.
 */

/**
 * Any result of `JSON.parse`, and the exact numbers of `parseExactly`. Print it with `jsonText` of
 * `canonical/raw-json.ts`, because `JSON.stringify` can't print exact numbers.
 */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | JsonObject
  | ExactNumber;

/** The member with the JSON text that is printed for the value. */
export const sourceText: unique symbol = Symbol('JSON source text');

/** A number that a double would change, as its source text: `9007199254740993`, `1e400`. */
export interface ExactNumber {
  readonly [sourceText]: string;
}

/**
 * A JSON object. Read it with {@link member}, never by index, because a name may be `constructor`.
 */
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

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

export function isExactNumber(value: unknown): value is ExactNumber {
  return typeof value === 'object' && value !== null && sourceText in value;
}

/** A number as received, which can be printed but not calculated with. */
export type JsonNumber = number | ExactNumber;

export function isJsonNumber(value: unknown): value is JsonNumber {
  return typeof value === 'number' || isExactNumber(value);
}

/** The nearest double of a number; undefined for other values. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value;
  return isExactNumber(value) ? Number(value[sourceText]) : undefined;
}

/** Only an own member; undefined if the value is not an object or has none. */
export function member(value: unknown, name: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  // An exact number has only a symbol member, so it needs no check.
  return Object.hasOwn(value, name) ? (value as JsonObject)[name] : undefined;
}

/** The string; undefined if it is empty, and for other values. */
export function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The string; an empty one for other values. */
export function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The value as an array, or an empty one. */
export function items(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** JSON with bigints as decimal text, which no parser rounds. */
export function jsonWithBigints(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) =>
    typeof item === 'bigint' ? item.toString() : item,
  );
}

/** A copy that any serializer can print: bigints as decimal text, nothing undefined. */
export function withoutBigints(members: object): Readonly<Record<string, unknown>> {
  const kept = Object.entries(members).filter(
    ([, value]) => value !== undefined && typeof value !== 'function',
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, printable(value)]));
}

function printable(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(printable);
  return typeof value === 'object' && value !== null ? withoutBigints(value) : value;
}
