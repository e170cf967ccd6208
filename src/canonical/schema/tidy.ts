/** Removes keywords from a JSON Schema that Gemini's JSON Schema fields can't handle. */
import type { JsonObject } from '../../json.ts';
import { mapSchema } from './walk.ts';

/**
 * Removes `$schema`, `$id`, `strict` and `x-…` from all levels, and with `titles: 'strip'` also
 * `title`, which in a tool's parameters makes Gemini 2.5 Flash answer MALFORMED_FUNCTION_CALL
 * (fastmcp#3861).
 */
export function tidySchema(
  schema: JsonObject,
  options: { readonly titles: 'keep' | 'strip' },
): JsonObject {
  const isKept = (name: string): boolean =>
    name !== '$schema' &&
    name !== '$id' &&
    name !== 'strict' &&
    !name.startsWith('x-') &&
    (name !== 'title' || options.titles === 'keep');
  return mapSchema(schema, (inner) =>
    Object.fromEntries(Object.entries(inner).filter(([name]) => isKept(name))),
  );
}
