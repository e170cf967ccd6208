/**
 * JSON types, and the only place where JSON becomes typed: guarded parsing and reading of members
 * that may be anything.
 */

/** Whatever `JSON.parse` can give. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

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

/** Whether the value is an object: neither an array nor null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Own member of an object, or undefined: for what is no object, has no such member, or inherits it.
 */
export function member(value: unknown, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The value as an array, or an empty one. */
export function items(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}
