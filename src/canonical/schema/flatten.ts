/**
 * Rewrites a schema without references, `allOf`, `oneOf`, `const` and lists of types, for upstreams
 * that support none of them.
 */

import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { jsonText } from '../raw-json.ts';
import { mergedSchema, resolveReference, schemasOf, typesOf } from './members.ts';

export interface Trail {
  /** The references followed so far. A repeated one would recurse forever. */
  readonly references: readonly string[];
  readonly depth: number;
}

/** A flattened schema. The schemas nested in it are not flattened yet. */
export interface Flat {
  readonly schema: JsonObject;
  readonly trail: Trail;
  /** False if something was left out. */
  readonly isComplete: boolean;
}

/**
 * How much more output is allowed. The references of a malicious schema can make it grow without
 * bound.
 */
export interface SchemaBudget {
  schemas: number;
  characters: number;
}

/** The budget for all schemas of one request, since many small ones can grow as much as one. */
export function newSchemaBudget(): SchemaBudget {
  return { schemas: 50_000, characters: 4_000_000 };
}

const maxSchemas = 10_000;
const maxCharacters = 1_000_000;
const maxDepth = 100;

/** Replaces a schema that can't be flattened completely. */
const anyObject: JsonObject = { type: 'object' };

/** When a budget is used up, every further schema becomes a plain object. */
export function newFlattening(
  root: JsonObject,
  all: SchemaBudget,
): (schema: JsonObject, trail: Trail) => Flat {
  const budgets = [{ schemas: maxSchemas, characters: maxCharacters }, all];
  const isNull = nullTest(root);

  const resolved = (schema: JsonObject, { references, depth }: Trail): Flat => {
    const trail = { references, depth: depth + 1 };
    if (depth > maxDepth || isOverBudget(schema, budgets)) {
      return { schema: anyObject, trail, isComplete: false };
    }
    const { $ref: reference, allOf: _parts, ...own } = schema;
    const parts = schemasOf(schema, 'allOf').map((part) => resolved(part, trail));
    const target = typeof reference === 'string' ? [followed(reference, trail)] : [];
    const others = [...target, ...parts];
    // Most references have no sibling keywords.
    if (others.length > 0 && Object.keys(own).length === 0) return merged(others);
    return merged([...others, { schema: own, trail, isComplete: true }]);
  };

  const followed = (reference: string, { references, depth }: Trail): Flat => {
    const trail = { references: [...references, reference], depth };
    if (references.includes(reference)) return { schema: anyObject, trail, isComplete: false };
    const target = resolveReference(root, reference);
    if (target === undefined) return { schema: {}, trail, isComplete: false };
    return resolved(target, trail);
  };

  const flat = (schema: JsonObject, trail: Trail): Flat => {
    const whole = resolved(schema, trail);
    const { schema: nullable, alternatives } = withoutNull(whole.schema, isNull);
    const [only] = alternatives;
    if (only === undefined || alternatives.length > 1) {
      const { schema: plain, isComplete: isPlain } = oneTyped(nullable, alternatives);
      return { ...whole, schema: plain, isComplete: whole.isComplete && isPlain };
    }
    const inner = flat({ ...nullable, allOf: [only] }, whole.trail);
    return { ...inner, isComplete: inner.isComplete && whole.isComplete };
  };

  return flat;
}

/** Charges a schema to the budgets, and returns whether one of them is used up. */
function isOverBudget(schema: JsonObject, budgets: readonly SchemaBudget[]): boolean {
  if (budgets.some(({ schemas, characters }) => schemas <= 0 || characters <= 0)) return true;
  const characters = charactersOf(schema);
  for (const budget of budgets) {
    budget.schemas -= 1;
    budget.characters -= characters;
  }
  return budgets.some((budget) => budget.characters < 0);
}

function merged(parts: readonly Flat[]): Flat {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  return {
    schema: mergedSchema(parts.map(({ schema }) => schema)),
    trail: {
      references: [...new Set(parts.flatMap(({ trail }) => trail.references))],
      depth: parts.reduce((most, { trail }) => Math.max(most, trail.depth), 0),
    },
    isComplete: parts.every(({ isComplete }) => isComplete) && !hasConflict(parts),
  };
}

/**
 * Keywords that may differ between schemas that apply together, because both values are kept or
 * neither constrains.
 */
const mergeable: ReadonlySet<string> = new Set([
  ...['properties', 'required', 'type', 'title', 'description', 'nullable', '$defs', 'definitions'],
]);

function hasConflict(parts: readonly Flat[]): boolean {
  const names = parts.flatMap(({ schema }) =>
    Object.keys(schema).filter((name) => !mergeable.has(name)),
  );
  return new Set(names).size < names.length;
}

/** Replaces a `null` alternative by `nullable` and returns the other alternatives separately. */
function withoutNull(
  schema: JsonObject,
  isNull: NullTest,
): { readonly schema: JsonObject; readonly alternatives: readonly JsonObject[] } {
  const all = alternativesOf(schema);
  const { anyOf: _any, oneOf: _one, ...base } = schema;
  const alternatives = all.filter((one) => !isNull(one));
  if (alternatives.length === all.length) return { schema: base, alternatives };
  if (alternatives.length === 0) return { schema: { ...base, type: 'null' }, alternatives };
  return { schema: { ...base, nullable: true }, alternatives };
}

function alternativesOf(schema: JsonObject): readonly JsonObject[] {
  return [...schemasOf(schema, 'anyOf'), ...schemasOf(schema, 'oneOf')];
}

