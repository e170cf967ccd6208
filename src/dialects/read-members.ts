/**
 * Reads members of a caller's body, media among them. null counts as absent, and a wrong type is
 * refused with the member's path.
 */

import { mimeTypeOfName, parseDataUrl } from '../canonical/media.ts';
import { jsonText } from '../canonical/raw-json.ts';
import type { MediaPart, OutputFormat, TextPart, ToolChoice } from '../canonical/request.ts';
import { invalidRequest } from '../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, member, numberOf } from '../json.ts';
import { type ReasoningEffort, reasoningEfforts } from '../ports/models/capabilities.ts';
import { notPortable } from './not-portable.ts';

export function refuse(param: string, sentence: string): never {
  throw invalidRequest(`\`${param}\` ${sentence}`, param);
}

/** Returns the member's value; undefined if it is absent or null. */
export function presentMember(source: JsonValue | undefined, name: string): JsonValue | undefined {
  return member(source, name) ?? undefined;
}

/** Reads a string; `at` is the path of `source`, empty for the body itself. */
export function textIn(source: JsonObject, name: string, at: string): string | undefined {
  const value = member(source, name) ?? undefined;
  if (value === undefined || typeof value === 'string') return value;
  return refuse(pathTo(name, at), 'must be a string.');
}

export function requiredText(source: JsonObject, name: string, at: string): string {
  const text = textIn(source, name, at);
  if (text === undefined || text === '') return refuse(pathTo(name, at), 'must not be empty.');
  return text;
}

export function numberIn(source: JsonObject, name: string, at: string): number | undefined {
  const value = member(source, name) ?? undefined;
  if (value === undefined) return undefined;
  const number = numberOf(value);
  if (number !== undefined && Number.isFinite(number)) return number;
  return refuse(pathTo(name, at), 'must be a number.');
}

export function integerIn(source: JsonObject, name: string, at: string): number | undefined {
  const value = member(source, name) ?? undefined;
  if (value === undefined) return undefined;
  const number = numberOf(value);
  if (Number.isInteger(number)) return number;
  return refuse(pathTo(name, at), 'must be a whole number.');
}

export function flagIn(source: JsonObject, name: string, at: string): boolean | undefined {
  const value = member(source, name) ?? undefined;
  if (value === undefined || typeof value === 'boolean') return value;
  return refuse(pathTo(name, at), 'must be true or false.');
}

export function objectIn(source: JsonObject, name: string, at: string): JsonObject | undefined {
  const value = member(source, name) ?? undefined;
  if (value === undefined || isJsonObject(value)) return value;
  return refuse(pathTo(name, at), 'must be an object.');
}

export function requiredObject(source: JsonObject, name: string, at: string): JsonObject {
  return objectIn(source, name, at) ?? refuse(pathTo(name, at), 'must be an object.');
}

export function objectsIn(source: JsonObject, name: string, at: string): readonly ObjectAtPath[] {
  const path = pathTo(name, at);
  const value = presentMember(source, name);
  if (value === undefined) return [];
  if (!isList(value)) return refuse(path, 'must be an array.');
  return value.map((element, index) => {
    const elementPath = `${path}[${index}]`;
    return {
      at: elementPath,
      value: isJsonObject(element) ? element : refuse(elementPath, mustBeObject),
    };
  });
}

/** An object of the body and its path, such as `messages[2]`. */
export interface ObjectAtPath {
  readonly at: string;
  readonly value: JsonObject;
}

/** Returns whether the value is an array; `Array.isArray` alone forgets that it is read-only. */
export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

const mustBeObject = 'must be an object.';

export function pathTo(name: string, at: string): string {
  return at === '' ? name : `${at}.${name}`;
}

export function refuseModeration(body: JsonObject): void {
  if (presentMember(body, 'moderation') === undefined) return;
  throw notPortable(
    'moderation',
    'This model has no moderation. Leave it out, and check the content yourself.',
  );
}

export function readSchemaFormat(requested: JsonObject, at: string): OutputFormat {
  return {
    type: 'json_schema',
    name: textIn(requested, 'name', at),
    description: textIn(requested, 'description', at),
    schema: requiredObject(requested, 'schema', at),
    strict: flagIn(requested, 'strict', at),
  };
}

