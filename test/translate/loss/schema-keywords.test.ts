// suite: search
/**
 * No keyword of a caller's schema is lost silently, at any level of the schema: it is sent to the
 * upstream, or named in `x-tollgate-dropped`.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { type Route, routes, sentFor } from './translate.ts';

const planted = 'planted7919q';

/** Keywords that inform or constrain, and ones that no standard has. */
const keywords: Readonly<Record<string, JsonValue>> = {
  $schema: planted,
  $id: planted,
  $anchor: planted,
  $comment: planted,
  title: planted,
  description: planted,
  default: planted,
  example: planted,
  examples: [planted],
  const: planted,
  enum: [planted],
  format: planted,
  pattern: planted,
  contentEncoding: planted,
  contentMediaType: planted,
  deprecated: planted,
  readOnly: planted,
  writeOnly: planted,
  strict: planted,
  minLength: 7919,
  maxLength: 7919,
  minimum: 7919,
  exclusiveMaximum: 7919,
  multipleOf: 7919,
  minItems: 7919,
  uniqueItems: true,
  minProperties: 7919,
  not: { title: planted },
  if: { title: planted },
  contains: { title: planted },
  propertyNames: { title: planted },
  patternProperties: { [planted]: {} },
  dependentRequired: { a: [planted] },
  externalDocs: { url: planted },
  'x-own': planted,
  unknown: { deep: [planted] },
};

const text: JsonObject = { type: 'string' };

/** Schemas with the planted members at one of their levels. */
const levels: Readonly<Record<string, (members: JsonObject) => JsonObject>> = {
  'the root': (members) => objectOf({ a: text }, members),
  'a property': (members) => objectOf({ a: { ...text, ...members } }),
  'a property of a property': (members) =>
    objectOf({ a: objectOf({ b: { ...text, ...members } }) }),
  'elements of a list': (members) =>
    objectOf({ a: { type: 'array', items: { ...text, ...members } } }),
  'elements of a tuple': (members) =>
    objectOf({ a: { type: 'array', prefixItems: [{ ...text, ...members }, text] } }),
  'an alternative of a property': (members) =>
    objectOf({ a: { anyOf: [{ ...text, ...members }, { type: 'integer' }] } }),
  'a nullable property': (members) =>
    objectOf({ a: { anyOf: [{ ...text, ...members }, { type: 'null' }] } }),
  'a part of a property': (members) => objectOf({ a: { allOf: [{ ...text, ...members }, text] } }),
  'a referenced schema': (members) =>
    objectOf({ a: { $ref: '#/$defs/a' } }, { $defs: { a: { ...text, ...members } } }),
  'a reference': (members) =>
    objectOf({ a: { $ref: '#/$defs/a', ...members } }, { $defs: { a: text } }),
  'further properties': (members) =>
    objectOf({ a: text }, { additionalProperties: { ...text, ...members } }),
  'a part of the root': (members) => ({
    type: 'object',
    allOf: [objectOf({ a: text }, members), objectOf({ b: text })],
  }),
  'the only alternative of the root': (members) => ({ anyOf: [objectOf({ a: text }, members)] }),
  'an alternative of the root': (members) => ({
    oneOf: [objectOf({ a: text }, members), objectOf({ b: text })],
  }),
  'the schema that the root refers to': (members) => ({
    $ref: '#/$defs/a',
    $defs: { a: objectOf({ a: text }, members) },
  }),
};

function objectOf(properties: JsonObject, members: JsonObject = {}): JsonObject {
  return { type: 'object', properties, ...members };
}

const requests = {
  'chat tools': (schema: JsonObject) => chat({ tools: [functionOf(schema)] }),
  'chat strict tools': (schema: JsonObject) => chat({ tools: [functionOf(schema, true)] }),
  'chat response format': (schema: JsonObject) =>
    chat({ response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } }),
  'native tools': (schema: JsonObject) =>
    native({
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: schema }] }],
    }),
  'native response format': (schema: JsonObject) =>
    native({
      generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema },
    }),
} as const;

function functionOf(parameters: JsonObject, strict = false): JsonObject {
  return { type: 'function', function: { name: 'f', parameters, ...(strict ? { strict } : {}) } };
}

function chat(members: JsonObject): JsonObject {
  return { model: 'm', messages: [{ role: 'user', content: 'hi' }], ...members };
}

function native(members: JsonObject): JsonObject {
  return { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], ...members };
}

/** One model for each way to write schemas. */
const models: ReadonlySet<string> = new Set([
  ...['gemini-2.5-flash', 'gemini-1.5-pro', 'gemma-3-27b'],
  ...['claude-opus-4-8', 'claude-3-5-haiku', 'gpt-5.4'],
]);

const cases = routes
  .filter(({ model }) => models.has(model))
  .flatMap((route) =>
    Object.entries(requests)
      .filter(([name]) => name.startsWith(route.protocol))
      .map(([name, request]) => [name, route.dialect, route.model, route, request] as const),
  );

describe('no keyword of a schema is lost silently', () => {
  it.each(cases)('%s over %s (%s)', (_name, _dialect, _model, route, request) => {
    const lost = Object.entries(levels).flatMap(([level, schemaWith]) =>
      Object.entries(keywords)
        .filter(([keyword, value]) => isLost(route, request(schemaWith({ [keyword]: value }))))
        .map(([keyword]) => `${keyword} of ${level}`),
    );

    expect(lost).toEqual([]);
  });
});

function isLost(route: Route, request: JsonObject): boolean {
  const { json, dropped, refused } = sentFor(route, request);
  return !/7919|uniqueItems/.test(json) && refused === undefined && !dropped.some(namesSchema);
}

/** The name of a schema, or of a keyword in it. */
function namesSchema(name: string): boolean {
  return /^(?:tools\.schema|response_format|generationConfig\.response\w*)\b/.test(name);
}

describe('what is listed', () => {
  const gemini: Route = { protocol: 'chat', dialect: 'gemini', model: 'gemini-2.5-flash' };

  it('is nothing if the whole schema is sent', () => {
    const schema = objectOf({ a: text }, { $schema: planted, $id: planted, 'x-own': planted });

    expect(sentFor(gemini, requests['chat tools'](schema)).dropped).toEqual([]);
  });

  it('names the keyword if only that is left out', () => {
    const schema = objectOf({ a: { ...text, title: planted } }, { title: planted });

    expect(sentFor(gemini, requests['chat tools'](schema)).dropped).toEqual(['tools.schema.title']);
  });
});
