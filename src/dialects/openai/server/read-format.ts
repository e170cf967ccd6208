/** Reads `response_format`: what form the answer's text must have (TRANSLATION §6.7). */
import type { OutputFormat } from '../../../canonical/request.ts';
import { isJsonObject, type JsonObject, member } from '../../../json.ts';
import { flagIn, objectIn, refuse, requiredObject, textIn } from './read-members.ts';

/** The form asked for, or undefined for plain text. */
export function readFormat(body: JsonObject): OutputFormat | undefined {
  const format = objectIn(body, 'response_format', '');
  if (format === undefined) return undefined;
  switch (member(format, 'type')) {
    case 'text':
      return undefined;
    case 'json_object':
      return jsonFormat(format);
    case 'json_schema':
      return schemaFormat(requiredObject(format, 'json_schema', 'response_format'));
    default:
      return refuse('response_format.type', 'must be "text", "json_object" or "json_schema".');
  }
}

/** Together and Fireworks take the schema beside `json_object`. */
function jsonFormat(format: JsonObject): OutputFormat {
  const schema = member(format, 'schema');
  if (!isJsonObject(schema)) return { type: 'json' };
  return {
    type: 'json_schema',
    name: undefined,
    description: undefined,
    schema,
    strict: undefined,
  };
}

function schemaFormat(asked: JsonObject): OutputFormat {
  const at = 'response_format.json_schema';
  const schema = objectIn(asked, 'schema', at);
  // OpenAI allows a format without a schema, which then is any JSON.
  if (schema === undefined) return { type: 'json' };
  return {
    type: 'json_schema',
    name: textIn(asked, 'name', at),
    description: textIn(asked, 'description', at),
    schema,
    strict: flagIn(asked, 'strict', at),
  };
}
