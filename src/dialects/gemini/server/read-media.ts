/** Reads the media of a part: inline data, a URL, or a file stored at Google. */
import { mimeTypeOfName, parseDataUrl } from '../../../canonical/media.ts';
import type { MediaPart } from '../../../canonical/request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../json.ts';
import { refuse } from '../../read-members.ts';
import { type Drop, dropUnknown, field, textField } from './fields.ts';

export interface MediaLocation {
  readonly at: string;
  readonly drop: Drop;
}

export function readInlineData(value: JsonValue, { at, drop }: MediaLocation): MediaPart {
  const path = `${at}.inlineData`;
  if (!isJsonObject(value)) return refuse(path, 'must be an object with `mimeType` and `data`.');
  const sent = textField(value, 'data', path);
  if (sent === undefined || sent === '') return refuse(`${path}.data`, 'must be Base64 text.');
  dropUnknown(value, ['mimeType', 'data', 'displayName'], { at: path, drop });
  const data = plainBase64(sent);
  return {
    kind: 'media',
    at,
    mimeType: mimeTypeIn(value, path) ?? parseDataUrl(`data:;base64,${data}`)?.mimeType,
    source: { type: 'base64', data },
    fileName: textField(value, 'displayName', path) || undefined,
    fileNameAt: `${path}.displayName`,
  };
}

export function readFileData(value: JsonValue, { at, drop }: MediaLocation): MediaPart {
  const path = `${at}.fileData`;
  if (!isJsonObject(value)) return refuse(path, 'must be an object with `fileUri`.');
  const uri = textField(value, 'fileUri', path);
  if (uri === undefined || uri === '') return refuse(`${path}.fileUri`, 'must be a URI.');
  dropUnknown(value, ['mimeType', 'fileUri', 'displayName'], { at: path, drop });
  return {
    kind: 'media',
    at,
    mimeType: mimeTypeIn(value, path) ?? mimeTypeOfName(uri),
    source: isGoogleFile(uri) ? { type: 'file', id: uri } : { type: 'url', url: uri },
    fileName: textField(value, 'displayName', path) || undefined,
    fileNameAt: `${path}.displayName`,
  };
}

/** OpenAI's `detail` for a part's `mediaResolution`; undefined if there is no equivalent. */
export function detailOf(resolution: JsonValue | undefined): string | undefined {
  const level = isJsonObject(resolution) ? field(resolution, 'level') : resolution;
  const word = typeof level === 'string' ? /^(?:media_resolution_)?(low|high)$/i.exec(level) : null;
  return word?.[1]?.toLowerCase();
}

function mimeTypeIn(value: JsonObject, path: string): string | undefined {
  return textField(value, 'mimeType', path)?.trim().toLowerCase() || undefined;
}

/** Google also accepts URL-safe and unpadded Base64; other providers don't. */
function plainBase64(text: string): string {
  const plain = /[-_\s]/.test(text)
    ? text.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/')
    : text;
  return plain.length % 4 === 0 ? plain : plain.padEnd(Math.ceil(plain.length / 4) * 4, '=');
}

function isGoogleFile(uri: string): boolean {
  if (!/^https?:\/\//i.test(uri)) return true;
  return /^https?:\/\/[^/]*googleapis\.com\/v\w+\/files\//i.test(uri);
}
