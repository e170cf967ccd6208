/**
 * Adapts JSON Schema to providers with strict rules: OpenAI's `strict`, and Anthropic's structured
 * output and tools.
 */

import { isJsonObject, type JsonObject, type JsonValue, member } from '../../json.ts';
import { jsonText } from '../raw-json.ts';
import {
  namesOf,
  propertiesOf,
  resolveReference,
  schemasOf,
  typesOf,
  withNotes,
} from './members.ts';
import { newShapeBudget, objectShape, type ShapeBudget } from './shape.ts';
import { everySchema, mapSchema } from './walk.ts';

/** Keywords that OpenAI refuses in a strict schema, with any value. */
const refusedWhenStrict: readonly string[] = [
  ...['allOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas'],
  ...['patternProperties', 'propertyNames', 'prefixItems', 'contains'],
];

/**
 * Whether OpenAI accepts the schema as strict: every object requires all its properties and allows
 * no others, and no keyword is unsupported in strict mode.
 */
export function isStrictSchema(schema: JsonObject): boolean {
  return (
    member(schema, 'type') === 'object' &&
    member(schema, 'anyOf') === undefined &&
    everySchema(schema, isStrictHere)
  );
}

/**
 * Adapts a schema to Anthropic's structured output and strict tools: every object is closed,
 * `oneOf` becomes `anyOf`, and unsupported constraints move into the description, where at least
 * the model reads them.
 */
export function closedSchema(schema: JsonObject): {
  readonly schema: JsonObject;
  readonly changed: boolean;
} {
  let changed = false;
  const closed = mapSchema(schema, (inner) => {
    const lost = Object.keys(inner).filter((name) => isUnsupported(name, inner[name]));
    const renamed = withAnyOf(without(inner, lost));
    const others = member(inner, 'additionalProperties');
    if (lost.length > 0 || (others !== undefined && others !== false)) changed = true;
    const notes = lost.map((name) => `${name}: ${jsonText(inner[name])}`);
    const plain = withNotes(renamed, notes);
    return isObjectSchema(plain) ? { ...plain, additionalProperties: false } : plain;
  });
  return { schema: closed, changed };
}

/** Whether an object takes property names that the schema doesn't list. */
export function holdsMap(schema: JsonObject): boolean {
  return !everySchema(schema, (inner) => {
    const others = member(inner, 'additionalProperties');
    const patterns = member(inner, 'patternProperties');
    const isOpen = isJsonObject(others) || others === true || isJsonObject(patterns);
    return !isOpen || propertiesOf(inner).size > 0;
  });
}

/**
 * Adapts a schema to Anthropic's `input_schema`, whose root must be an object without `anyOf`,
 * `oneOf` or `allOf`. Properties of combined schemas are merged; one is required only if all
 * alternatives require it.
 *
 * @param budget shared by the tools of one request
 */
export function objectSchema(
  schema: JsonObject | undefined,
  budget: ShapeBudget = newShapeBudget(),
): JsonObject {
  if (schema === undefined) return { type: 'object', properties: {} };
  const rest = without(schema, combining);
  if (combining.every((name) => member(schema, name) === undefined)) {
    return { ...rest, type: 'object' };
  }
  const { $ref: reference } = schema;
  const target = typeof reference === 'string' ? resolveReference(schema, reference) : undefined;
  const referenced = without(target ?? {}, combining);
  return { ...referenced, ...rest, type: 'object', properties: {}, ...objectShape(schema, budget) };
}

/** Keywords that are not allowed at the root. */
const combining: readonly string[] = ['$ref', 'anyOf', 'oneOf', 'allOf'];

function isStrictHere(schema: JsonObject): boolean {
  if (refusedWhenStrict.some((name) => member(schema, name) !== undefined)) return false;
  if (!isObjectSchema(schema)) return definesType(schema);
  const required = new Set(namesOf(schema, 'required'));
  return (
    member(schema, 'additionalProperties') === false &&
    [...propertiesOf(schema).keys()].every((name) => required.has(name))
  );
}

/** A strict schema must define the type of every value. */
function definesType(schema: JsonObject): boolean {
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

/**
 * Keywords that Anthropic's structured output refuses. The model may still follow them in a
 * description.
 */
const unsupportedByAnthropic: ReadonlySet<string> = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength'],
  ...['maxLength', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'minContains', 'maxContains'],
  ...['prefixItems', 'unevaluatedItems', 'minProperties', 'maxProperties', 'patternProperties'],
  ...['propertyNames', 'unevaluatedProperties', 'dependentRequired', 'dependentSchemas'],
  ...['dependencies', 'not', 'if', 'then', 'else'],
]);

const formats: ReadonlySet<JsonValue> = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
]);

/**
 * Anthropic supports `minItems` of 0 and 1, and patterns without lookaround, backreferences and
 * word boundaries.
 */
function isUnsupported(name: string, value: JsonValue | undefined): boolean {
  if (name === 'minItems') return value !== 0 && value !== 1;
  if (name === 'format') return value !== undefined && !formats.has(value);
  if (name === 'pattern') return typeof value === 'string' && /\(\?[=!<]|\\[bB1-9]/.test(value);
  return unsupportedByAnthropic.has(name);
}

function withAnyOf(schema: JsonObject): JsonObject {
  const alternatives = member(schema, 'oneOf');
  if (alternatives === undefined || member(schema, 'anyOf') !== undefined) return schema;
  return { ...without(schema, ['oneOf', 'discriminator']), anyOf: alternatives };
}

function without(schema: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)));
}

/** Real schemas combine others no deeper than this. */
const maxDepth = 16;
/** Stops the search if alternatives refer to each other. */
const maxParts = 1_000;

/** Keywords that survive when several schemas are merged. */
const harmless: ReadonlySet<string> = new Set([
  ...combining,
  ...['type', 'properties', 'required', '$defs', 'definitions'],
]);

/**
 * Whether `objectSchema` drops a constraint: a root of another type, a choice between alternatives,
 * or a constraint of a combined schema other than its properties.
 */
export function isLoosened(root: JsonObject | undefined): boolean {
  if (root === undefined) return false;
  let parts = 0;

  const isMergeable = (schema: JsonObject, depth: number): boolean => {
    parts += 1;
    if (depth > maxDepth || parts > maxParts) return false;
    const alternatives = [...schemasOf(schema, 'anyOf'), ...schemasOf(schema, 'oneOf')];
    if (alternatives.length > 1) return false;
    const { $ref: reference } = schema;
    const target = typeof reference === 'string' ? resolveReference(root, reference) : undefined;
    if (reference !== undefined && target === undefined) return false;
    const inner = [...schemasOf(schema, 'allOf'), ...alternatives];
    return (
      inner.every((part) => constrainsPropertiesOnly(part) && isMergeable(part, depth + 1)) &&
      // A schema that the root itself refers to keeps all its members.
      (target === undefined ||
        ((depth === 0 || constrainsPropertiesOnly(target)) && isMergeable(target, depth + 1)))
    );
  };

  return !isObject(root) || !isMergeable(root, 0);
}

function constrainsPropertiesOnly(schema: JsonObject): boolean {
  return isObject(schema) && Object.keys(schema).every((name) => harmless.has(name));
}

function isObject(schema: JsonObject): boolean {
  const types = typesOf(schema);
  return types.length === 0
    ? member(schema, 'enum') === undefined && member(schema, 'const') === undefined
    : types.length === 1 && types[0] === 'object';
}
