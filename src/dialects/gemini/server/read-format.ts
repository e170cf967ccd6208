/** Reads the output format, from Gemini's older members or its `responseFormat`. */
import type { OutputFormat, ProviderMember } from '../../../canonical/request.ts';
import { fromOpenApiSchema } from '../../../canonical/schema/openapi.ts';
import { isJsonObject, items, type JsonObject, member } from '../../../json.ts';
import { refuse } from '../../read-members.ts';
import {
  type Drop,
  dropUnknown,
  fieldsOf,
  isNonEmpty,
  listField,
  objectField,
  textField,
} from './fields.ts';

export interface ReadFormat {
  readonly format: OutputFormat | undefined;
  /** The member to name in errors. */
  readonly name: string;
  /** Formats that only Google supports. */
  readonly providerMembers: readonly ProviderMember[];
}

interface RequestedFormat {
  readonly mimeType: string | undefined;
  readonly schema: JsonObject | undefined;
  readonly name: string;
}

const at = 'generationConfig';

export function readFormat(config: JsonObject | undefined, drop: Drop): ReadFormat {
  const listed = readList(config, drop);
  const older = readOlder(config, drop);
  const requested = listed.text ?? older;
  if (requested !== older && (older.mimeType ?? older.schema) !== undefined) drop(older.name);
  const format = formatOf(requested);
  const providerMembers =
    format === undefined
      ? [...listed.providerMembers, ...unsupportedMimeType(requested)]
      : listed.providerMembers;
  return { format, name: requested.name, providerMembers };
}

function readOlder(config: JsonObject | undefined, drop: Drop): RequestedFormat {
  const mimeType = textField(config, 'responseMimeType', at)?.trim().toLowerCase() || undefined;
  const json = objectField(config, 'responseJsonSchema', at);
  const openApi = objectField(config, 'responseSchema', at);
  if (isNonEmpty(json)) {
    if (isNonEmpty(openApi)) drop(`${at}.responseSchema`);
    return { mimeType, schema: json, name: `${at}.responseJsonSchema` };
  }
  if (isNonEmpty(openApi)) {
    return { mimeType, schema: fromOpenApiSchema(openApi), name: `${at}.responseSchema` };
  }
  return { mimeType, schema: undefined, name: `${at}.responseMimeType` };
}

/** Reads `responseFormat[]`, which has a format for each kind of output. */
function readList(
  config: JsonObject | undefined,
  drop: Drop,
): {
  readonly text: RequestedFormat | undefined;
  readonly providerMembers: readonly ProviderMember[];
} {
  const providerMembers: ProviderMember[] = [];
  let text: RequestedFormat | undefined;
  for (const [index, entry] of listField(config, 'responseFormat', at).entries()) {
    const path = `${at}.responseFormat[${index}]`;
    if (!isJsonObject(entry)) return refuse(path, 'must be an object, such as {"text":{…}}.');
    for (const { name, value } of fieldsOf(entry)) {
      if (name === 'text') {
        dropUnknown(value, ['mimeType', 'schema'], { at: `${path}.text`, drop });
        text = {
          mimeType: textField(value, 'mimeType', `${path}.text`)?.toLowerCase().replace('_', '/'),
          schema: objectField(value, 'schema', `${path}.text`),
          name: `${at}.responseFormat`,
        };
      } else {
        const place = { name: `responseFormat[${index}].${name}`, at: `${path}.${name}` };
        providerMembers.push({ provider: 'gemini', ...place, value, vital: true });
      }
    }
  }
  return { text, providerMembers };
}

function formatOf({ mimeType, schema, name }: RequestedFormat): OutputFormat | undefined {
  if (mimeType === 'text/x.enum') return { type: 'enum', values: valuesIn(schema, name) };
  if (mimeType !== undefined && mimeType !== 'application/json') {
    if (isNonEmpty(schema)) refuse(name, 'requires the MIME type application/json.');
    return undefined;
  }
  if (isNonEmpty(schema)) {
    const unset = { name: undefined, description: undefined, strict: undefined };
    return { type: 'json_schema', schema, ...unset };
  }
  return mimeType === undefined ? undefined : { type: 'json' };
}

function valuesIn(schema: JsonObject | undefined, name: string): readonly string[] {
  const values = items(member(schema, 'enum')).filter((value) => typeof value === 'string');
  return values.length > 0 ? values : refuse(name, 'requires a schema with an `enum` of strings.');
}

/** MIME types other than text and JSON are vital: output in another format would be wrong. */
function unsupportedMimeType({ mimeType, name }: RequestedFormat): readonly ProviderMember[] {
  if (mimeType === undefined || mimeType === 'text/plain') return [];
  return [{ provider: 'gemini', name: 'responseMimeType', value: mimeType, at: name, vital: true }];
}
