// suite: quick
/** Google’s own schemas are converted to JSON Schema. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromOpenApiSchema, toOpenApiSchema } from '../../../src/canonical/schema/openapi.ts';
import { mapSchema } from '../../../src/canonical/schema/walk.ts';
import { type JsonObject, member } from '../../../src/json.ts';
import { runsOf } from '../../support/sample.ts';
import { arbitrarySchema, settledSubset } from './schema-corpus.ts';

describe('Google’s schema as JSON Schema', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['has types in lower case', { type: 'STRING' }, { type: 'string' }],
    ['has types by protobuf’s numbers', { type: 3 }, { type: 'integer' }],
    ['has no type where it is unspecified', { type: 'TYPE_UNSPECIFIED' }, {}],
    ['is nullable by its type', { type: 'STRING', nullable: true }, { type: ['string', 'null'] }],
    [
      'has null among its values',
      { type: 'STRING', format: 'enum', enum: ['a'], nullable: true },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      'has null among its alternatives',
      { anyOf: [{ type: 'STRING' }], nullable: true },
      { anyOf: [{ type: 'string' }, { type: 'null' }] },
    ],
    ['has counts as numbers', { max_items: '2', minimum: '1.5' }, { maxItems: 2, minimum: 1.5 }],
    [
      'has numbers as the values of a number',
      { type: 'INTEGER', enum: ['1', '2'] },
      { type: 'integer', enum: [1, 2] },
    ],
    [
      'has its example in a list, and its order in that of the properties',
      { properties: { b: {}, a: {} }, property_ordering: ['a'], example: 1 },
      { properties: { a: {}, b: {} }, examples: [1] },
    ],
    ['says nothing where protobuf says null', { items: null, default: null }, { default: null }],
    [
      'has references as JSON Schema writes them',
      { defs: { A: { type: 'STRING' } }, properties: { a: { ref: '#/defs/A', nullable: true } } },
      {
        $defs: { A: { type: 'string' } },
        properties: { a: { anyOf: [{ $ref: '#/$defs/A' }, { type: 'null' }] } },
      },
    ],
    [
      'leaves JSON Schema as it is',
      { type: ['string', 'null'], const: null },
      { type: ['string', 'null'], const: null },
    ],
    [
      'leaves data as it is',
      { default: { nullable: true, type: 'STRING', min_items: '1' } },
      { default: { nullable: true, type: 'STRING', min_items: '1' } },
    ],
  ])('%s', (_, openApi, schema) => {
    expect(fromOpenApiSchema(openApi)).toEqual(schema);
  });

  it('keeps properties that are named like keywords, or in snake case', () => {
    const properties = { any_of: { type: 'STRING' }, nullable: {}, example: {}, ref: {}, type: {} };

    const schema = fromOpenApiSchema({ type: 'OBJECT', properties });

    expect(member(schema, 'properties')).toEqual({ ...properties, any_of: { type: 'string' } });
  });

  it('is restored from the subset unchanged, for any schema', () => {
    const law = fc.property(arbitrarySchema, (schema) => {
      const subset = settledSubset(schema);

      const back = fromOpenApiSchema(subset);

      expect(JSON.stringify(back)).not.toMatch(/"(?:STRING|nullable|propertyOrdering)":/);
      expect(carried(toOpenApiSchema(back).schema)).toEqual(carried(subset));
    });

    fc.assert(law, { numRuns: runsOf(500) });
  });
});

/**
 * Removes what JSON Schema can't express: an enum's format, and a null where anything is allowed.
 */
function carried(schema: JsonObject): JsonObject {
  return mapSchema(schema, (inner) => {
    const { format, nullable, ...rest } = inner;
    const isTyped = member(rest, 'type') !== undefined || member(rest, 'anyOf') !== undefined;
    return {
      ...rest,
      ...(format === undefined || format === 'enum' ? {} : { format }),
      ...(nullable === undefined || !isTyped ? {} : { nullable }),
    };
  });
}
