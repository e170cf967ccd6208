/** Removes the titles from a JSON Schema. */
import type { JsonObject } from '../../json.ts';
import { mapSchema } from './walk.ts';

/** Removes `title` from all levels, but no property that is named `title`. */
export function withoutTitles(schema: JsonObject): {
  readonly schema: JsonObject;
  readonly changed: boolean;
} {
  let changed = false;
  const untitled = mapSchema(schema, (inner) => {
    if (!Object.hasOwn(inner, 'title')) return inner;
    changed = true;
    const { title: _title, ...rest } = inner;
    return rest;
  });
  return { schema: untitled, changed };
}
