/** Writes images, audio, video and documents for Gemini. */

import { mediaKindOf, mimeTypeOfName } from '../../../canonical/media.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { MediaPart } from '../../../canonical/request.ts';
import {
  type AcceptedMedia,
  checkMediaKind,
  checkMediaType,
  notPortable,
} from '../../not-portable.ts';
import type { WriteContext } from './write-context.ts';

/**
 * What Google documents; it refuses other types as unsupported, GIF among them. The lists of audio
 * and video are long and grow.
 */
const accepted: AcceptedMedia = {
  image: {
    types: /^image\/(?:png|jpeg|webp|heic|heif|bmp)$/,
    names: 'the image as PNG, JPEG, WebP, HEIC or HEIF',
  },
  document: {
    types: /^text\/|^application\/(?:pdf|json|xml|rtf|(?:x-)?(?:javascript|python|yaml))$/,
    names: 'the document as PDF or text',
  },
};

/** The part with the media itself or its URL. The gateway doesn't fetch URLs itself. */
export function writeMedia(
  context: WriteContext,
  part: MediaPart,
): { readonly [name: string]: JsonNode } {
  const mimeType = mimeTypeOf(part);
  if (mimeType !== undefined) {
    checkMediaKind(part, mediaKindOf(mimeType), context.capabilities);
    checkMediaType(part, mimeType, accepted);
  }
  // Only an alpha version of the API supports a resolution per part.
  if (part.detail !== undefined && part.detail !== 'auto') {
    context.drop(part.detailAt ?? `${part.at}.detail`);
  }
  // Only Vertex supports file names.
  if (part.fileName !== undefined) context.drop(part.fileNameAt ?? part.at);
  const { source } = part;
  if (source.type !== 'base64') return { fileData: fileOf(context, part, mimeType) };
  if (mimeType === undefined) {
    throw notPortable(part.at, 'The type of this media is unknown. Send its MIME type.');
  }
  return { inlineData: { mimeType, data: source.data } };
}

const aliases: ReadonlyMap<string, string> = new Map([
  ['audio/mpeg', 'audio/mp3'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/wave', 'audio/wav'],
  ['image/jpg', 'image/jpeg'],
]);

function mimeTypeOf({ mimeType, fileName, source }: MediaPart): string | undefined {
  const named = source.type === 'url' ? mimeTypeOfName(source.url) : undefined;
  const known = mimeType ?? mimeTypeOfName(fileName ?? '') ?? named;
  return known === undefined ? undefined : (aliases.get(known) ?? known);
}

function fileOf(context: WriteContext, part: MediaPart, mimeType: string | undefined): JsonNode {
  const { source } = part;
  if (source.type === 'base64') return undefined;
  const uri = source.type === 'url' ? source.url : source.id;
  if (isGoogleFile(uri)) return { mimeType: isYoutube(uri) ? 'video/mp4' : mimeType, fileUri: uri };
  if (source.type === 'file') {
    throw notPortable(
      part.at,
      'The file is stored at another provider. Send its bytes as a data URL.',
    );
  }
  if (!context.capabilities.mediaUrls || !/^https?:/i.test(uri)) {
    throw notPortable(part.at, "This model can't fetch URLs. Send the bytes as a data URL.");
  }
  if (mimeType === undefined || !canFetch(mimeType)) {
    throw notPortable(
      part.at,
      "This model can't fetch URLs of this file type. Send the bytes as a data URL.",
    );
  }
  return { mimeType, fileUri: uri };
}

function isGoogleFile(uri: string): boolean {
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
function canFetch(mimeType: string): boolean {
  return (
    /^image\/(?:png|jpeg|webp|heic|heif|bmp)$/.test(mimeType) ||
    /^(?:text|video|audio)\//.test(mimeType) ||
    mimeType === 'application/pdf'
  );
}
