/**
 * Reads one part of a content. Its kind depends on its members, never on the role of the content.
 */
import { isEnvelope, unseal, unsealReasoning } from '../../../canonical/envelope.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { MediaPart, TextPart } from '../../../canonical/request.ts';
import { isJsonObject, type JsonValue } from '../../../json.ts';
import { refuse } from '../../read-members.ts';
import {
  type Drop,
  dropUnknown,
  enumValue,
  type Field,
  field,
  fieldsOf,
  isNonEmpty,
  listField,
  objectField,
  textField,
} from './fields.ts';
import type { CallDraft, DraftPart, ResultDraft } from './pair-calls.ts';
import { detailOf, type MediaLocation, readFileData, readInlineData } from './read-media.ts';

export interface PartLocation {
  readonly at: string;
  readonly position: readonly [number, number];
  readonly drop: Drop;
}

type ReadKind = (value: JsonValue, location: PartLocation) => DraftPart;

const kinds: Readonly<Record<string, ReadKind>> = {
  text: readText,
  inlineData: readInlineData,
  fileData: readFileData,
  functionCall: readCall,
  functionResponse: readResult,
  executableCode: readCode,
  codeExecutionResult: readCodeResult,
};
const attributes: readonly string[] = ['thought', 'thoughtSignature', 'mediaResolution'];

/**
 * Reads a part. Returns undefined for a part that only Google understands, which is recorded as
 * dropped.
 */
export function readPart(part: JsonValue, location: PartLocation): DraftPart | undefined {
  const { at, drop } = location;
  if (!isJsonObject(part)) return refuse(at, 'must be an object, such as {"text":"…"}.');
  const fields = fieldsOf(part);
  const others = fields.filter(({ name }) => !isKind(name) && !attributes.includes(name));
  for (const { written, value } of others) if (isNonEmpty(value)) drop(`${at}.${written}`);
  const kind = kindAmong(fields, at);
  const isThought = field(part, 'thought') === true;
  const hidden = unsealReasoning(textField(part, 'thoughtSignature', at) ?? '');
  if (hidden !== undefined && field(part, 'text') === '') {
    return { kind: 'reasoning', at, text: hidden.text, providerData: hidden.providerData };
  }
  const providerData = providerDataIn(part, at);
  if (kind === undefined) {
    if (providerData === undefined && others.length === 0) drop(at);
    if (providerData === undefined || others.length > 0) return undefined;
    return { kind: isThought ? 'reasoning' : 'text', at, text: '', providerData };
  }
  const read = { ...(kinds[kind.name] ?? readText)(kind.value, location), providerData };
  if (read.kind === 'media')
    return isThought ? dropPart(location) : withDetail(read, part, location);
  if (isThought && read.kind === 'text') return { ...read, kind: 'reasoning' };
  return read;
}

/** Some clients write an empty `text` next to the actual member of a part. */
function kindAmong(fields: readonly Field[], at: string): Field | undefined {
  const all = fields.filter(({ name }) => isKind(name));
  const set = all.length > 1 ? all.filter(({ value }) => value !== '') : all;
  if (set.length > 1)
    refuse(at, 'has more than one kind of content. Send a separate part for each.');
  return set[0] ?? all[0];
}

function isKind(name: string): boolean {
  return Object.hasOwn(kinds, name);
}

/** May be an envelope with another provider's data; a damaged one is of no use to anyone. */
function providerDataIn(part: JsonValue, at: string): ProviderData | undefined {
  const data = textField(part, 'thoughtSignature', at);
  if (data === undefined || data === '') return undefined;
  if (isEnvelope(data)) return unseal(data);
  return { provider: 'gemini', kind: 'signature', data };
}

function dropPart({ at, drop }: PartLocation): undefined {
  drop(at);
}

function withDetail(read: DraftPart, part: JsonValue, { at, drop }: PartLocation): DraftPart {
  const resolution = field(part, 'mediaResolution');
  const detail = detailOf(resolution);
  if (detail === undefined && isNonEmpty(resolution)) drop(`${at}.mediaResolution`);
  return read.kind === 'media' ? { ...read, detail, detailAt: `${at}.mediaResolution` } : read;
}

function readText(value: JsonValue, { at }: PartLocation): DraftPart {
  if (typeof value !== 'string') return refuse(`${at}.text`, 'must be a string.');
  return { kind: 'text', at, text: value };
}

function readCall(value: JsonValue, { at, position, drop }: PartLocation): CallDraft {
  const path = `${at}.functionCall`;
  const name = textField(value, 'name', path);
  if (name === undefined || name === '') {
    return refuse(`${path}.name`, 'must be the name of a function.');
  }
  dropUnknown(value, ['id', 'name', 'args'], { at: path, drop });
  return {
    kind: 'tool_call',
    at,
    sentId: textField(value, 'id', path) || undefined,
    name,
    arguments: jsonText(objectField(value, 'args', path) ?? {}),
    position,
  };
}

function readCode(value: JsonValue, { at, drop }: PartLocation): DraftPart {
  dropUnknown(value, ['language', 'code'], { at: `${at}.executableCode`, drop });
  const language = enumValue(field(value, 'language'), 'LANGUAGE')?.toLowerCase() ?? '';
  const code = textField(value, 'code', `${at}.executableCode`) ?? '';
  return { kind: 'text', at, text: fenced(language, code) };
}

function readCodeResult(value: JsonValue, { at, drop }: PartLocation): DraftPart {
  dropUnknown(value, ['outcome', 'output'], { at: `${at}.codeExecutionResult`, drop });
  const outcome = enumValue(field(value, 'outcome'), 'OUTCOME')?.toLowerCase() ?? 'ok';
  const output = textField(value, 'output', `${at}.codeExecutionResult`) ?? '';
  return { kind: 'text', at, text: fenced(outcome === 'ok' ? '' : outcome, output) };
}

/** The fence is longer than any in the text; texts are joined without a separator. */
function fenced(label: string, text: string): string {
  const runs = text.match(/`{3,}/g) ?? [];
  const fence = '`'.repeat(runs.reduce((most, run) => Math.max(most, run.length + 1), 3));
  return `\n${fence}${label}\n${text.replace(/\n$/, '')}\n${fence}\n`;
}

function readResult(value: JsonValue, { at, drop }: MediaLocation): ResultDraft {
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
  const members = isJsonObject(response) ? Object.entries(response) : [];
  return members.length === 1 ? members[0] : undefined;
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : jsonText(value);
}

function textPart(text: string, path: string, mediaCount: number): readonly TextPart[] {
  if (text === '' && mediaCount > 0) return [];
  return [{ kind: 'text', at: `${path}.response`, text }];
}
