/** Adds to a schema's description what the upstream doesn't accept as keywords. */
import { type JsonObject, member } from '../../json.ts';

/** The schema with notes appended to its description, where at least the model reads them. */
export function withNotes(schema: JsonObject, notes: readonly string[]): JsonObject {
  if (notes.length === 0) return schema;
  const ownDescription = member(schema, 'description');
  const note = notes.join(', ');
  const hasDescription = typeof ownDescription === 'string' && ownDescription !== '';
  return { ...schema, description: hasDescription ? `${ownDescription} (${note})` : note };
}

/** The schema with the caller's description of the whole format in front of its own description. */
export function withDescription(schema: JsonObject, description: string | undefined): JsonObject {
  if (description === undefined) return schema;
  const own = member(schema, 'description');
  const isBoth = typeof own === 'string' && own !== description;
  return { ...schema, description: isBoth ? `${description}\n${own}` : description };
}
