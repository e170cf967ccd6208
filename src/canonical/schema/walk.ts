/**
 * Walks over a JSON Schema by position: a property that is named `title` or `pattern` is a schema
 * under a name, not a keyword, and what stands in `default` or `enum` is data.
 */
import { isJsonObject, items, type JsonObject, type JsonValue } from '../../json.ts';

/** What the keywords hold that hold schemas; the others hold data. */
const holds: ReadonlyMap<string, 'schema' | 'list' | 'map'> = new Map([
  ['items', 'schema'],
  ['additionalItems', 'schema'],
  ['unevaluatedItems', 'schema'],
  ['contains', 'schema'],
  ['additionalProperties', 'schema'],
  ['unevaluatedProperties', 'schema'],
  ['propertyNames', 'schema'],
  ['not', 'schema'],
  ['if', 'schema'],
  ['then', 'schema'],
  ['else', 'schema'],
  ['contentSchema', 'schema'],
  ['prefixItems', 'list'],
  ['allOf', 'list'],
  ['anyOf', 'list'],
  ['oneOf', 'list'],
  ['properties', 'map'],
  ['patternProperties', 'map'],
  ['dependentSchemas', 'map'],
  ['dependencies', 'map'],
  ['$defs', 'map'],
  ['definitions', 'map'],
]);

/** Nobody nests deeper but to exhaust the stack; what lies below is left as it is. */
const deepest = 256;

/** A schema that a change has made, and what the change wants to know at those inside it. */
export interface Changed<Context> {
  readonly schema: JsonObject;
  readonly context: Context;
}

/** A copy in which every schema was changed, the outer ones before those inside. */
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

/** As {@link mapSchema}, with something handed down from each schema to those inside it. */
export function mapSchemaIn<Context>(
  schema: JsonObject,
  context: Context,
  change: (schema: JsonObject, context: Context) => Changed<Context>,
): JsonObject {
  return mapAt(schema, { context, depth: 0 }, change);
}

/** Whether a test holds for a schema and every one inside it. */
export function everySchema(schema: JsonObject, test: (schema: JsonObject) => boolean): boolean {
  return everyAt(schema, test, 0);
}

interface Place<Context> {
  readonly context: Context;
  readonly depth: number;
}

function mapAt<Context>(
  schema: JsonObject,
  { context, depth }: Place<Context>,
  change: (schema: JsonObject, context: Context) => Changed<Context>,
): JsonObject {
  if (depth > deepest) return schema;
  const changed = change(schema, context);
  const inside = { context: changed.context, depth: depth + 1 };
  const mapped = (value: JsonValue): JsonValue =>
    isJsonObject(value) ? mapAt(value, inside, change) : value;
  const entries = Object.entries(changed.schema).map(([name, value]): [string, JsonValue] => {
    const kind = holds.get(name);
    if (kind === undefined) return [name, value];
    if (Array.isArray(value)) return [name, items(value).map(mapped)];
    if (kind !== 'map' || !isJsonObject(value)) return [name, mapped(value)];
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
  if (depth > deepest || !test(schema)) return false;
  return Object.entries(schema).every(([name, value]) =>
    schemasIn(name, value).every((inner) => everyAt(inner, test, depth + 1)),
  );
}

function schemasIn(name: string, value: JsonValue): readonly JsonObject[] {
  const kind = holds.get(name);
  if (kind === undefined) return [];
  if (Array.isArray(value)) return items(value).filter(isJsonObject);
  if (!isJsonObject(value)) return [];
  return kind === 'map' ? Object.values(value).filter(isJsonObject) : [value];
}
