/** JSON Schema as strict providers want it: OpenAI's `strict`, Anthropic's output and tools. */

import { isJsonObject, type JsonObject, type JsonValue, member } from '../../json.ts';
import { jsonText } from '../raw-json.ts';
import { withNotes } from './describe.ts';
import { namesOf, propertiesOf, referredTo, typesOf } from './members.ts';
import { newShapeBudget, objectShape, type ShapeBudget } from './shape.ts';
import { everySchema, mapSchema } from './walk.ts';

/** What OpenAI refuses in a strict schema, whatever it holds. */
const refusedWhenStrict: readonly string[] = [
  'allOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
  'propertyNames',
  'prefixItems',
  'contains',
];

/**
 * Whether OpenAI takes the schema as strict: every object lists all its properties as required and
 * is closed to others, and no keyword is one that `strict` does not know.
 */
export function isStrictSchema(schema: JsonObject): boolean {
  return (
    member(schema, 'type') === 'object' &&
    member(schema, 'anyOf') === undefined &&
    everySchema(schema, isStrictHere)
  );
}

/** A schema, and whether what it demands has changed. */
export interface ClosedSchema {
  readonly schema: JsonObject;
  readonly changed: boolean;
}

/**
 * For Anthropic's structured output and strict tools: every object closed, `oneOf` as `anyOf`,
 * constraints moved into the description, where the model at least reads them.
 */
export function closedSchema(schema: JsonObject): ClosedSchema {
  let changed = false;
  const closed = mapSchema(schema, (inner) => {
    const lost = Object.keys(inner).filter((name) => isUnknown(name, inner[name]));
    const renamed = withAnyOf(without(inner, ['$schema', ...lost]));
    const others = member(inner, 'additionalProperties');
    if (lost.length > 0 || (others !== undefined && others !== false)) changed = true;
    const notes = lost.map((name) => `${name}: ${jsonText(inner[name])}`);
    const plain = withNotes(renamed, notes);
    return isObjectSchema(plain) ? { ...plain, additionalProperties: false } : plain;
  });
  return { schema: closed, changed };
}

/** Whether some object of the schema is a map, whose members have no names in the schema. */
export function holdsMap(schema: JsonObject): boolean {
  return !everySchema(schema, (inner) => {
    const others = member(inner, 'additionalProperties');
    const patterns = member(inner, 'patternProperties');
    const isOpen = isJsonObject(others) || others === true || isJsonObject(patterns);
    return !isOpen || propertiesOf(inner).size > 0;
  });
}

/**
 * For Anthropic's `input_schema`: an object at the top, without `anyOf`, `oneOf` or `allOf` there.
 * Their properties are joined, and required is what all alternatives require.
 *
 * @param room shared by the tools of one request
 */
export function objectSchema(
  schema: JsonObject | undefined,
  room: ShapeBudget = newShapeBudget(),
): JsonObject {
  if (schema === undefined) return { type: 'object', properties: {} };
  const rest = without(schema, unsaid);
  if (combining.every((name) => member(schema, name) === undefined)) {
    return { ...rest, type: 'object' };
  }
  const { $ref: reference } = schema;
  const target = typeof reference === 'string' ? referredTo(schema, reference) : undefined;
  const said = without(target ?? {}, unsaid);
  return { ...said, ...rest, type: 'object', properties: {}, ...objectShape(schema, room) };
}

/** What may not stand at the top. */
const combining: readonly string[] = ['$ref', 'anyOf', 'oneOf', 'allOf'];
const unsaid: readonly string[] = ['$schema', ...combining];

function isStrictHere(schema: JsonObject): boolean {
  if (refusedWhenStrict.some((name) => member(schema, name) !== undefined)) return false;
  if (!isObjectSchema(schema)) return saysWhat(schema);
  const required = new Set(namesOf(schema, 'required'));
  return (
    member(schema, 'additionalProperties') === false &&
    [...propertiesOf(schema).keys()].every((name) => required.has(name))
  );
}

/** A strict schema may not leave open what a value is. */
function saysWhat(schema: JsonObject): boolean {
  if (typesOf(schema).includes('array')) return isJsonObject(member(schema, 'items'));
  return ['type', 'anyOf', '$ref', 'enum', 'const'].some(
    (name) => member(schema, name) !== undefined,
  );
}

function isObjectSchema(schema: JsonObject): boolean {
  const types = typesOf(schema);
  return (
    types.includes('object') || (types.length === 0 && member(schema, 'properties') !== undefined)
  );
}

/** What Anthropic's constrained answers refuse; a reader still may heed it. */
const unknownToAnthropic: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'contains',
  'minContains',
  'maxContains',
  'prefixItems',
  'unevaluatedItems',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
  'not',
  'if',
  'then',
  'else',
]);

const formats: ReadonlySet<JsonValue> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);

/** `minItems` of 0 and 1 are known there, and patterns that neither look around nor back. */
function isUnknown(name: string, value: JsonValue | undefined): boolean {
  if (name === 'minItems') return value !== 0 && value !== 1;
  if (name === 'format') return value !== undefined && !formats.has(value);
  if (name === 'pattern') return typeof value === 'string' && /\(\?[=!<]|\\[bB1-9]/.test(value);
  return unknownToAnthropic.has(name);
}

function withAnyOf(schema: JsonObject): JsonObject {
  const alternatives = member(schema, 'oneOf');
  if (alternatives === undefined || member(schema, 'anyOf') !== undefined) return schema;
  return { ...without(schema, ['oneOf', 'discriminator']), anyOf: alternatives };
}

function without(schema: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)));
}
