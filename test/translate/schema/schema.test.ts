// suite: slow
/** JSON Schema in Google’s OpenAPI subset. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namesOf } from '../../../src/canonical/schema/members.ts';
import { toOpenApiSchema } from '../../../src/canonical/schema/openapi.ts';
import { isJsonObject, items, type JsonObject, member } from '../../../src/json.ts';
import { runsOf } from '../../support/sample.ts';
import { arbitrarySchema, recordedSchemas, settledSubset, subsetSchemas } from './schema-corpus.ts';

describe('a schema in Google’s subset', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['has types in upper case', { type: 'string' }, { type: 'STRING' }],
    ['may be null', { type: ['string', 'null'] }, { type: 'STRING', nullable: true }],
    ['may be nothing but null', { type: 'null' }, { type: 'NULL' }],
    [
      'has alternatives for a list of types, each with what belongs to it',
      { description: 'd', type: ['array', 'string'], items: { type: 'integer' }, maxLength: 3 },
      {
        description: 'd',
        anyOf: [
          { type: 'ARRAY', items: { type: 'INTEGER' } },
          { type: 'STRING', maxLength: '3' },
        ],
      },
    ],
    [
      'is the only alternative beside null, described from outside',
      { description: 'outer', anyOf: [{ type: 'string', description: 'inner' }, { type: 'null' }] },
      { type: 'STRING', description: 'outer', nullable: true },
    ],
    [
      'has oneOf as anyOf',
      { oneOf: [{ type: 'string' }, { type: 'number' }] },
      { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] },
    ],
    ['has a constant as its only value', { const: 'a' }, { type: 'STRING', enum: ['a'] }],
    [
      'has null out of its values',
      { type: 'string', enum: ['a', null] },
      { type: 'STRING', enum: ['a'], nullable: true },
    ],
    [
      'has numbers that are its values in its description',
      { type: 'integer', enum: [1, 2], description: 'How much' },
      { type: 'INTEGER', description: 'How much (one of: 1, 2)' },
    ],
    ['has no empty text among its values', { enum: ['', 'a'] }, { type: 'STRING', enum: ['a'] }],
    [
      'says in its description what a bound excludes',
      { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1, maximum: 5 },
      { type: 'NUMBER', maximum: 5, description: 'greater than 0, less than 1' },
    ],
    [
      'keeps the formats Google knows',
      { type: 'integer', format: 'int64' },
      { type: 'INTEGER', format: 'int64' },
    ],
    ['keeps no other format', { type: 'string', format: 'uuid' }, { type: 'STRING' }],
    [
      'has counts as text',
      { type: 'array', items: { type: 'null' }, minItems: 1 },
      { type: 'ARRAY', items: { type: 'NULL' }, minItems: '1' },
    ],
    ['has items in every array', { type: 'array' }, { type: 'ARRAY', items: { type: 'STRING' } }],
    [
      'has the elements of a tuple as alternatives',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }] },
      { type: 'ARRAY', items: { anyOf: [{ type: 'STRING' }, { type: 'INTEGER' }] } },
    ],
    [
      'has no properties where there are none',
      { type: 'object', properties: {} },
      { type: 'OBJECT' },
    ],
    [
      'requires only what there is, in the order that was written',
      { type: 'object', properties: { b: {}, a: true }, required: ['a', 'c'] },
      {
        type: 'OBJECT',
        properties: { b: {}, a: {} },
        required: ['a'],
        propertyOrdering: ['b', 'a'],
      },
    ],
    [
      'has nothing that does not belong to its type',
      { type: 'string', properties: { a: {} }, required: ['a'], minimum: 1, items: {} },
      { type: 'STRING' },
    ],
    [
      'drops alternatives that only demand something of the whole',
      { type: 'object', properties: { a: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      { type: 'OBJECT', properties: { a: {} }, propertyOrdering: ['a'] },
    ],
    [
      'drops them even where they repeat the type of the whole',
      {
        type: 'object',
        properties: { a: {} },
        oneOf: [
          { type: 'object', required: ['a'] },
          { type: 'object', required: ['b'] },
        ],
      },
      { type: 'OBJECT', properties: { a: {} }, propertyOrdering: ['a'] },
    ],
    [
      'is all of its parts',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          { properties: { b: { type: 'string' }, a: { description: 'd' } }, required: ['b'] },
        ],
      },
      {
        type: 'OBJECT',
        properties: { a: { type: 'STRING', description: 'd' }, b: { type: 'STRING' } },
        required: ['a', 'b'],
        propertyOrdering: ['a', 'b'],
      },
    ],
  ])('%s', (_, schema, subset) => {
    expect(toOpenApiSchema(schema).schema).toEqual(subset);
  });

  it('reports whether anything was lost', () => {
    const kept = { type: 'object', properties: { a: { type: ['string', 'null'] } } };
    const lost: readonly JsonObject[] = [
      { type: 'object', additionalProperties: { type: 'string' } },
      { type: 'object', properties: { a: { type: 'string', format: 'email' } } },
      { type: 'integer', enum: [1] },
      { type: 'string', default: 'x' },
      { not: { type: 'string' } },
      { $schema: 's', type: 'string' },
      { $comment: 'c', type: 'string' },
      { type: 'array' },
      { type: 'array', items: {} },
      { type: 'any' },
      { $ref: 'https://example.com/schema' },
      { $ref: '#' },
    ];

    expect(toOpenApiSchema(kept).changed).toBe(false);
    expect(lost.map((schema) => toOpenApiSchema(schema).changed)).toEqual(lost.map(() => true));
  });

  it('has references inlined, with their sibling keywords', () => {
    const schema = {
      $defs: { 'a/b%': { type: 'string', description: 'inner' } },
      properties: { x: { $ref: '#/$defs/a~1b%25', description: 'outer' } },
    };

    const { schema: subset, changed } = toOpenApiSchema(schema);

    expect(member(subset, 'properties')).toEqual({ x: { type: 'STRING', description: 'outer' } });
    expect(changed).toBe(false);
  });

  it('has an object in place of a recursive reference', () => {
    const node = {
      type: 'object',
      properties: { next: { $ref: '#/$defs/node' }, size: { type: 'integer' } },
    };

    const { schema, changed } = toOpenApiSchema({ $defs: { node }, $ref: '#/$defs/node' });

    expect(member(member(schema, 'properties'), 'next')).toEqual({ type: 'OBJECT' });
    expect(changed).toBe(true);
  });

  it('keeps properties that are named like keywords', () => {
    const { schema, changed } = toOpenApiSchema({ type: 'object', ...keywordsAsNames });

    expect(Object.keys(propertiesIn(schema))).toEqual(keywords);
    expect(member(schema, 'required')).toEqual(keywords);
    expect(changed).toBe(false);
  });

  it.each<[string, JsonObject]>([
    ['references that double', doubling()],
    ['parts that double', doublingParts()],
    ['long values that are put in place again and again', repeatedValues()],
    ['many levels', nested(5000)],
    ['a long chain of references', chain(5000)],
    ['parts within parts', parts(5000)],
  ])('stays bounded for %s', (_, hostile) => {
    const { schema, changed } = toOpenApiSchema(hostile);

    expect(changed).toBe(true);
    expect(JSON.stringify(schema).length).toBeLessThan(5_000_000);
    expect(subsetSchemas(schema).length).toBeLessThan(30_000);
  });

  it.each(recordedSchemas())('is valid for the recorded $name', ({ schema }) => {
    const subset = toOpenApiSchema(schema).schema;

    expectSubset(subset);
    expect(toOpenApiSchema(subset)).toEqual({ schema: subset, changed: false });
  });

  it('is valid for any schema, and stable after a few conversions', () => {
    const law = fc.property(arbitrarySchema, (schema) => {
      const once = toOpenApiSchema(schema).schema;
      const settled = settledSubset(once);

      expectSubset(once);
      expect(toOpenApiSchema(settled).schema).toEqual(settled);
    });

    fc.assert(law, { numRuns: runsOf(500) });
  });

  it('keeps every property of every object it keeps', () => {
    const plain = fc.dictionary(fc.constantFrom(...keywords, 'a', '__proto__'), fc.constant({}));
    const law = fc.property(plain, (properties) => {
      const { schema } = toOpenApiSchema({ type: 'object', properties });

      expect(Object.keys(propertiesIn(schema))).toEqual(Object.keys(properties));
    });

    fc.assert(law);
  });
});

const allowed: ReadonlySet<string> = new Set([
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'enum',
  'maxItems',
  'minItems',
  'properties',
  'required',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'anyOf',
  'propertyOrdering',
  'items',
  'minimum',
  'maximum',
]);

const types = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'];

/** One comparison for all nested schemas, since there may be thousands. */
function expectSubset(subset: JsonObject): void {
  expect(subsetSchemas(subset).flatMap(faultsOf)).toEqual([]);
}

