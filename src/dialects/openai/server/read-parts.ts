/** Reads the content of a chat message: a string, or parts with text, images, audio and files. */
import { mimeTypeOfName } from '../../../canonical/media.ts';
import type { MediaPart, TextPart } from '../../../canonical/request.ts';
import { isJsonObject, type JsonObject, member } from '../../../json.ts';
import {
  mediaAtUrl,
  mediaInFile,
  type ObjectAtPath,
  presentMember,
  readAudio,
  readContentOf,
  refuse,
  requiredObject,
  requiredText,
  textIn,
} from '../../read-members.ts';

export type ContentPart = TextPart | MediaPart;

export function readContent(message: ObjectAtPath): readonly ContentPart[] {
  return readContentOf(message, 'content', readPart);
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
      return { kind: 'media', at, ...readAudio(located), cacheControl: cacheControlOf(part) };
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
    return { ...base, ...mediaInFile(data, `${path}.file_data`, statedType) };
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
