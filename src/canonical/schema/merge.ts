/** Merges several schemas into one. */
import type { JsonObject, JsonValue } from '../../json.ts';
import { namesOf, propertiesOf } from './members.ts';

/** Merges schemas that apply together. If a keyword differs, the last value wins. */
export function mergedSchema(parts: readonly JsonObject[]): JsonObject {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const merged = Object.fromEntries(parts.flatMap((part) => Object.entries(part)));
  const properties = [...joinedProperties(parts)].map(([name, schemas]): [string, JsonValue] => {
    const [schema = {}, ...others] = schemas;
    return [name, others.length === 0 ? schema : { allOf: schemas }];
  });
  const required = [...new Set(parts.flatMap((part) => namesOf(part, 'required')))];
  return {
    ...merged,
    ...(properties.length > 0 ? { properties: Object.fromEntries(properties) } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}

/** The distinct schemas of each property, by name. */
export function joinedProperties(
  parts: readonly JsonObject[],
): ReadonlyMap<string, readonly JsonObject[]> {
  const found = new Map<string, Set<JsonObject>>();
  for (const part of parts) {
    for (const [name, schema] of propertiesOf(part)) {
      const known = found.get(name);
      if (known === undefined) found.set(name, new Set([schema]));
      else known.add(schema);
    }
  }
  return new Map([...found].map(([name, schemas]) => [name, [...schemas]]));
}
