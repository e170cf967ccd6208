/**
 * Converts between JSON Schema and the subset of OpenAPI 3.0 in Gemini's older `parameters` and
 * `responseSchema`.
 */
import { numberFrom } from '../../exact-numbers.ts';
import {
  isJsonNumber,
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  numberOf,
} from '../../json.ts';
import { jsonText } from '../raw-json.ts';
import { newFlattening, newSchemaBudget, type SchemaBudget, type Trail } from './flatten.ts';
import { namesOf, propertiesOf, schemasOf, withNotes } from './members.ts';
import { type Changed, mapSchema, mapSchemaIn } from './walk.ts';

/** @param schema without references, `allOf`, `oneOf`, `const` and lists of types */
function inSubset(schema: JsonObject): {
  readonly schema: JsonObject;
  readonly isComplete: boolean;
} {
  const type = typeName(schema);
  const members = Object.entries(schema).flatMap(([name, value]): [string, JsonValue][] => {
    const written = scalars.get(name)?.(value, type);
    return written === undefined ? [] : [[name, written]];
  });
  const values = enumOf(schema, type);
  const alternatives = schemasOf(schema, 'anyOf');
  const plain = {
    ...(type === undefined ? {} : { type }),
    ...Object.fromEntries(members),
    ...(values.length > 0 ? { enum: values } : {}),
    ...(alternatives.length > 0 ? { anyOf: alternatives } : {}),
    ...(type === 'OBJECT' ? objectMembers(schema) : {}),
    ...(type === 'ARRAY' ? { items: itemsOf(schema) } : {}),
  };
  return { schema: withNotes(plain, notesOf(schema, values)), isComplete: keepsAll(schema, plain) };
}

const types: ReadonlyMap<string, string> = new Map(
  ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'].map((type) => [
    type.toLowerCase(),
    type,
  ]),
);

function typeName(schema: JsonObject): string | undefined {
  const type = member(schema, 'type');
  if (typeof type === 'string') return types.get(type.toLowerCase());
  const isSet = (name: string): boolean => member(schema, name) !== undefined;
  if (isSet('properties') || isJsonObject(member(schema, 'additionalProperties'))) return 'OBJECT';
  if (isSet('items') || isSet('prefixItems')) return 'ARRAY';
  const values = items(member(schema, 'enum'));
  if (values.length > 0) return typeOfAll(values);
  return isSet('pattern') || isSet('minLength') || isSet('maxLength') ? 'STRING' : undefined;
}

function typeOfAll(values: readonly JsonValue[]): string | undefined {
  if (values.every((value) => typeof value === 'string')) return 'STRING';
  if (values.every((value) => typeof value === 'boolean')) return 'BOOLEAN';
  if (values.every((value) => Number.isInteger(numberOf(value)))) return 'INTEGER';
  return values.every(isJsonNumber) ? 'NUMBER' : undefined;
}

type Scalar = (value: JsonValue, type: string | undefined) => JsonValue | undefined;

const text: Scalar = (value) => (typeof value === 'string' ? value : undefined);

/** Google refuses keywords that don't belong to the type. */
function forTypes(owners: readonly string[], read: Scalar): Scalar {
  return (value, type) => (owners.includes(type ?? '') ? read(value, type) : undefined);
}

/** Google writes int64 values as strings. */
const count: Scalar = (value) => {
  if (typeof value === 'string' && /^\d{1,18}$/.test(value)) return value;
  return Number.isSafeInteger(value) && Number(value) >= 0 ? String(value) : undefined;
};

const number: Scalar = (value) => (isJsonNumber(value) ? value : undefined);

const formats: ReadonlyMap<string, readonly string[]> = new Map([
  ['STRING', ['enum', 'date-time']],
  ['NUMBER', ['float', 'double']],
  ['INTEGER', ['int32', 'int64']],
]);

const format: Scalar = (value, type) =>
  typeof value === 'string' && formats.get(type ?? '')?.includes(value) ? value : undefined;