type Media = Pick<MediaPart, 'mimeType' | 'source'>;

/** Reads a URL at a path of the request. Data URLs are decoded, and other URLs are passed on. */
export function mediaAtUrl(url: string, path: string, statedType: string | undefined): Media {
  if (/^data:/i.test(url)) {
    const data = parseDataUrl(url) ?? refuse(path, 'is not a valid data URL.');
    return { mimeType: data.mimeType ?? statedType, source: { type: 'base64', data: data.data } };
  }
  const mimeType = statedType ?? mimeTypeOfName(url);
  if (isGoogleFile(url)) return { mimeType, source: { type: 'file', id: url } };
  if (!/^https?:\/\//i.test(url)) {
    return refuse(path, 'must be a data URL or an http(s) URL.');
  }
  return { mimeType, source: { type: 'url', url } };
}

/** Returns whether only Google can read the URL, with the account's credentials. */
function isGoogleFile(url: string): boolean {
  return /^gs:\/\/|^https:\/\/generativelanguage\.googleapis\.com\/(?:[^/]+\/)?files\//i.test(url);
}

/** Reads a file that is sent as a URL, mostly one with its data, or as Base64. */
export function mediaInFile(data: string, path: string, statedType: string | undefined): Media {
  const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(data);
  return isUrl ? mediaAtUrl(data, path, statedType) : mediaInBase64(data, statedType);
}

/** Reads `input_audio`, whose format is `wav` or `mp3`. */
export function readAudio({ value: part, at }: ObjectAtPath): Media {
  const audio = requiredObject(part, 'input_audio', at);
  const data = requiredText(audio, 'data', `${at}.input_audio`);
  const format = textIn(audio, 'format', `${at}.input_audio`)?.toLowerCase();
  const isType = format === undefined || format.includes('/');
  return mediaInBase64(data, isType ? format : `audio/${format}`);
}

/** Reads the content of a message or of a tool's output: a string, or parts. */
export function readContentOf<Part>(
  { value: holder, at }: ObjectAtPath,
  name: string,
  readPart: (part: ObjectAtPath) => Part,
): readonly (Part | TextPart)[] {
  const content = presentMember(holder, name);
  if (content === undefined) return [];
  if (typeof content === 'string') return [{ kind: 'text', at: `${at}.${name}`, text: content }];
  if (!isList(content)) return refuse(`${at}.${name}`, 'must be a string or an array of parts.');
  return objectsIn(holder, name, at).map(readPart);
}

export function textsOnly(parts: readonly (TextPart | MediaPart)[]): readonly TextPart[] {
  return parts.map((part) =>
    part.kind === 'text'
      ? part
      : refuse(part.at, 'can only be text here. Send the media in a user message.'),
  );
}

/** Reads the arguments of a call, which some callers send as an object. */
export function argumentsText(value: JsonValue | undefined): string {
  const sent = value ?? '';
  return typeof sent === 'string' ? sent : jsonText(sent);
}

/** Reads a reasoning effort, if it is set. */
export function effortIn(
  value: JsonValue | undefined,
  at: string,
  efforts: readonly ReasoningEffort[] = reasoningEfforts,
): ReasoningEffort | undefined {
  if (value === undefined) return undefined;
  const effort = efforts.find((known) => known === value);
  return effort ?? refuse(at, `must be one of ${efforts.join(', ')}.`);
}

export function choiceMode(choice: JsonValue | undefined): ToolChoice['mode'] | undefined {
  return choice === 'auto' || choice === 'none' || choice === 'required' ? choice : undefined;
}

/** Reads Base64, which some callers send as a data URL. */
export function mediaInBase64(text: string, statedType: string | undefined): Media {
  const parsed = parseDataUrl(/^data:/i.test(text) ? text : `data:;base64,${text}`);
  const data = parsed?.data ?? text;
  return { mimeType: statedType ?? parsed?.mimeType, source: { type: 'base64', data } };
}