function faultsOf(schema: JsonObject): readonly string[] {
  const type = member(schema, 'type');
  const properties = propertiesIn(schema);
  const rules: readonly (readonly [string, boolean])[] = [
    ['only allowed keys', Object.keys(schema).every((name) => allowed.has(name))],
    ['a known type', type === undefined || types.includes(String(type))],
    ['items in arrays alone', (type === 'ARRAY') === isJsonObject(member(schema, 'items'))],
    ['properties in objects alone', type === 'OBJECT' || !('properties' in schema)],
    ['no empty properties', !('properties' in schema) || Object.keys(properties).length > 0],
    [
      'required ones that exist',
      namesOf(schema, 'required').every((name) => Object.hasOwn(properties, name)),
    ],
    ['enums of text', items(member(schema, 'enum')).every((value) => typeof value === 'string')],
    [
      'counts as text',
      ['minItems', 'maxLength'].every(
        (name) => !(name in schema) || typeof member(schema, name) === 'string',
      ),
    ],
  ];
  return rules.flatMap(([rule, holds]) => (holds ? [] : [`not ${rule}`]));
}

function propertiesIn(schema: JsonObject): JsonObject {
  const properties = member(schema, 'properties');
  return isJsonObject(properties) ? properties : {};
}

const keywords = [
  'pattern',
  'title',
  'format',
  'default',
  '$ref',
  'properties',
  'required',
  'enum',
];