type NullTest = (schema: JsonObject) => boolean;

/** Real schemas nest a null alternative no deeper than this. */
const maxNullDepth = 8;

/** Without the cache, schemas that refer to each other would be tested forever. */
function nullTest(root: JsonObject): NullTest {
  const known = new Map<JsonObject, boolean>();

  const isNull = (schema: JsonObject, depth: number): boolean => {
    const found = known.get(schema) ?? (depth <= maxNullDepth && tested(schema, depth));
    known.set(schema, found);
    return found;
  };

  const tested = (schema: JsonObject, depth: number): boolean => {
    const types = typesOf(schema);
    const values = valuesOf(schema);
    if (types.length + values.length > 0) {
      return types.every((type) => type === 'null') && values.every((value) => value === null);
    }
    // A provisional result, in case the schema refers to itself.
    known.set(schema, false);
    const { $ref: reference } = schema;
    const target = typeof reference === 'string' ? resolveReference(root, reference) : undefined;
    const parts = [...(target === undefined ? [] : [target]), ...schemasOf(schema, 'allOf')];
    if (parts.some((part) => isNull(part, depth + 1))) return true;
    const alternatives = alternativesOf(schema);
    return alternatives.length > 0 && alternatives.every((one) => isNull(one, depth + 1));
  };

  return (schema) => isNull(schema, 0);
}

/** Reduces the schema to at most one type, and writes `const` as `enum`. */
function oneTyped(
  schema: JsonObject,
  alternatives: readonly JsonObject[],
): Pick<Flat, 'schema' | 'isComplete'> {
  const { type: _type, const: _constant, enum: _enum, ...rest } = schema;
  const types = typesOf(schema);
  const values = valuesOf(schema);
  const realTypes = types.filter((type) => type !== 'null');
  const realValues = values.filter((value) => value !== null);
  // Callers list null only in `type` or only in `enum` but mean both.
  const allowsNull = realTypes.length + realValues.length < types.length + values.length;
  if (allowsNull && realTypes.length + realValues.length === 0) {
    const { nullable: _nullable, ...withoutNullable } = rest;
    return { schema: { ...withoutNullable, type: 'null' }, isComplete: true };
  }
  const base = {
    ...rest,
    ...(realValues.length > 0 ? { enum: realValues } : {}),
    ...(allowsNull ? { nullable: true } : {}),
  };
  return withType(base, realTypes, alternatives);
}

function withType(
  base: JsonObject,
  types: readonly string[],
  alternatives: readonly JsonObject[],
): Pick<Flat, 'schema' | 'isComplete'> {
  const [only] = types;
  const one = only === undefined || types.length > 1 ? {} : { type: only };
  if (alternatives.length > 0) {
    // Alternatives that only constrain the parent (`required`) don't describe a value themselves.
    const onlyConstrain =
      !alternatives.some((inner) => describesValue(inner, only)) &&
      alternatives.some(constrainsParent);
    const anyOf = onlyConstrain ? {} : { anyOf: alternatives };
    return {
      schema: { ...base, ...one, ...anyOf },
      isComplete: !onlyConstrain && types.length < 2,
    };
  }
  if (types.length < 2) return { schema: { ...base, ...one }, isComplete: true };
  const entries = Object.entries(base);
  const own = entries.filter(([name]) => parentKeywords.has(name));
  const each = Object.fromEntries(entries.filter(([name]) => !parentKeywords.has(name)));
  const anyOf = types.map((type) => ({ ...each, type }));
  return { schema: { ...Object.fromEntries(own), anyOf }, isComplete: true };
}

/** Keywords that stay on the parent while the others are copied into each alternative. */
const parentKeywords: ReadonlySet<string> = new Set([
  ...['title', 'description', 'nullable', 'default', 'examples', '$defs', 'definitions'],
]);

const valueKeywords: readonly string[] = [
  ...['$ref', 'enum', 'const', 'properties', 'items', 'prefixItems', 'allOf', 'anyOf', 'oneOf'],
];

function describesValue(schema: JsonObject, typeOfWhole: string | undefined): boolean {
  if (typesOf(schema).some((type) => type !== typeOfWhole)) return true;
  return valueKeywords.some((name) => member(schema, name) !== undefined);
}

const parentConstraints: readonly string[] = [
  'required',
  'dependentRequired',
  'minProperties',
  'not',
];

function constrainsParent(schema: JsonObject): boolean {
  return parentConstraints.some((name) => member(schema, name) !== undefined);
}

function valuesOf(schema: JsonObject): readonly JsonValue[] {
  const values = member(schema, 'enum');
  const constant = member(schema, 'const');
  return values === undefined && constant !== undefined ? [constant] : items(values);
}

function charactersOf(schema: JsonObject): number {
  return Object.entries(schema).reduce((sum, [name, value]) => {
    if (typeof value === 'string') return sum + value.length;
    if (lists.has(name)) return sum + items(value).length * charactersOfSchema;
    if (name === 'properties' && isJsonObject(value))
      return sum + Object.keys(value).join('').length;
    return name === 'enum' || name === 'const' || name === 'required' || name === 'propertyOrdering'
      ? sum + jsonText(value).length
      : sum;
  }, 0);
}

/**
 * Charged for each schema in a list, since the list is copied even if nothing else is written for
 * the schema.
 */
const charactersOfSchema = 10;
const lists: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items']);
