/**
 * Reads the members of a JSON Schema, ignoring values of a wrong type, and resolves its references.
 */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';

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
