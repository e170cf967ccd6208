/**
 * Says a schema without references, `allOf`, `oneOf`, `const` and lists of types, for upstreams
 * that know none of them (TRANSLATION §6.6).
 */

import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { jsonText } from '../raw-json.ts';
import { referredTo, schemasOf, typesOf } from './members.ts';
import { mergedSchema } from './merge.ts';

/** The way from the outermost schema to one inside. */
export interface Trail {
  /** The references that were followed; one that comes again would never end. */
  readonly references: readonly string[];
  readonly depth: number;
}

/** A schema in plain words. Those inside it are as they were. */
export interface Flat {
  readonly schema: JsonObject;
  readonly trail: Trail;
  /** False where something was left out. */
  readonly isWhole: boolean;
}

/** Flattens the schemas of one document. */
export interface Flattening {
  flat(schema: JsonObject, trail: Trail): Flat;
}

/** How much more may be written: a hostile schema grows without end by its references. */
export interface SchemaBudget {
  schemas: number;
  characters: number;
}

/** Room for all schemas of one request: many small ones may grow as well as one. */
export function newSchemaBudget(): SchemaBudget {
  return { schemas: 50_000, characters: 4_000_000 };
}

const mostSchemas = 10_000;
const mostCharacters = 1_000_000;
const deepest = 100;

/** What a schema becomes that can't be said in full. */
const anyObject: JsonObject = { type: 'object' };

/** Counts what it gives out: past a bound, every schema is just an object. */
export function newFlattening(root: JsonObject, all: SchemaBudget): Flattening {
  const own: SchemaBudget = { schemas: mostSchemas, characters: mostCharacters };
  const rooms = [own, all];

  const isSpent = (schema: JsonObject): boolean => {
    if (rooms.some(({ schemas, characters }) => schemas <= 0 || characters <= 0)) return true;
    const characters = charactersOf(schema);
    for (const room of rooms) {
      room.schemas -= 1;
      room.characters -= characters;
    }
    return rooms.some((room) => room.characters < 0);
  };

  const resolved = (schema: JsonObject, { references, depth }: Trail): Flat => {
    const trail = { references, depth: depth + 1 };
    if (depth > deepest || isSpent(schema)) return { schema: anyObject, trail, isWhole: false };
    const { $ref: reference, allOf: _parts, ...own } = schema;
    const parts = schemasOf(schema, 'allOf').map((part) => resolved(part, trail));
    const target = typeof reference === 'string' ? [followed(reference, trail)] : [];
    const others = [...target, ...parts];
    // Most references stand alone.
    if (others.length > 0 && Object.keys(own).length === 0) return merged(others);
    return merged([...others, { schema: own, trail, isWhole: true }]);
  };

  const followed = (reference: string, { references, depth }: Trail): Flat => {
    const trail = { references: [...references, reference], depth };
    if (references.includes(reference)) return { schema: anyObject, trail, isWhole: false };
    const target = referredTo(root, reference);
    return target === undefined ? { schema: {}, trail, isWhole: false } : resolved(target, trail);
  };

  const isNull = nullTest(root);

  const flat = (schema: JsonObject, trail: Trail): Flat => {
    const whole = resolved(schema, trail);
    const { schema: nullable, alternatives } = withoutNull(whole.schema, isNull);
    const [only] = alternatives;
    if (only === undefined || alternatives.length > 1) {
      const { schema: plain, isWhole } = oneTyped(nullable, alternatives);
      return { ...whole, schema: plain, isWhole: whole.isWhole && isWhole };
    }
    const inner = flat({ ...nullable, allOf: [only] }, whole.trail);
    return { ...inner, isWhole: inner.isWhole && whole.isWhole };
  };

  return { flat };
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
    isWhole: parts.every(({ isWhole }) => isWhole) && !isContested(parts),
  };
}

/** What may differ among parts that hold at once, for both are kept or neither constrains. */
const joined: ReadonlySet<string> = new Set([
  'properties',
  'required',
  'type',
  'title',
  'description',
  'nullable',
  '$defs',
  'definitions',
]);

function isContested(parts: readonly Flat[]): boolean {
  const names = parts.flatMap(({ schema }) =>
    Object.keys(schema).filter((name) => !joined.has(name)),
  );
  return new Set(names).size < names.length;
}

interface Split {
  readonly schema: JsonObject;
  readonly alternatives: readonly JsonObject[];
}

