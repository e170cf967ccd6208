/** Reads the requested output format: `output_config.format`, or its older name `output_format`. */
import type { OutputFormat } from '../../../canonical/request.ts';
import type { JsonObject } from '../../../json.ts';
import { objectIn, presentMember, refuse, requiredObject } from '../../read-members.ts';

export interface RequestedFormat {
  readonly format: OutputFormat | undefined;
  /** The caller's name for it. */
  readonly name: string;
}

/** Reads the format. Anthropic holds every reply to its schema, as `strict` does elsewhere. */
export function readFormat(body: JsonObject, drop: (at: string) => void): RequestedFormat {
  const config = objectIn(body, 'output_config', '') ?? {};
  const format = objectIn(config, 'format', 'output_config');
  const older = objectIn(body, olderName, '');
  if (format !== undefined && older !== undefined) drop(olderName);
  const sent = format ?? older;
  const name = format === undefined && older !== undefined ? olderName : newerName;
  if (sent === undefined) return { format: undefined, name };
  if (presentMember(sent, 'type') !== 'json_schema')
    refuse(`${name}.type`, 'must be "json_schema".');
  const schema = requiredObject(sent, 'schema', name);
  return {
    format: { type: 'json_schema', name: 'response', description: undefined, schema, strict: true },
    name,
  };
}

const newerName = 'output_config.format';
const olderName = 'output_format';
