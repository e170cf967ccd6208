/**
 * Reads the members of a JSON Schema, ignoring values of a wrong type, and resolves its references.
 */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { mapSchema } from './walk.ts';

export function schemasOf(schema: JsonObject, name: string): readonly JsonObject[] {
  return items(member(schema, name)).filter(isJsonObject);
}

/** `true`, which allows anything, becomes an empty schema. */
export function propertiesOf(schema: JsonObject): ReadonlyMap<string, JsonObject> {
  const properties = member(schema, 'properties');
  if (!isJsonObject(properties)) return new Map();
  return new Map(
    Object.entries(properties).map(([name, inner]) => [name, isJsonObject(inner) ? inner : {}]),
  );
}

export function namesOf(schema: JsonObject, name: string): readonly string[] {
  return items(member(schema, name)).filter((value) => typeof value === 'string');
}

/** The types that a schema allows, in lower case, from a string or a list. */
export function typesOf(schema: JsonObject): readonly string[] {
  const type = member(schema, 'type');
  const types = typeof type === 'string' ? [type] : namesOf(schema, 'type');
  return [...new Set(types.map((one) => one.toLowerCase()))];
}

/** Resolves a reference such as `#/$defs/Name`, including its escapes. */
export function resolveReference(root: JsonObject, reference: string): JsonObject | undefined {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let value: JsonValue | undefined = root;
  for (const step of reference.split('/').slice(1)) {
    const name = percentDecoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    value = Array.isArray(value) ? items(value)[Number(name)] : member(value, name);
  }
  return isJsonObject(value) ? value : undefined;
}

function percentDecoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** The schema with notes appended to its description, where at least the model reads them. */
export function withNotes(schema: JsonObject, notes: readonly string[]): JsonObject {
  if (notes.length === 0) return schema;
  const ownDescription = member(schema, 'description');
  const note = notes.join(', ');
  const hasDescription = typeof ownDescription === 'string' && ownDescription !== '';
  return { ...schema, description: hasDescription ? `${ownDescription} (${note})` : note };
}

/** The schema with the caller's description of the whole format in front of its own description. */
export function withDescription(schema: JsonObject, description: string | undefined): JsonObject {
  if (description === undefined) return schema;
  const own = member(schema, 'description');
  const isBoth = typeof own === 'string' && own !== description;
  return { ...schema, description: isBoth ? `${description}\n${own}` : description };
}

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

/** Removes `title` from all levels, but no property that is named `title`. */
export function withoutTitles(schema: JsonObject): {
  readonly schema: JsonObject;
  readonly changed: boolean;
} {
  let changed = false;
  const untitled = mapSchema(schema, (inner) => {
    if (!Object.hasOwn(inner, 'title')) return inner;
    changed = true;
    const { title: _title, ...rest } = inner;
    return rest;
  });
  return { schema: untitled, changed };
}
