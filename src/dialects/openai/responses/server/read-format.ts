/** Reads the requested output format, `text.format`, which an item of the input may replace. */
import type { OutputFormat } from '../../../../canonical/request.ts';
import { type JsonObject, member } from '../../../../json.ts';
import { readSchemaFormat } from '../../../read-format.ts';
import { type ObjectAtPath, objectIn, refuse } from '../../../read-members.ts';

/** The format; undefined for plain text. */
export interface RequestedFormat {
  readonly format: OutputFormat | undefined;
  /** The caller's name for it. */
  readonly name: string;
}

/** Reads the last format that is set. */
export function readFormat(body: JsonObject, input: readonly ObjectAtPath[]): RequestedFormat {
  const updates = input
    .filter(({ value }) => member(value, 'type') === 'configuration_update')
    .toReversed();
  for (const { value, at } of [...updates, { value: body, at: '' }]) {
    const path = at === '' ? 'text' : `${at}.text`;
    const text = objectIn(value, 'text', at);
    const format = text === undefined ? undefined : objectIn(text, 'format', path);
    if (format === undefined) continue;
    const name = `${path}.format`;
    return { format: formatOf(format, name), name };
  }
  return { format: undefined, name: 'text.format' };
}

function formatOf(format: JsonObject, at: string): OutputFormat | undefined {
  switch (member(format, 'type')) {
    case 'text':
      return undefined;
    case 'json_object':
      return { type: 'json' };
    case 'json_schema':
      return readSchemaFormat(format, at);
    default:
      return refuse(`${at}.type`, 'must be "text", "json_object" or "json_schema".');
  }
}
