/** Writes images, audio, video and documents for Gemini. */
import { mediaKindOf, mimeTypeOfName } from '../../../canonical/media.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { MediaPart } from '../../../canonical/request.ts';
import { notPortable, type Writing } from './writing.ts';

/**
 * The part with the media itself or its URL. The gateway doesn't fetch URLs itself.
 *
 * @throws GatewayError `not_portable` if Gemini wouldn't accept it
 */
export function writeMedia(
  writing: Writing,
  part: MediaPart,
): { readonly [name: string]: JsonNode } {
  const mimeType = mimeTypeOf(part);
  checkKind(writing, part, mimeType);
  // Only an alpha version of the API supports a resolution per part.
  if (part.detail !== undefined && part.detail !== 'auto') {
    writing.drop(part.detailAt ?? `${part.at}.detail`);
  }
  // Only Vertex supports file names.
  if (part.fileName !== undefined) writing.drop(part.fileNameAt ?? part.at);
  const { source } = part;
  if (source.type !== 'base64') return { fileData: fileOf(writing, part, mimeType) };
  if (mimeType === undefined) {
    throw notPortable(part.at, 'The type of this media is unknown. Send it with its MIME type.');
  }
  return { inlineData: { mimeType, data: source.data } };
}

const respelled: ReadonlyMap<string, string> = new Map([
  ['audio/mpeg', 'audio/mp3'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/wave', 'audio/wav'],
  ['image/jpg', 'image/jpeg'],
]);

function mimeTypeOf({ mimeType, fileName, source }: MediaPart): string | undefined {
  const named = source.type === 'url' ? mimeTypeOfName(source.url) : undefined;
  const known = mimeType ?? mimeTypeOfName(fileName ?? '') ?? named;
  return known === undefined ? undefined : (respelled.get(known) ?? known);
}

/** Media of unknown type is checked where its source is written. */
function checkKind({ capabilities }: Writing, part: MediaPart, mimeType: string | undefined): void {
  if (mimeType === undefined) return;
  if (capabilities.mediaInput.includes(mediaKindOf(mimeType))) return;
  throw notPortable(part.at, 'The model does not take media of this kind. Leave it out.');
}

function fileOf(writing: Writing, part: MediaPart, mimeType: string | undefined): JsonNode {
  const { source } = part;
  if (source.type === 'base64') return undefined;
  const uri = source.type === 'url' ? source.url : source.id;
  if (isGoogles(uri)) return { mimeType: isYoutube(uri) ? 'video/mp4' : mimeType, fileUri: uri };
  if (source.type === 'file') {
    throw notPortable(part.at, 'The file lies at another provider. Send its bytes as a data URL.');
  }
  if (!writing.capabilities.mediaUrls || !/^https?:/i.test(uri)) {
    throw notPortable(part.at, 'The model fetches no addresses. Send the bytes as a data URL.');
  }
  if (mimeType === undefined || !isFetched(mimeType)) {
    throw notPortable(
      part.at,
      'The model fetches no address with this ending. Send the bytes as a data URL.',
    );
  }
  return { mimeType, fileUri: uri };
}

function isGoogles(uri: string): boolean {
  return (
    /^gs:\/\//i.test(uri) ||
    /^https:\/\/generativelanguage\.googleapis\.com\/v\w+\/files\//i.test(uri) ||
    isYoutube(uri)
  );
}

function isYoutube(uri: string): boolean {
  return /^https?:\/\/(?:(?:www\.|m\.)?youtube\.com\/|youtu\.be\/)/i.test(uri);
}

/** The types that Google fetches from URLs; GIF isn't one of them. */
function isFetched(mimeType: string): boolean {
  return (
    /^image\/(?:png|jpeg|webp|heic|heif|bmp)$/.test(mimeType) ||
    /^(?:text|video|audio)\//.test(mimeType) ||
    mimeType === 'application/pdf'
  );
}
