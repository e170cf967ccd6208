/**
 * Converts between JSON Schema and the subset of OpenAPI 3.0 in Gemini's older `parameters` and
 * `responseSchema`.
 */
import { numberFrom } from '../../exact-numbers.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { newFlattening, newSchemaBudget, type SchemaBudget, type Trail } from './flatten.ts';
import { inSubset } from './subset.ts';
import { type Changed, mapSchema, mapSchemaIn } from './walk.ts';

/** A schema in Google's subset. */
export interface OpenApiSchema {
  readonly schema: JsonObject;
  /** Something was left out, shortened, or moved into a description. */
  readonly changed: boolean;
}

/**
 * Converts a schema to Google's subset. Unknown keywords are left out rather than refused, since
 * callers' tools are full of them. References are inlined; a recursive one becomes an object.
 *
 * @param budget shared by the schemas of one request
 */
export function toOpenApiSchema(
  schema: JsonObject,
  budget: SchemaBudget = newSchemaBudget(),
): OpenApiSchema {
  const flattening = newFlattening(schema, budget);
  let changed = false;
  const write = (inner: JsonObject, trail: Trail): Changed<Trail> => {
    const flat = flattening.flat(inner, trail);
    const written = inSubset(flat.schema);
    if (!flat.isComplete || !written.isComplete) changed = true;
    return { schema: written.schema, context: flat.trail };
  };
  const fill = (inner: JsonObject): JsonObject => {
    if (!isEmpty(member(inner, 'items'))) return inner;
    changed = true;
    return { ...inner, items: { type: 'STRING' } };
  };
  const converted = mapSchema(mapSchemaIn(schema, { references: [], depth: 0 }, write), fill);
  return { schema: converted, changed };
}

/** Google requires a type for the elements of an array. */
function isEmpty(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/**
 * Converts a schema to JSON Schema, accepting both of Google's spellings and any case of type
 * names.
 */
export function fromOpenApiSchema(schema: JsonObject): JsonObject {
  return mapSchema(schema, (inner) => {
    const entries = inOrder(inner).flatMap(([name, value]) => entryOf(camelCased(name), value));
    const { nullable, ...plain } = Object.fromEntries(entries);
    return nullable === true ? orNull(withNumbers(plain)) : withNumbers(plain);
  });
}

/**
 * Puts the properties in the order of `propertyOrdering`, which JSON Schema can't express
 * otherwise.
 */
function inOrder(schema: JsonObject): readonly (readonly [string, JsonValue])[] {
  const entries = Object.entries(schema);
  const order = entries.find(([name]) => camelCased(name) === 'propertyOrdering')?.[1];
  const { properties } = schema;
  if (!Array.isArray(order) || !isJsonObject(properties)) return entries;
  const wanted = namesIn(order).filter((name) => Object.hasOwn(properties, name));
  const names = new Set([...wanted, ...Object.keys(properties)]);
  const ordered = Object.fromEntries([...names].map((name) => [name, properties[name] ?? null]));
  return entries.map(([name, value]) => [name, name === 'properties' ? ordered : value]);
}

function namesIn(list: JsonValue): readonly string[] {
  return items(list).filter((name) => typeof name === 'string');
}

/**
 * Members whose value may be null. In all others protobuf's null means that the member isn't set.
 */
const nullableValues: ReadonlySet<string> = new Set(['default', 'const']);

function entryOf(name: string, value: JsonValue): readonly [string, JsonValue][] {
  if (value === null && !nullableValues.has(name)) return [];
  switch (name) {
    case 'example':
      return [['examples', [value]]];
    case 'propertyOrdering':
      return [];
    case 'type':
      return typeEntry(value);
    case 'format':
      return value === 'enum' ? [] : [[name, value]];
    case '$ref':
      return [[name, typeof value === 'string' ? value.replace(/^#\/defs\//, '#/$defs/') : value]];
    default:
      return [[name, numeric.has(name) ? asNumber(value) : value]];
  }
}

/**
 * Google accepts camelCase and snake_case everywhere, and writes `$defs` and `$ref` without the
 * `$`.
 */
function camelCased(name: string): string {
  if (name === 'defs' || name === 'ref') return `$${name}`;
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Type names in the order of their protobuf numbers, which Google accepts in place of names. */
const typeNumbers: readonly string[] = [
  'unspecified',
  'string',
  'number',
  'integer',
  'boolean',
  'array',
  'object',
  'null',
];

function typeEntry(value: JsonValue): readonly [string, JsonValue][] {
  if (Array.isArray(value)) return [['type', items(value).map(lowerCased)]];
  const named = typeof value === 'number' ? (typeNumbers[value] ?? value) : value;
  const type = lowerCased(named);
  return type === 'unspecified' ? [] : [['type', type]];
}

function lowerCased(value: JsonValue): JsonValue {
  return typeof value === 'string' ? value.toLowerCase().replace(/^type_/, '') : value;
}

/** Google writes int64 values as strings. */
const numeric: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
]);

/** The number grammar of RFC 8259. */
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i;

function asNumber(value: JsonValue): JsonValue {
  const isNumber = typeof value === 'string' && jsonNumber.test(value);
  return isNumber ? numberFrom(value) : value;
}

/** Google writes enum values as strings even if the type is a number. */
function withNumbers(schema: JsonObject): JsonObject {
  const type = member(schema, 'type');
  const values = member(schema, 'enum');
  if ((type !== 'integer' && type !== 'number') || values === undefined) return schema;
  return { ...schema, enum: items(values).map(asNumber) };
}

function orNull(schema: JsonObject): JsonObject {
  const { $ref: reference, ...rest } = schema;
  const nullType: JsonObject = { type: 'null' };
  if (reference !== undefined) return { ...rest, anyOf: [{ $ref: reference }, nullType] };
  const { type, enum: values, anyOf: alternatives } = schema;
  const anyOf = alternatives === undefined ? [] : items(alternatives);
  return {
    ...schema,
    ...(typeof type === 'string' && type !== 'null' ? { type: [type, 'null'] } : {}),
    ...(values === undefined ? {} : { enum: [...new Set([...items(values), null])] }),
    ...(anyOf.length === 0 ? {} : { anyOf: [...anyOf, nullType] }),
  };
}
