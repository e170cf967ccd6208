/**
 * Collects the properties that a schema allows for an object, including those in references and
 * combined schemas.
 */

import { type JsonObject, type JsonValue, member } from '../../json.ts';
import { jsonText } from '../raw-json.ts';
import {
  joinedProperties,
  mergedSchema,
  namesOf,
  propertiesOf,
  resolveReference,
  schemasOf,
} from './members.ts';

/**
 * How many more properties may be collected. Normal tools have few and flat alternatives, but in a
 * malicious schema, or across many such tools, they multiply without bound.
 */
export interface ShapeBudget {
  /** A property counts once for each time it is merged with others. */
  properties: number;
}

export function newShapeBudget(): ShapeBudget {
  return { properties: 60_000 };
}

export function isOverBudget({ properties }: ShapeBudget): boolean {
  return properties < 0;
}

/** Limit on the text compared to find equal alternatives. */
const maxCompared = 100_000;

/**
 * The `properties` and `required` of a schema, merged with those of its reference, its `allOf` and
 * its alternatives. A property of alternatives is required only if all of them require it.
 */
export function objectShape(root: JsonObject, budget: ShapeBudget): JsonObject {
  let compared = 0;

  const shapeOf = (schema: JsonObject, trail: readonly string[]): JsonObject => {
    const properties = [...propertiesOf(schema)];
    budget.properties -= 1 + properties.length;
    if (budget.properties < 0) return {};
    const { $ref: reference } = schema;
    const isNew = typeof reference === 'string' && !trail.includes(reference);
    const target = isNew ? resolveReference(root, reference) : undefined;
    const inside = isNew ? [...trail, reference] : trail;
    const inner = (part: JsonObject): JsonObject => {
      const found = shapeOf(part, inside);
      budget.properties -= Object.keys(member(found, 'properties') ?? {}).length;
      return found;
    };
    const all = [...(target === undefined ? [] : [target]), ...schemasOf(schema, 'allOf')];
    const any = [...schemasOf(schema, 'anyOf'), ...schemasOf(schema, 'oneOf')];
    const own = shape(properties, namesOf(schema, 'required'));
    const shapes = [...all.map(inner), alternativesShape(any.map(inner), distinct), own];
    return mergedSchema(shapes.filter(isNonEmpty));
  };

  const distinct = (schemas: readonly JsonObject[]): readonly JsonObject[] => {
    if (schemas.length < 2 || compared > maxCompared) return schemas;
    const byText = new Map(schemas.map((schema) => [jsonText(schema), schema]));
    for (const text of byText.keys()) compared += text.length;
    return [...byText.values()];
  };

  return shapeOf(root, []);
}

function isNonEmpty({ properties, required }: JsonObject): boolean {
  return properties !== undefined || required !== undefined;
}

function alternativesShape(
  shapes: readonly JsonObject[],
  distinct: (schemas: readonly JsonObject[]) => readonly JsonObject[],
): JsonObject {
  const properties = [...joinedProperties(shapes)].map(([name, schemas]): [string, JsonValue] => {
    const [only = {}, ...others] = distinct(schemas);
    return [name, others.length === 0 ? only : { anyOf: [only, ...others] }];
  });
  const [first, ...rest] = shapes.map((shape) => new Set(namesOf(shape, 'required')));
  const required = [...(first ?? [])].filter((name) => rest.every((names) => names.has(name)));
  return shape(properties, required);
}

function shape(
  properties: readonly (readonly [string, JsonValue])[],
  required: readonly string[],
): JsonObject {
  return {
    ...(properties.length > 0 ? { properties: Object.fromEntries(properties) } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}
