/** Detects whether a schema loses constraints when its root is rewritten as a plain object. */
import { type JsonObject, member } from '../../json.ts';
import { resolveReference, schemasOf, typesOf } from './members.ts';

/** Real schemas combine others no deeper than this. */
const maxDepth = 16;
/** Stops the search if alternatives refer to each other. */
const maxParts = 1_000;

const combining: readonly string[] = ['$ref', 'anyOf', 'oneOf', 'allOf'];

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