/** `null` among the alternatives is said by `nullable`; the real ones come apart. */
function withoutNull(schema: JsonObject, isNull: NullTest): Split {
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

/** Nobody hides a null deeper. */
const deepestNull = 8;

/** Remembers what it has found: schemas that refer to one another would be tested without end. */
function nullTest(root: JsonObject): NullTest {
  const known = new Map<JsonObject, boolean>();

  const isNull = (schema: JsonObject, depth: number): boolean => {
    const found = known.get(schema) ?? (depth <= deepestNull && tested(schema, depth));
    known.set(schema, found);
    return found;
  };

  const tested = (schema: JsonObject, depth: number): boolean => {
    const types = typesOf(schema);
    const values = valuesOf(schema);
    if (types.length + values.length > 0) {
      return types.every((type) => type === 'null') && values.every((value) => value === null);
    }
    // Until it is known otherwise, for one that refers to itself.
    known.set(schema, false);
    const { $ref: reference } = schema;
    const target = typeof reference === 'string' ? referredTo(root, reference) : undefined;
    const parts = [...(target === undefined ? [] : [target]), ...schemasOf(schema, 'allOf')];
    if (parts.some((part) => isNull(part, depth + 1))) return true;
    const alternatives = alternativesOf(schema);
    return alternatives.length > 0 && alternatives.every((one) => isNull(one, depth + 1));
  };

  return (schema) => isNull(schema, 0);
}

/** One type at most, and a row of values in place of the only one. */
function oneTyped(
  schema: JsonObject,
  alternatives: readonly JsonObject[],
): Pick<Flat, 'schema' | 'isWhole'> {
  const { type: _type, const: _constant, enum: _enum, ...rest } = schema;
  const types = typesOf(schema);
  const values = valuesOf(schema);
  const realTypes = types.filter((type) => type !== 'null');
  const realValues = values.filter((value) => value !== null);
  // Callers write null in either place and mean both.
  const allowsNull = realTypes.length + realValues.length < types.length + values.length;
  if (allowsNull && realTypes.length + realValues.length === 0) {
    const { nullable: _nullable, ...said } = rest;
    return { schema: { ...said, type: 'null' }, isWhole: true };
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
): Pick<Flat, 'schema' | 'isWhole'> {
  const [only] = types;
  const one = only === undefined || types.length > 1 ? {} : { type: only };
  if (alternatives.length > 0) {
    // Those that only demand something of the whole (`required`) have no form of their own.
    const isDemand =
      !alternatives.some((inner) => hasForm(inner, only)) && alternatives.some(demandsOfWhole);
    const anyOf = isDemand ? {} : { anyOf: alternatives };
    return { schema: { ...base, ...one, ...anyOf }, isWhole: !isDemand && types.length < 2 };
  }
  if (types.length < 2) return { schema: { ...base, ...one }, isWhole: true };
  const entries = Object.entries(base);
  const own = entries.filter(([name]) => ofTheWhole.has(name));
  const each = Object.fromEntries(entries.filter(([name]) => !ofTheWhole.has(name)));
  const anyOf = types.map((type) => ({ ...each, type }));
  return { schema: { ...Object.fromEntries(own), anyOf }, isWhole: true };
}

/** What is said once where the rest is said of each alternative. */
const ofTheWhole: ReadonlySet<string> = new Set([
  'title',
  'description',
  'nullable',
  'default',
  'examples',
  '$defs',
  'definitions',
]);

const forms: readonly string[] = [
  '$ref',
  'enum',
  'const',
  'properties',
  'items',
  'prefixItems',
  'allOf',
  'anyOf',
  'oneOf',
];

function hasForm(schema: JsonObject, typeOfWhole: string | undefined): boolean {
  if (typesOf(schema).some((type) => type !== typeOfWhole)) return true;
  return forms.some((name) => member(schema, name) !== undefined);
}

const demands: readonly string[] = ['required', 'dependentRequired', 'minProperties', 'not'];

function demandsOfWhole(schema: JsonObject): boolean {
  return demands.some((name) => member(schema, name) !== undefined);
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
    if (name === 'properties' && isJsonObject(value)) return sum + lengthOf(Object.keys(value));
    return name === 'enum' || name === 'const' || name === 'required' || name === 'propertyOrdering'
      ? sum + jsonText(value).length
      : sum;
  }, 0);
}

/** Each schema of a list is copied with the list, even where nothing more is given out for it. */
const charactersOfSchema = 10;
const lists: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items']);

function lengthOf(names: readonly string[]): number {
  return names.reduce((sum, name) => sum + name.length, 0);
}
