/** Tells whether a schema demands more than what is left of it where the root must be an object. */
import { type JsonObject, member } from '../../json.ts';
import { referredTo, schemasOf, typesOf } from './members.ts';

/** Nobody combines schemas deeper. */
const deepest = 16;
/** Alternatives that refer to one another would be looked at without end. */
const mostParts = 1_000;

const combining: readonly string[] = ['$ref', 'anyOf', 'oneOf', 'allOf'];

/** What is kept where several schemas become one, or demands nothing of a value. */
const kept: ReadonlySet<string> = new Set([
  ...combining,
  'type',
  'properties',
  'required',
  'title',
  'description',
  '$schema',
  '$id',
  '$comment',
  '$defs',
  'definitions',
]);

/**
 * Whether `objectSchema` has to let something go: a root of another type, the choice between
 * alternatives, or what a part of the whole demands beside its properties.
 */
export function isLoosened(root: JsonObject | undefined): boolean {
  if (root === undefined) return false;
  let parts = 0;

  const isMerged = (schema: JsonObject, depth: number): boolean => {
    parts += 1;
    if (depth > deepest || parts > mostParts) return false;
    const alternatives = [...schemasOf(schema, 'anyOf'), ...schemasOf(schema, 'oneOf')];
    if (alternatives.length > 1) return false;
    const { $ref: reference } = schema;
    const target = typeof reference === 'string' ? referredTo(root, reference) : undefined;
    if (reference !== undefined && target === undefined) return false;
    const inner = [...schemasOf(schema, 'allOf'), ...alternatives];
    return (
      inner.every((part) => demandsPropertiesOnly(part) && isMerged(part, depth + 1)) &&
      // What the root itself refers to is kept with all its members.
      (target === undefined ||
        ((depth === 0 || demandsPropertiesOnly(target)) && isMerged(target, depth + 1)))
    );
  };

  return !isObject(root) || !isMerged(root, 0);
}

function demandsPropertiesOnly(schema: JsonObject): boolean {
  return isObject(schema) && Object.keys(schema).every((name) => kept.has(name));
}

function isObject(schema: JsonObject): boolean {
  const types = typesOf(schema);
  return types.length === 0
    ? member(schema, 'enum') === undefined && member(schema, 'const') === undefined
    : types.length === 1 && types[0] === 'object';
}