const scalars: ReadonlyMap<string, Scalar> = new Map([
  ['title', text],
  ['description', text],
  ['nullable', (value) => (value === true ? true : undefined)],
  ['format', format],
  ['pattern', forTypes(['STRING'], text)],
  ['minLength', forTypes(['STRING'], count)],
  ['maxLength', forTypes(['STRING'], count)],
  ['minimum', forTypes(['NUMBER', 'INTEGER'], number)],
  ['maximum', forTypes(['NUMBER', 'INTEGER'], number)],
  ['minItems', forTypes(['ARRAY'], count)],
  ['maxItems', forTypes(['ARRAY'], count)],
  ['minProperties', forTypes(['OBJECT'], count)],
  ['maxProperties', forTypes(['OBJECT'], count)],
]);

/** Google supports enums of strings only, without the empty string. */
function enumOf(schema: JsonObject, type: string | undefined): readonly string[] {
  const values = namesOf(schema, 'enum').filter((value) => value !== '');
  return type === 'STRING' ? [...new Set(values)] : [];
}

function objectMembers(schema: JsonObject): JsonObject {
  const properties = propertiesOf(schema);
  if (properties.size === 0) return {};
  const required = [...new Set(namesOf(schema, 'required'))].filter((name) => properties.has(name));
  const order = namesOf(schema, 'propertyOrdering').filter((name) => properties.has(name));
  return {
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required } : {}),
    propertyOrdering: order.length > 0 ? order : [...properties.keys()],
  };
}

/** Allows any schema of a tuple for each element, since the subset has no tuples. */
function itemsOf(schema: JsonObject): JsonObject {
  const one = member(schema, 'items');
  if (isJsonObject(one)) return one;
  const tuple = [...schemasOf(schema, 'prefixItems'), ...schemasOf(schema, 'items')];
  const [only = {}, ...others] = tuple;
  return others.length === 0 ? only : { anyOf: tuple };
}

function notesOf(schema: JsonObject, written: readonly string[]): readonly string[] {
  const values = items(member(schema, 'enum'));
  const isLost = values.length > 0 && written.length === 0;
  return [
    ...(isLost ? [`one of: ${values.map((value) => jsonText(value)).join(', ')}`] : []),
    ...bound(schema, 'exclusiveMinimum', 'greater than'),
    ...bound(schema, 'exclusiveMaximum', 'less than'),
  ];
}

function bound(schema: JsonObject, name: string, words: string): readonly string[] {
  const value = member(schema, name);
  return isJsonNumber(value) ? [`${words} ${jsonText(value)}`] : [];
}

/** Definitions are written where they are referenced. */
const definitions: ReadonlySet<string> = new Set(['$defs', 'definitions']);

function keepsAll(schema: JsonObject, written: JsonObject): boolean {
  return Object.entries(schema).every(([name, value]) => {
    if (definitions.has(name) || isNoConstraint(name, value)) return true;
    const kept = member(written, name);
    return Array.isArray(value) ? items(kept).length === value.length : kept !== undefined;
  });
}

function isNoConstraint(name: string, value: JsonValue): boolean {
  if (name === 'additionalProperties') return value === true;
  if (value === false) return name !== 'default' && name !== 'items' && name !== 'not';
  const isEmpty = isJsonObject(value) && Object.keys(value).length === 0;
  if (name === 'properties') return isEmpty;
  return Array.isArray(value) && value.length === 0;
}

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
  const flatten = newFlattening(schema, budget);
  let changed = false;
  const write = (inner: JsonObject, trail: Trail): Changed<Trail> => {
    const flat = flatten(inner, trail);
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

/** Accepts both of Google's spellings and any case of type names. */
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
  const wanted = items(order)
    .filter((name) => typeof name === 'string')
    .filter((name) => Object.hasOwn(properties, name));
  const names = new Set([...wanted, ...Object.keys(properties)]);
  const ordered = Object.fromEntries([...names].map((name) => [name, properties[name] ?? null]));
  return entries.map(([name, value]) => [name, name === 'properties' ? ordered : value]);
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
  ...['unspecified', 'string', 'number', 'integer', 'boolean', 'array', 'object', 'null'],
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
  ...['minItems', 'maxItems', 'minProperties', 'maxProperties', 'minLength', 'maxLength'],
  ...['minimum', 'maximum'],
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
