/** Reads the members of a JSON Schema, whatever stands there, and follows its references. */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';

/** The schemas in a member that lists some, such as `anyOf`. */
export function schemasOf(schema: JsonObject, name: string): readonly JsonObject[] {
  return items(member(schema, name)).filter(isJsonObject);
}

/** The schemas of the properties, by name; `true`, for anything, is an empty schema. */
export function propertiesOf(schema: JsonObject): ReadonlyMap<string, JsonObject> {
  const properties = member(schema, 'properties');
  if (!isJsonObject(properties)) return new Map();
  return new Map(
    Object.entries(properties).map(([name, inner]) => [name, isJsonObject(inner) ? inner : {}]),
  );
}

/** The texts in a member that lists some, such as `required`. */
export function namesOf(schema: JsonObject, name: string): readonly string[] {
  return items(member(schema, name)).filter((value) => typeof value === 'string');
}

/** The types a schema allows, in lower case, however it writes them. */
export function typesOf(schema: JsonObject): readonly string[] {
  const type = member(schema, 'type');
  const types = typeof type === 'string' ? [type] : namesOf(schema, 'type');
  return [...new Set(types.map((one) => one.toLowerCase()))];
}

/** What `#/$defs/Name` stands for, its escapes undone; undefined where it leads nowhere. */
export function referredTo(root: JsonObject, reference: string): JsonObject | undefined {
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
