/** Reads the requested output format, `response_format`. */
import type { OutputFormat } from '../../../canonical/request.ts';
import { isJsonObject, type JsonObject, member } from '../../../json.ts';
import { readSchemaFormat } from '../../read-format.ts';
import { objectIn, refuse, requiredObject } from '../../read-members.ts';

export function readFormat(body: JsonObject): OutputFormat | undefined {
  const format = objectIn(body, 'response_format', '');
  if (format === undefined) return undefined;
  switch (member(format, 'type')) {
    case 'text':
      return undefined;
    case 'json_object':
      return jsonFormat(format);
    case 'json_schema':
      return readSchemaFormat(
        requiredObject(format, 'json_schema', 'response_format'),
        'response_format.json_schema',
      );
    default:
      return refuse('response_format.type', 'must be "text", "json_object" or "json_schema".');
  }
}

/** Together and Fireworks accept a schema with `json_object`. */
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
