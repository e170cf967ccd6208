/** Reads the members of a requested JSON schema, which OpenAI's APIs have at different places. */
import type { OutputFormat } from '../canonical/request.ts';
import type { JsonObject } from '../json.ts';
import { flagIn, objectIn, textIn } from './read-members.ts';

/** Reads a format with a schema; `at` is the path of its members. */
export function readSchemaFormat(requested: JsonObject, at: string): OutputFormat {
  const schema = objectIn(requested, 'schema', at);
  // OpenAI accepts a format without a schema, which then allows any JSON.
  if (schema === undefined) return { type: 'json' };
  return {
    type: 'json_schema',
    name: textIn(requested, 'name', at),
    description: textIn(requested, 'description', at),
    schema,
    strict: flagIn(requested, 'strict', at),
  };
}
