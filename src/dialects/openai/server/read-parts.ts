/**
 * Reads the content of a chat message: a string, or parts of text, images, sound and files
 * (TRANSLATION §6.2).
 */
import { mimeTypeOfName, parseDataUrl } from '../../../canonical/media.ts';
import type { MediaPart, TextPart } from '../../../canonical/request.ts';
import { isJsonObject, type JsonObject, member } from '../../../json.ts';
import {
  isList,
  type ObjectAtPath,
  objectsIn,
  presentMember,
  refuse,
  requiredObject,
  requiredText,
  textIn,
} from './read-members.ts';

/** What the content of a message may hold. */
export type ContentPart = TextPart | MediaPart;

/** The parts of a message's `content`; none where it is absent or null. */
export function readContent({ value: message, at }: ObjectAtPath): readonly ContentPart[] {
  const content = presentMember(message, 'content');
  if (content === undefined) return [];
  if (typeof content === 'string') return [{ kind: 'text', at: `${at}.content`, text: content }];
  if (!isList(content)) {
    return refuse(`${at}.content`, 'must be a string or an array of parts.');
  }
  return objectsIn(message, 'content', at).map(readPart);
}

/** The text parts of a message that may hold nothing else. */
export function readTexts(message: ObjectAtPath): readonly TextPart[] {
  return readContent(message).map((part) =>
    part.kind === 'text'
      ? part
      : refuse(part.at, 'can only be text here. Send the media in a user message.'),
  );
}

/** `cache_control` as an object, which callers of Anthropic's models put on parts and tools. */
export function cacheControlOf(source: JsonObject): JsonObject | undefined {
  const control = member(source, 'cache_control');
  return isJsonObject(control) ? control : undefined;
}

/** An image of a message's `image_url` or `images`; the address may stand there by itself. */
export function readImage({ value: part, at }: ObjectAtPath, name: string): MediaPart {
  const image = presentMember(part, name);
  const source = isJsonObject(image) ? image : { url: image ?? null };
  return {
    kind: 'media',
    at,
    detailAt: `${at}.${name}.detail`,
    ...readUrl(
      requiredText(source, 'url', `${at}.${name}`),
      `${at}.${name}.url`,
      declaredType(source),
    ),
    detail: textIn(source, 'detail', `${at}.${name}`),
    cacheControl: cacheControlOf(part),
  };
}

function readPart(placed: ObjectAtPath): ContentPart {
  const { value: part, at } = placed;
  switch (member(part, 'type')) {
    case 'text':
      return readText(placed, 'text');
    case 'refusal':
      return readText(placed, 'refusal');
    case 'image_url':
      return readImage(placed, 'image_url');
    case 'video_url':
      return readImage(placed, 'video_url');
    case 'input_audio':
      return readAudio(placed);
    case 'file':
      return readFile(placed);
    default:
      return refuse(
        at,
        'is of a type that this model can’t be given. Send text, image_url, input_audio or file.',
      );
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
  const media = readBase64(data, format === undefined ? undefined : audioType(format));
  return { kind: 'media', at, ...media, cacheControl: cacheControlOf(part) };
}

function audioType(format: string): string {
  return format.includes('/') ? format.toLowerCase() : `audio/${format.toLowerCase()}`;
}

function readFile({ value: part, at }: ObjectAtPath): MediaPart {
  const file = requiredObject(part, 'file', at);
  const path = `${at}.file`;
  const fileName = textIn(file, 'filename', path);
  const said =
    declaredType(file) ?? (fileName === undefined ? undefined : mimeTypeOfName(fileName));
  const names = { fileName, fileNameAt: `${path}.filename` };
  const base = { kind: 'media', at, ...names, cacheControl: cacheControlOf(part) } as const;
  const data = textIn(file, 'file_data', path);
  if (data !== undefined && data !== '') {
    const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(data);
    const media = isUrl ? readUrl(data, `${path}.file_data`, said) : readBase64(data, said);
    return { ...base, ...media };
  }
  const id = textIn(file, 'file_id', path);
  if (id === undefined || id === '') {
    return refuse(path, 'holds no file. Send it as a data URL in `file_data`.');
  }
  return { ...base, mimeType: said, source: { type: 'file', id } };
}

/** LiteLLM's and Portkey's callers may name the type of what lies at an address. */
function declaredType(source: JsonObject): string | undefined {
  const said = member(source, 'format') ?? member(source, 'mime_type');
  return typeof said === 'string' && said.includes('/') ? said.toLowerCase() : undefined;
}

type Media = Pick<MediaPart, 'mimeType' | 'source'>;

/** Data URLs are taken in; addresses go on as they are, for the gateway fetches nothing itself. */
function readUrl(url: string, path: string, said: string | undefined): Media {
  if (/^data:/i.test(url)) {
    const data = parseDataUrl(url) ?? refuse(path, 'is no valid data URL.');
    return { mimeType: data.mimeType ?? said, source: { type: 'base64', data: data.data } };
  }
  const mimeType = said ?? mimeTypeOfName(url);
  if (isGoogleFile(url)) return { mimeType, source: { type: 'file', id: url } };
  if (!/^https?:\/\//i.test(url)) {
    return refuse(path, 'must be a data URL or an http(s) address.');
  }
  return { mimeType, source: { type: 'url', url } };
}

/** An address that only Google can read, with the credentials of its own. */
function isGoogleFile(url: string): boolean {
  return /^gs:\/\/|^https:\/\/generativelanguage\.googleapis\.com\/(?:[^/]+\/)?files\//i.test(url);
}

function readBase64(text: string, said: string | undefined): Media {
  const parsed = parseDataUrl(/^data:/i.test(text) ? text : `data:;base64,${text}`);
  const data = parsed?.data ?? text;
  return { mimeType: said ?? parsed?.mimeType, source: { type: 'base64', data } };
}
