/** Writes one schema in Google's OpenAPI subset. */

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
import { withNotes } from './describe.ts';
import { namesOf, propertiesOf, schemasOf } from './members.ts';

/** A schema of the subset whose nested schemas are not converted yet. */
export interface SubsetSchema {
  readonly schema: JsonObject;
  /** False if something was left out. */
  readonly isComplete: boolean;
}

/** @param schema without references, `allOf`, `oneOf`, `const` and lists of types */
export function inSubset(schema: JsonObject): SubsetSchema {
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

/**
 * Keeps the keyword only for these types, since Google refuses keywords that don't belong to the
 * type.
 */
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
