/** Every schema in the recorded requests, and generated ones, for tests of the schema functions. */
import fc from 'fast-check';
import { toOpenApiSchema } from '../../../src/canonical/schema/openapi.ts';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from '../../../src/json.ts';
import { fixtures } from '../../support/recorded/fixtures.ts';

/** A schema of a recorded request. */
export interface RecordedSchema {
  /** The recording, and the number of the schema in it. */
  readonly name: string;
  readonly schema: JsonObject;
}

const places: ReadonlySet<string> = new Set([
  'parameters',
  'parametersJsonSchema',
  'parameters_json_schema',
  'input_schema',
  'schema',
  'responseSchema',
  'responseJsonSchema',
  'response_schema',
]);

/** The schemas of tools and output formats in all recorded requests of all providers. */
export function recordedSchemas(): readonly RecordedSchema[] {
  return fixtures().flatMap(({ name, request }) => {
    const body = request === undefined ? undefined : parseJson(Buffer.from(request).toString());
    return schemasIn(body ?? null).map((schema, index) => ({ name: `${name} #${index}`, schema }));
  });
}

function schemasIn(value: JsonValue): readonly JsonObject[] {
  if (!isJsonObject(value)) return items(value).flatMap(schemasIn);
  return Object.entries(value).flatMap(([name, inner]) =>
    places.has(name) && isJsonObject(inner) && looksLikeSchema(inner) ? [inner] : schemasIn(inner),
  );
}

function looksLikeSchema(value: JsonObject): boolean {
  return ['type', 'properties', '$ref', 'anyOf', 'oneOf'].some((name) => name in value);
}

const names: readonly string[] = [
  'title',
  'pattern',
  'format',
  'default',
  '$ref',
  'properties',
  'type',
  'x-own',
  '__proto__',
  'a',
  'b',
];

const references = fc.constantFrom('#', '#/$defs/a', '#/$defs/b', '#/nowhere', '#/$defs/x~1y');

const scalars = fc.record(
  {
    type: fc.oneof(
      fc.constantFrom('string', 'INTEGER', 'number', 'boolean', 'array', 'object', 'null', 'any'),
      fc.uniqueArray(fc.constantFrom('string', 'integer', 'array', 'object', 'null')),
    ),
    title: fc.string(),
    description: fc.string(),
    format: fc.constantFrom('date-time', 'uuid', 'int32', 'enum', 'double'),
    pattern: fc.constantFrom('^a$', '(?=b)'),
    enum: fc.array(fc.constantFrom<JsonValue>('a', '', 'b', 1, 2.5, true, null, { title: 'x' })),
    const: fc.constantFrom<JsonValue>('a', 1, null, false),
    default: fc.constantFrom<JsonValue>(null, { title: 'kept' }, []),
    minimum: fc.constantFrom<JsonValue>(0, 1.5, '3'),
    exclusiveMinimum: fc.constantFrom<JsonValue>(0, true),
    minItems: fc.constantFrom<JsonValue>(0, '2', -1, 1e21),
    maxLength: fc.constantFrom<JsonValue>(3, 'x'),
    uniqueItems: fc.boolean(),
    nullable: fc.boolean(),
    required: fc.uniqueArray(fc.constantFrom(...names)),
    $ref: references,
    $schema: fc.constant('https://json-schema.org/draft/2020-12/schema'),
    strict: fc.boolean(),
    'x-own': fc.constant(1),
  },
  { requiredKeys: [] },
);

/** Generated schemas of every form, sensible or not. */
export const arbitrarySchema: fc.Arbitrary<JsonObject> = fc.letrec<{ schema: JsonObject }>(
  (tie) => {
    const schema = tie('schema');
    const place = fc.oneof(
      { weight: 4, arbitrary: schema },
      { weight: 1, arbitrary: fc.boolean() },
    );
    const list = fc.array(schema, { maxLength: 2 });
    const map = fc
      .uniqueArray(fc.tuple(fc.constantFrom(...names), place), {
        maxLength: 3,
        selector: ([name]) => name,
      })
      .map((entries): JsonObject => Object.fromEntries(entries));
    const inner = fc.record(
      {
        properties: map,
        $defs: map,
        items: fc.oneof(place, list),
        prefixItems: list,
        anyOf: list,
        oneOf: list,
        allOf: list,
        additionalProperties: place,
        not: schema,
      },
      { requiredKeys: [] },
    );
    const whole = fc
      .tuple(scalars, inner)
      .map(
        ([own, inside]): JsonObject => Object.fromEntries([own, inside].flatMap(Object.entries)),
      );
    return { schema: fc.oneof({ maxDepth: 2, withCrossShrink: true }, scalars, whole) };
  },
).schema;

/** A schema of Google's subset and every schema nested in it. */
export function subsetSchemas(schema: JsonObject): readonly JsonObject[] {
  const properties = member(schema, 'properties');
  const inner = [
    ...(isJsonObject(properties) ? Object.values(properties) : []),
    ...items(member(schema, 'anyOf')),
    ...(member(schema, 'items') === undefined ? [] : [member(schema, 'items')]),
  ];
  return [schema, ...inner.flatMap((one) => (isJsonObject(one) ? subsetSchemas(one) : []))];
}

/**
 * Converts a schema to Google's subset repeatedly until it is stable: contradictory alternatives
 * disappear only in a second pass.
 */
export function settledSubset(schema: JsonObject): JsonObject {
  let subset = schema;
  for (let round = 0; round < 4; round += 1) subset = toOpenApiSchema(subset).schema;
  return subset;
}
