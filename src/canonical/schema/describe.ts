/** Says in a schema's description what its keywords can't say to an upstream. */
import { type JsonObject, member } from '../../json.ts';

/** The schema with notes behind its description, where the model at least reads them. */
export function withNotes(schema: JsonObject, notes: readonly string[]): JsonObject {
  if (notes.length === 0) return schema;
  const said = member(schema, 'description');
  const note = notes.join(', ');
  const isSaid = typeof said === 'string' && said !== '';
  return { ...schema, description: isSaid ? `${said} (${note})` : note };
}

/** With what the caller says of the form as a whole in front of what the schema says of itself. */
export function described(schema: JsonObject, description: string | undefined): JsonObject {
  if (description === undefined) return schema;
  const own = member(schema, 'description');
  const isBoth = typeof own === 'string' && own !== description;
  return { ...schema, description: isBoth ? `${description}\n${own}` : description };
}
