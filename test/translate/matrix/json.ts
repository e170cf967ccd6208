/** Looks into JSON of any shape: by path, and by comparing it to the part of it that counts. */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';

/** The value at the end of a path, or undefined where the path leads nowhere. */
export function pick(
  value: JsonValue | undefined,
  ...path: readonly (string | number)[]
): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (at, step) => (typeof step === 'number' ? items(at).at(step) : member(at, step)),
    value,
  );
}

/** The text at the end of a path, or an empty one. */
export function textAt(
  value: JsonValue | undefined,
  ...path: readonly (string | number)[]
): string {
  const found = pick(value, ...path);
  return typeof found === 'string' ? found : '';
}

/** The objects of a list. */
export function objects(value: JsonValue | undefined): readonly JsonObject[] {
  return items(value).filter(isJsonObject);
}

/** Whether all of `expected` is found in `actual`; lists must be of one length. */
export function holds(actual: JsonValue | undefined, expected: JsonValue): boolean {
  if (isJsonObject(expected)) {
    return Object.entries(expected).every(([name, value]) => holds(member(actual, name), value));
  }
  if (!Array.isArray(expected)) return actual === expected;
  const found = items(actual);
  const wanted = items(expected);
  return (
    Array.isArray(actual) &&
    found.length === wanted.length &&
    wanted.every((value, index) => holds(found[index], value))
  );
}
