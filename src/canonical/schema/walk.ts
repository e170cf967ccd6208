/**
 * Traverses a JSON Schema by position: a property named `title` or `pattern` is a schema and not a
 * keyword, and the value of `default` or `enum` is data.
 */
import { isJsonObject, items, type JsonObject, type JsonValue } from '../../json.ts';

/** Keywords whose values are schemas, lists of them, or maps. The values of all others are data. */
const schemaKeywords: ReadonlySet<string> = new Set([
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'additionalProperties'],
  ...['unevaluatedProperties', 'propertyNames', 'not', 'if', 'then', 'else', 'contentSchema'],
  ...['prefixItems', 'allOf', 'anyOf', 'oneOf'],
]);
const mapKeywords: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs'],
  ...['definitions'],
]);

/** Depth limit against stack exhaustion. Schemas below it are left unchanged. */
const maxDepth = 256;

export interface Changed<Context> {
  readonly schema: JsonObject;
  readonly context: Context;
}

/** Copies the schema and changes every schema in it, outer ones before nested ones. */
export function mapSchema(
  schema: JsonObject,
  change: (schema: JsonObject) => JsonObject,
): JsonObject {
  const inContext = (inner: JsonObject): Changed<undefined> => ({
    schema: change(inner),
    context: undefined,
  });
  return mapSchemaIn(schema, undefined, inContext);
}

/** Like {@link mapSchema}, but passes a context from each schema to the ones nested in it. */
export function mapSchemaIn<Context>(
  schema: JsonObject,
  context: Context,
  change: (schema: JsonObject, context: Context) => Changed<Context>,
): JsonObject {
  return mapAt(schema, { context, depth: 0 }, change);
}

export function everySchema(schema: JsonObject, test: (schema: JsonObject) => boolean): boolean {
  return everyAt(schema, test, 0);
}

function mapAt<Context>(
  schema: JsonObject,
  { context, depth }: { readonly context: Context; readonly depth: number },
  change: (schema: JsonObject, context: Context) => Changed<Context>,
): JsonObject {
  if (depth > maxDepth) return schema;
  const changed = change(schema, context);
  const inside = { context: changed.context, depth: depth + 1 };
  const mapped = (value: JsonValue): JsonValue =>
    isJsonObject(value) ? mapAt(value, inside, change) : value;
  const entries = Object.entries(changed.schema).map(([name, value]): [string, JsonValue] => {
    const isMap = mapKeywords.has(name);
    if (!isMap && !schemaKeywords.has(name)) return [name, value];
    if (Array.isArray(value)) return [name, items(value).map(mapped)];
    if (!isMap || !isJsonObject(value)) return [name, mapped(value)];
    const named = Object.entries(value).map(([key, inner]) => [key, mapped(inner)] as const);
    return [name, Object.fromEntries(named)];
  });
  return Object.fromEntries(entries);
}

function everyAt(
  schema: JsonObject,
  test: (schema: JsonObject) => boolean,
  depth: number,
): boolean {
  if (depth > maxDepth || !test(schema)) return false;
  return Object.entries(schema).every(([name, value]) =>
    schemasIn(name, value).every((inner) => everyAt(inner, test, depth + 1)),
  );
}

function schemasIn(name: string, value: JsonValue): readonly JsonObject[] {
  const isMap = mapKeywords.has(name);
  if (!isMap && !schemaKeywords.has(name)) return [];
  if (Array.isArray(value)) return items(value).filter(isJsonObject);
  if (!isJsonObject(value)) return [];
  return isMap ? Object.values(value).filter(isJsonObject) : [value];
}
