/** Reads the output format, from Gemini's older members or its `responseFormat`. */
import type { OutputFormat, ProviderMember } from '../../../canonical/request.ts';
import { fromOpenApiSchema } from '../../../canonical/schema/openapi.ts';
import { isJsonObject, items, type JsonObject, member } from '../../../json.ts';
import {
  type Drop,
  dropOthers,
  fieldsOf,
  listField,
  objectField,
  refuse,
  saysSomething,
  textField,
} from './spelling.ts';

/** The output format, and how the caller requested it. */
export interface ReadFormat {
  readonly format: OutputFormat | undefined;
  /** The member to name in errors. */
  readonly name: string;
  /** Formats that only Google supports. */
  readonly own: readonly ProviderMember[];
}

/** A requested format, and the member that requested it. */
interface Wanted {
  readonly mimeType: string | undefined;
  readonly schema: JsonObject | undefined;
  readonly name: string;
}

const at = 'generationConfig';

/** @throws GatewayError `invalid_request` that names the member */
export function readFormat(config: JsonObject | undefined, drop: Drop): ReadFormat {
  const listed = readList(config, drop);
  const older = readOlder(config, drop);
  const wanted = listed.text ?? older;
  if (wanted !== older && (older.mimeType ?? older.schema) !== undefined) drop(older.name);
  const format = formatOf(wanted);
  const own = format === undefined ? [...listed.own, ...foreignType(wanted)] : listed.own;
  return { format, name: wanted.name, own };
}

function readOlder(config: JsonObject | undefined, drop: Drop): Wanted {
  const mimeType = textField(config, 'responseMimeType', at)?.trim().toLowerCase() || undefined;
  const json = objectField(config, 'responseJsonSchema', at);
  const openApi = objectField(config, 'responseSchema', at);
  if (saysSomething(json)) {
    if (saysSomething(openApi)) drop(`${at}.responseSchema`);
    return { mimeType, schema: json, name: `${at}.responseJsonSchema` };
  }
  if (saysSomething(openApi)) {
    return { mimeType, schema: fromOpenApiSchema(openApi), name: `${at}.responseSchema` };
  }
  return { mimeType, schema: undefined, name: `${at}.responseMimeType` };
}

/** Reads `responseFormat[]`, which has a format for each kind of output. */
function readList(
  config: JsonObject | undefined,
  drop: Drop,
): { readonly text: Wanted | undefined; readonly own: readonly ProviderMember[] } {
  const own: ProviderMember[] = [];
  let text: Wanted | undefined;
  for (const [index, entry] of listField(config, 'responseFormat', at).entries()) {
    const path = `${at}.responseFormat[${index}]`;
    if (!isJsonObject(entry)) return refuse(path, 'must be an object, such as {"text":{…}}');
    for (const { name, value } of fieldsOf(entry)) {
      if (name === 'text') {
        dropOthers(value, ['mimeType', 'schema'], { at: `${path}.text`, drop });
        text = {
          mimeType: textField(value, 'mimeType', `${path}.text`)?.toLowerCase().replace('_', '/'),
          schema: objectField(value, 'schema', `${path}.text`),
          name: `${at}.responseFormat`,
        };
      } else {
        const place = { name: `responseFormat[${index}].${name}`, at: `${path}.${name}` };
        own.push({ provider: 'gemini', ...place, value, vital: true });
      }
    }
  }
  return { text, own };
}

function formatOf({ mimeType, schema, name }: Wanted): OutputFormat | undefined {
  if (mimeType === 'text/x.enum') return { type: 'enum', values: valuesIn(schema, name) };
  if (mimeType !== undefined && mimeType !== 'application/json') {
    if (saysSomething(schema)) refuse(name, 'needs the type application/json beside it');
    return undefined;
  }
  if (saysSomething(schema)) {
    const unsaid = { name: undefined, description: undefined, strict: undefined };
    return { type: 'json_schema', schema, ...unsaid };
  }
  return mimeType === undefined ? undefined : { type: 'json' };
}

function valuesIn(schema: JsonObject | undefined, name: string): readonly string[] {
  const values = items(member(schema, 'enum')).filter((value) => typeof value === 'string');
  return values.length > 0 ? values : refuse(name, 'needs a schema with an `enum` of strings');
}

/** MIME types other than text and JSON are vital: output in another format would be wrong. */
function foreignType({ mimeType, name }: Wanted): readonly ProviderMember[] {
  if (mimeType === undefined || mimeType === 'text/plain') return [];
  return [{ provider: 'gemini', name: 'responseMimeType', value: mimeType, at: name, vital: true }];
}
