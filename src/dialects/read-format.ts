/** Reads the members of a requested JSON schema, which OpenAI's APIs have at different places. */
import type { OutputFormat } from '../canonical/request.ts';
import type { JsonObject } from '../json.ts';
import { flagIn, requiredObject, textIn } from './read-members.ts';

export function readSchemaFormat(requested: JsonObject, at: string): OutputFormat {
  return {
    type: 'json_schema',
    name: textIn(requested, 'name', at),
    description: textIn(requested, 'description', at),
    schema: requiredObject(requested, 'schema', at),
    strict: flagIn(requested, 'strict', at),
  };
}
