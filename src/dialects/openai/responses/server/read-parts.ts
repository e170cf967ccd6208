/**
 * Reads the content of a message or of a tool's output: a string, or parts with text, images, audio
 * and files.
 */

import { mimeTypeOfName } from '../../../../canonical/media.ts';
import type { MediaPart, TextPart } from '../../../../canonical/request.ts';
import { isJsonObject, type JsonObject, member } from '../../../../json.ts';
import { notPortable, storedElsewhere } from '../../../not-portable.ts';
import {
  mediaAtUrl,
  mediaInFile,
  type ObjectAtPath,
  objectIn,
  presentMember,
  readAudio,
  readContentOf,
  refuse,
  requiredText,
  textIn,
} from '../../../read-members.ts';

export type ContentPart = TextPart | MediaPart;

export function readContent(
  item: ObjectAtPath,
  name: 'content' | 'output',
  drop: (at: string) => void,
): readonly ContentPart[] {
  return readContentOf(item, name, (part) => readPart(part, drop));
}

function readPart(located: ObjectAtPath, drop: (at: string) => void): ContentPart {
  const { value: part, at } = located;
  const cache = readCacheMark(located, drop);
  switch (textIn(part, 'type', at)) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { kind: 'text', at, text: textOf(located, 'text'), ...cache };
    case 'refusal':
      return { kind: 'text', at, text: textOf(located, 'refusal'), ...cache };
    case 'input_image':
      return { kind: 'media', at, ...readImage(located), ...cache };
    case 'input_audio':
      return { kind: 'media', at, ...readAudio(located), ...cache };
    case 'input_file':
      return { kind: 'media', at, ...readFile(located), ...cache };
    default:
      throw notPortable(
        `${at}.type`,
        'This model does not support content of this type. Send input_text, input_image, ' +
          'input_audio or input_file.',
      );
  }
}

function textOf({ value: part, at }: ObjectAtPath, name: string): string {
  return textIn(part, name, at) ?? refuse(`${at}.${name}`, 'must be a string.');
}

type Media = Omit<MediaPart, 'kind' | 'at' | 'cacheControl' | 'cacheControlAt'>;

function readImage({ value: part, at }: ObjectAtPath): Media {
  const image = presentMember(part, 'image_url');
  // As in chat completions, some callers send an object.
  const source = isJsonObject(image) ? image : part;
  const name = isJsonObject(image) ? 'url' : 'image_url';
  const path = isJsonObject(image) ? `${at}.image_url` : at;
  if (image === undefined) refuseFileId(part, at);
  return {
    detail: textIn(part, 'detail', at),
    detailAt: `${at}.detail`,
    ...mediaAtUrl(requiredText(source, name, path), `${path}.${name}`, undefined),
  };
}

function readFile({ value: part, at }: ObjectAtPath): Media {
  const fileName = textIn(part, 'filename', at);
  const namedType = fileName === undefined ? undefined : mimeTypeOfName(fileName);
  const names = { fileName, fileNameAt: `${at}.filename` };
  const data = textIn(part, 'file_data', at) ?? '';
  if (data !== '') {
    return { ...names, ...mediaInFile(data, `${at}.file_data`, namedType) };
  }
  const url = textIn(part, 'file_url', at) ?? '';
  if (url === '') {
    refuseFileId(part, at);
    return refuse(at, 'contains no file. Send it as a data URL in `file_data`.');
  }
  const media = mediaAtUrl(url, `${at}.file_url`, namedType);
  // OpenAI fetches documents by URL, mostly PDF; what has no type would be taken for an image.
  return { ...names, ...media, mimeType: media.mimeType ?? 'application/pdf' };
}

function refuseFileId(part: JsonObject, at: string): void {
  const id = textIn(part, 'file_id', at) ?? '';
  if (id !== '') throw storedElsewhere(`${at}.file_id`);
}

/** The lifetimes at Anthropic, the only provider that takes such marks in a message. */
const longestLifetime = '1h';

/** OpenAI's lifetimes are all longer than Anthropic's default, so each becomes the longest. */
function readCacheMark(
  { value: part, at }: ObjectAtPath,
  drop: (at: string) => void,
): Pick<MediaPart, 'cacheControl' | 'cacheControlAt'> {
  const mark = objectIn(part, 'prompt_cache_breakpoint', at);
  if (mark === undefined) return {};
  const cacheControlAt = `${at}.prompt_cache_breakpoint`;
  const cacheControl = { type: 'ephemeral' };
  if ((member(mark, 'ttl') ?? null) === null) return { cacheControl, cacheControlAt };
  drop(`${cacheControlAt}.ttl`);
  return { cacheControl: { ...cacheControl, ttl: longestLifetime }, cacheControlAt };
}
