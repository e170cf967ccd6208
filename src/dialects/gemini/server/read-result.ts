/** Reads a function result from `functionResponse` and unwraps its text. */
import { jsonText } from '../../../canonical/raw-json.ts';
import type { MediaPart, TextPart } from '../../../canonical/request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../json.ts';
import { refuse } from '../../read-members.ts';
import { dropUnknown, field, listField, textField } from './fields.ts';
import type { ResultDraft } from './pair-calls.ts';
import { type MediaLocation, readFileData, readInlineData } from './read-media.ts';

/** @throws GatewayError `invalid_request` that names the member */
export function readResult(value: JsonValue, { at, drop }: MediaLocation): ResultDraft {
  const path = `${at}.functionResponse`;
  if (!isJsonObject(value)) return refuse(path, 'must be an object with `name` and `response`.');
  dropUnknown(value, ['id', 'name', 'response', 'parts'], { at: path, drop });
  const media = listField(value, 'parts', path).flatMap((part, index) =>
    readMedia(part, { at: `${path}.parts[${index}]`, drop }),
  );
  const response = field(value, 'response');
  const error = errorIn(response);
  const text = textOf(error ?? unwrapped(response));
  return {
    kind: 'tool_result',
    at,
    sentId: textField(value, 'id', path) || undefined,
    sentName: textField(value, 'name', path) || undefined,
    content: [...textPart(text, path, media.length), ...media],
    isError: error !== undefined,
  };
}

function readMedia(part: JsonValue, location: MediaLocation): readonly MediaPart[] {
  dropUnknown(part, ['inlineData', 'fileData'], location);
  const inline = field(part, 'inlineData');
  if (inline !== undefined) return [readInlineData(inline, location)];
  const file = field(part, 'fileData');
  return file === undefined ? [] : [readFileData(file, location)];
}

function errorIn(response: JsonValue | undefined): JsonValue | undefined {
  const only = onlyMember(response);
  return only?.[0] === 'error' ? only[1] : undefined;
}

/** Unwraps plain text from an object with one of the keys that SDKs and adapters use. */
function unwrapped(response: JsonValue | undefined): JsonValue | undefined {
  const only = onlyMember(response);
  if (only === undefined || typeof only[1] !== 'string') return response;
  return /^(?:output|result|content|return_value)$/.test(only[0]) ? only[1] : response;
}

function onlyMember(response: JsonValue | undefined): readonly [string, JsonValue] | undefined {
  const members = isJsonObject(response) ? entriesOf(response) : [];
  return members.length === 1 ? members[0] : undefined;
}

function entriesOf(value: JsonObject): readonly (readonly [string, JsonValue])[] {
  return Object.entries(value);
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : jsonText(value);
}

function textPart(text: string, path: string, mediaCount: number): readonly TextPart[] {
  if (text === '' && mediaCount > 0) return [];
  return [{ kind: 'text', at: `${path}.response`, text }];
}
