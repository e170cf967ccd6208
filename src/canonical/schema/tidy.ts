/** Cleans a JSON Schema of what Gemini's JSON Schema fields stumble over. */
import type { JsonObject } from '../../json.ts';
import { mapSchema } from './walk.ts';

/**
 * The schema without `$schema`, `$id`, `strict` and `x-…`; and without `title`, if asked: in a
 * tool's parameters it makes Gemini 2.5 Flash answer MALFORMED_FUNCTION_CALL (fastmcp#3861).
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
