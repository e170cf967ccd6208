// suite: slow
/** JSON Schema in the forms that strict providers accept. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withoutTitles } from '../../../src/canonical/schema/members.ts';
import {
  closedSchema,
  isStrictSchema,
  objectSchema,
} from '../../../src/canonical/schema/strictness.ts';
import { everySchema, mapSchema } from '../../../src/canonical/schema/walk.ts';
import type { JsonObject } from '../../../src/json.ts';
import { runsOf } from '../../support/sample.ts';
import { arbitrarySchema, recordedSchemas } from './schema-corpus.ts';

const keywords = ['pattern', 'title', 'format', 'default', '$ref', 'properties', '$id', 'strict'];

const named: JsonObject = Object.fromEntries(
  [...keywords, 'x-own', '$schema', 'minimum', 'oneOf'].map((name) => [name, { type: 'string' }]),
);

describe('a schema without titles', () => {
  const schema: JsonObject = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:x',
    title: 'Whole',
    'x-order': 1,
    type: 'object',
    properties: { ...named, a: { title: 'A', anyOf: [{ title: 'B', $ref: '#/$defs/title' }] } },
    required: Object.keys(named),
    default: { title: 'data' },
    examples: [{ title: 'data' }],
    $defs: { title: { title: 'T', enum: [{ title: 'data' }], const: { title: true } } },
  };

  it('keeps all else, properties named `title` and data too', () => {
    const { schema: untitled, changed } = withoutTitles(schema);

    expect(changed).toBe(true);
    expect(untitled).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'urn:x',
      'x-order': 1,
      type: 'object',
      properties: { ...named, a: { anyOf: [{ $ref: '#/$defs/title' }] } },
      required: Object.keys(named),
      default: { title: 'data' },
      examples: [{ title: 'data' }],
      $defs: { title: { enum: [{ title: 'data' }], const: { title: true } } },
    });
  });

  it('has none left, as recorded schemas show', () => {
    for (const { schema: recorded } of recordedSchemas()) {
      const { schema: untitled } = withoutTitles(recorded);

      expect(everySchema(untitled, (inner) => !('title' in inner))).toBe(true);
      expect(withoutTitles(untitled)).toEqual({ schema: untitled, changed: false });
    }
  });
});

describe('OpenAI’s strict rules', () => {
  const closed: JsonObject = {
    type: 'object',
    properties: { a: { type: ['string', 'null'] }, b: { type: 'array', items: { $ref: '#' } } },
    required: ['a', 'b'],
    additionalProperties: false,
  };

  it('are met if every object is closed and requires all its properties', () => {
    expect(isStrictSchema(closed)).toBe(true);
    expect(isStrictSchema({ ...closed, title: 'T', $defs: { d: closed } })).toBe(true);
  });

  it.each<[string, JsonObject]>([
    ['is open', { ...closed, additionalProperties: true }],
    ['does not say whether it is open', { type: 'object', properties: {} }],
    ['does not require all', { ...closed, required: ['a'] }],
    ['is no object', { type: 'string' }],
    ['is one of several', { ...closed, anyOf: [closed] }],
    ['holds an open object', { ...closed, $defs: { d: { type: 'object' } } }],
    ['holds an object without its type', { ...closed, $defs: { d: { properties: { a: {} } } } }],
    ['holds what may be anything', { ...closed, properties: { a: {}, b: { type: 'null' } } }],
    ['holds an array of anything', { ...closed, $defs: { d: { type: 'array' } } }],
    ['has parts', { ...closed, allOf: [closed] }],
    ['has a keyword strict does not know', { ...closed, $defs: { d: { oneOf: [closed] } } }],
  ])('are not met if the schema %s', (_, schema) => {
    expect(isStrictSchema(schema)).toBe(false);
  });

  it('do not apply to data and names', () => {
    const properties = { oneOf: { type: 'string', default: { type: 'object' } } };

    const schema = { type: 'object', properties, required: ['oneOf'], additionalProperties: false };

    expect(isStrictSchema(schema)).toBe(true);
  });
});

describe('a schema for Anthropic’s structured output', () => {
  it('closes every object', () => {
    const { schema, changed } = closedSchema({
      type: 'object',
      properties: { a: { properties: { b: { type: 'string' } } } },
      $defs: { d: { type: ['object', 'null'] } },
    });

    expect(schema).toEqual({
      type: 'object',
      properties: {
        a: { properties: { b: { type: 'string' } }, additionalProperties: false },
      },
      $defs: { d: { type: ['object', 'null'], additionalProperties: false } },
      additionalProperties: false,
    });
    expect(changed).toBe(false);
  });

  it.each<[string, JsonObject, JsonObject]>([
    [
      'has bounds in its description',
      { type: 'integer', minimum: 1, maximum: 5, description: 'Stars' },
      { type: 'integer', description: 'Stars (minimum: 1, maximum: 5)' },
    ],
    [
      'has no description but them',
      { type: 'string', maxLength: 3 },
      { type: 'string', description: 'maxLength: 3' },
    ],
    [
      'has no formats Anthropic does not know',
      { format: 'int32' },
      { description: 'format: "int32"' },
    ],
    ['has no patterns that look around', { pattern: '(?=a)' }, { description: 'pattern: "(?=a)"' }],
    ['has no tuples', { prefixItems: [{}] }, { description: 'prefixItems: [{}]' }],
  ])('%s', (_, schema, closed) => {
    expect(closedSchema(schema)).toEqual({ schema: closed, changed: true });
  });

  it.each<JsonObject>([
    { type: 'array', items: { type: 'string' }, minItems: 1 },
    { type: 'string', format: 'date-time', pattern: '^[a-z]+(?:-x)?$' },
    { anyOf: [{ type: 'string' }, { $ref: '#/$defs/d' }], $defs: { d: { const: 1 } } },
    { default: { minimum: 1 }, enum: [{ maximum: 1 }] },
  ])('keeps supported keywords: %j', (schema) => {
    expect(closedSchema(schema)).toEqual({ schema, changed: false });
  });

  it('reports an open object that had to be closed', () => {
    const open = { type: 'object', additionalProperties: { type: 'string' } };

    const { schema, changed } = closedSchema(open);

    expect(schema).toEqual({ type: 'object', additionalProperties: false });
    expect(changed).toBe(true);
  });

  it('has anyOf in place of oneOf', () => {
    const either = { oneOf: [{ type: 'string' }, { type: 'null' }], discriminator: {} };

    expect(closedSchema(either)).toEqual({
      schema: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      changed: false,
    });
  });

  it('keeps properties named like keywords', () => {
    const { schema, changed } = closedSchema({ type: 'object', properties: named });

    expect(schema).toMatchObject({ properties: named });
    expect(changed).toBe(false);
  });

  it('stays unchanged once it is closed, for any schema', () => {
    const law = fc.property(arbitrarySchema, (schema) => {
      const closed = closedSchema(schema).schema;

      expect(closedSchema(closed).schema).toEqual(closed);
      expect(everySchema(closed, isClosed)).toBe(true);
    });

    fc.assert(law, { numRuns: runsOf(300) });
  });
});

describe('a schema for Anthropic’s tools', () => {
  it.each<[string, JsonObject | undefined, JsonObject]>([
    ['is an empty object where there is none', undefined, { type: 'object', properties: {} }],
    [
      'is an object where it does not say so',
      { properties: { a: {} } },
      { type: 'object', properties: { a: {} } },
    ],
    ['is never null', { type: ['object', 'null'] }, { type: 'object' }],
    [
      'is an object of all its parts',
      {
        description: 'd',
        allOf: [
          { properties: { a: { type: 'string' } }, required: ['a'] },
          { properties: { b: {} }, required: ['b'] },
        ],
        properties: { c: {} },
      },
      {
        description: 'd',
        type: 'object',
        properties: { a: { type: 'string' }, b: {}, c: {} },
        required: ['a', 'b'],
      },
    ],
    [
      'requires only what all alternatives require',
      {
        oneOf: [
          { properties: { kind: { const: 'a' }, x: {} }, required: ['kind', 'x'] },
          { properties: { kind: { const: 'b' }, y: {} }, required: ['y', 'kind'] },
        ],
      },
      {
        type: 'object',
        properties: { kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, x: {}, y: {} },
        required: ['kind'],
      },
    ],
    [
      'has what it refers to in its place',
      {
        $ref: '#/$defs/A',
        $defs: { A: { description: 'A', properties: { a: { $ref: '#/$defs/A' } } } },
      },
      {
        description: 'A',
        $defs: { A: { description: 'A', properties: { a: { $ref: '#/$defs/A' } } } },
        type: 'object',
        properties: { a: { $ref: '#/$defs/A' } },
      },
    ],
  ])('%s', (_, schema, object) => {
    expect(objectSchema(schema)).toEqual(object);
  });

  it('keeps a property named like the prototype', () => {
    const properties = Object.fromEntries([['__proto__', { type: 'string' }]]);

    const object = objectSchema({ allOf: [{ properties }, { properties: { a: {} } }] });

    expect(Object.keys(object)).toContain('properties');
    expect(JSON.stringify(object)).toContain('"__proto__":{"type":"string"}');
  });

  it('leaves the recorded schemas of objects as they are', () => {
    for (const { schema } of recordedSchemas()) {
      const { $schema: _dialect, ...rest } = schema;
      if (schema.type === 'object') expect(objectSchema(schema)).toEqual(rest);
    }
  });

  it('is an object without alternatives at the root, for any schema', () => {
    const law = fc.property(arbitrarySchema, (schema) => {
      const object = objectSchema(schema);

      expect(object.type).toBe('object');
      for (const name of ['$ref', 'anyOf', 'oneOf', 'allOf']) {
        expect(Object.keys(object)).not.toContain(name);
      }
      expect(objectSchema(object)).toEqual(object);
    });

    fc.assert(law, { numRuns: runsOf(300) });
  });

  it('stays bounded for alternatives that multiply', () => {
    const all = Array.from({ length: 50 }, (_, index) => ({ $ref: `#/$defs/d${index}` }));
    const $defs = Object.fromEntries(all.map((_, index) => [`d${index}`, { anyOf: all }]));

    expect(objectSchema({ anyOf: all, $defs })).toMatchObject({ type: 'object', properties: {} });
  });
});

describe('a traversal of a schema', () => {
  it('changes nothing by itself', () => {
    const law = fc.property(arbitrarySchema, (schema) => {
      expect(mapSchema(schema, (inner) => inner)).toEqual(schema);
    });

    fc.assert(law, { numRuns: runsOf(300) });
  });

  it('reaches every schema, and nothing else', () => {
    const inner = { type: 'string' };
    const schema: JsonObject = {
      items: [inner],
      prefixItems: [inner],
      additionalProperties: inner,
      properties: { items: inner },
      dependentSchemas: { a: inner },
      not: inner,
      enum: [inner],
      const: inner,
      default: inner,
      examples: [inner],
      required: ['items'],
      unknown: inner,
    };
    const seen: JsonObject[] = [];

    everySchema(schema, (one) => seen.push(one) > 0);

    expect(seen).toEqual([schema, inner, inner, inner, inner, inner, inner]);
  });

  it('has a depth limit', () => {
    let schema: JsonObject = { title: 'deep' };
    for (let level = 0; level < 100_000; level += 1) schema = { items: schema };

    expect(() => withoutTitles(schema)).not.toThrow();
    expect(isStrictSchema(schema)).toBe(false);
  });
});

function isClosed(schema: JsonObject): boolean {
  const isObject = schema.type === 'object' || ('properties' in schema && !('type' in schema));
  return !isObject || schema.additionalProperties === false;
}