const keywordsAsNames: JsonObject = {
  properties: Object.fromEntries(keywords.map((name) => [name, { type: 'string' }])),
  required: keywords,
};

function doubling(): JsonObject {
  const both = (name: string): JsonObject => ({
    type: 'object',
    properties: { l: { $ref: `#/$defs/${name}` }, r: { $ref: `#/$defs/${name}` } },
  });
  return { $defs: series(40, (index) => both(`d${index + 1}`)), $ref: '#/$defs/d0' };
}

function doublingParts(): JsonObject {
  const both = (name: string): JsonObject => ({
    allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }],
  });
  return { $defs: series(40, (index) => both(`d${index + 1}`)), $ref: '#/$defs/d0' };
}

function repeatedValues(): JsonObject {
  const values = Array.from({ length: 10_000 }, (_, index) => `value ${index}`);
  return {
    $defs: { d: { type: 'string', enum: values } },
    properties: series(5000, () => ({ $ref: '#/$defs/d' })),
  };
}

function nested(levels: number): JsonObject {
  let schema: JsonObject = { type: 'string' };
  for (let level = 0; level < levels; level += 1) schema = { type: 'array', items: schema };
  return schema;
}

function chain(length: number): JsonObject {
  return {
    $defs: series(length, (index) => ({ $ref: `#/$defs/d${index + 1}` })),
    $ref: '#/$defs/d0',
  };
}

function parts(levels: number): JsonObject {
  let schema: JsonObject = { type: 'string' };
  for (let level = 0; level < levels; level += 1) schema = { allOf: [schema] };
  return schema;
}

function series(length: number, make: (index: number) => JsonObject): JsonObject {
  return Object.fromEntries(Array.from({ length }, (_, index) => [`d${index}`, make(index)]));
}
