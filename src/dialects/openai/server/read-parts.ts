/** Reads the content of a chat message: a string, or parts with text, images, audio and files. */
import { mimeTypeOfName } from '../../../canonical/media.ts';
import type { MediaPart, TextPart } from '../../../canonical/request.ts';
import { isJsonObject, type JsonObject, member } from '../../../json.ts';
import {
  audioType,
  isList,
  mediaAtUrl,
  mediaInBase64,
  type ObjectAtPath,
  objectsIn,
  presentMember,
  refuse,
  requiredObject,
  requiredText,
  textIn,
} from '../../read-members.ts';

export type ContentPart = TextPart | MediaPart;

export function readContent({ value: message, at }: ObjectAtPath): readonly ContentPart[] {
  const content = presentMember(message, 'content');
  if (content === undefined) return [];
  if (typeof content === 'string') return [{ kind: 'text', at: `${at}.content`, text: content }];
  if (!isList(content)) {
    return refuse(`${at}.content`, 'must be a string or an array of parts.');
  }
  return objectsIn(message, 'content', at).map(readPart);
}

export function readTexts(message: ObjectAtPath): readonly TextPart[] {
  return readContent(message).map((part) =>
    part.kind === 'text'
      ? part
      : refuse(part.at, 'can only be text here. Send the media in a user message.'),
  );
}

/** Reads `cache_control`, an object that callers of Anthropic's models put on parts and tools. */
export function cacheControlOf(source: JsonObject): JsonObject | undefined {
  const control = member(source, 'cache_control');
  return isJsonObject(control) ? control : undefined;
}

/** Reads an image of `image_url` or `images`, which may also be a bare URL. */
export function readImage({ value: part, at }: ObjectAtPath, name: string): MediaPart {
  const image = presentMember(part, name);
  const source = isJsonObject(image) ? image : { url: image ?? null };
  return {
    kind: 'media',
    at,
    detailAt: `${at}.${name}.detail`,
    ...mediaAtUrl(
      requiredText(source, 'url', `${at}.${name}`),
      `${at}.${name}.url`,
      declaredType(source),
    ),
    detail: textIn(source, 'detail', `${at}.${name}`),
    cacheControl: cacheControlOf(part),
  };
}

function readPart(located: ObjectAtPath): ContentPart {
  const { value: part, at } = located;
  switch (member(part, 'type')) {
    case 'text':
      return readText(located, 'text');
    case 'refusal':
      return readText(located, 'refusal');
    case 'image_url':
      return readImage(located, 'image_url');
    case 'video_url':
      return readImage(located, 'video_url');
    case 'input_audio':
      return readAudio(located);
    case 'file':
      return readFile(located);
    default:
      return refuse(at, 'has an unsupported type. Send text, image_url, input_audio or file.');
  }
}

function readText({ value: part, at }: ObjectAtPath, name: string): TextPart {
  const text = textIn(part, name, at) ?? refuse(`${at}.${name}`, 'must be a string.');
  return { kind: 'text', at, text, cacheControl: cacheControlOf(part) };
}

function readAudio({ value: part, at }: ObjectAtPath): MediaPart {
  const audio = requiredObject(part, 'input_audio', at);
  const data = requiredText(audio, 'data', `${at}.input_audio`);
  const format = textIn(audio, 'format', `${at}.input_audio`);
  const media = mediaInBase64(data, format === undefined ? undefined : audioType(format));
  return { kind: 'media', at, ...media, cacheControl: cacheControlOf(part) };
}

function readFile({ value: part, at }: ObjectAtPath): MediaPart {
  const file = requiredObject(part, 'file', at);
  const path = `${at}.file`;
  const fileName = textIn(file, 'filename', path);
  const statedType =
    declaredType(file) ?? (fileName === undefined ? undefined : mimeTypeOfName(fileName));
  const names = { fileName, fileNameAt: `${path}.filename` };
  const base = { kind: 'media', at, ...names, cacheControl: cacheControlOf(part) } as const;
  const data = textIn(file, 'file_data', path);
  if (data !== undefined && data !== '') {
    const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(data);
    const media = isUrl
      ? mediaAtUrl(data, `${path}.file_data`, statedType)
      : mediaInBase64(data, statedType);
    return { ...base, ...media };
  }
  const id = textIn(file, 'file_id', path);
  if (id === undefined || id === '') {
    return refuse(path, 'contains no file. Send it as a data URL in `file_data`.');
  }
  return { ...base, mimeType: statedType, source: { type: 'file', id } };
}

/** Callers of LiteLLM and Portkey may state the media type of a URL. */
function declaredType(source: JsonObject): string | undefined {
  const statedType = member(source, 'format') ?? member(source, 'mime_type');
  return typeof statedType === 'string' && statedType.includes('/')
    ? statedType.toLowerCase()
    : undefined;
}
