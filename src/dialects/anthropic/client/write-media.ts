/** Writes images and documents as Anthropic's content blocks. */

import { mediaKindOf, mimeTypeOfName } from '../../../canonical/media.ts';
import type { MediaPart } from '../../../canonical/request.ts';
import { GatewayError } from '../../../errors.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import {
  type AcceptedMedia,
  checkMediaKind,
  checkMediaType,
  notPortable,
} from '../../not-portable.ts';
import type { Block, WrittenBlocks } from './written.ts';

/** Documents other than PDF are sent as text. */
const accepted: AcceptedMedia = {
  image: { types: /^image\/(?:jpeg|png|gif|webp)$/, names: 'the image as JPEG, PNG, GIF or WebP' },
};

const textual = /^text\/|^application\/(?:json|xml|yaml|x-yaml|javascript)\b|\+(?:json|xml)\b/;

export function writeMedia(part: MediaPart, capabilities: ResolvedCapabilities): WrittenBlocks {
  const mimeType = mimeTypeOf(part);
  // A URL without any hint of its type is most likely that of an image.
  const isImageUrl = mimeType === undefined && part.source.type === 'url';
  const kind = isImageUrl ? 'image' : mediaKindOf(mimeType);
  checkMediaKind(part, kind, capabilities);
  if (mimeType !== undefined) checkMediaType(part, mimeType, accepted);
  const block = kind === 'image' ? image(part, mimeType) : document(part, mimeType);
  if (part.source.type === 'url' && !capabilities.mediaUrls) {
    throw notPortable(part.at, "This model can't fetch URLs; send the data itself in Base64.");
  }
  return {
    blocks: [{ ...block, cache_control: part.cacheControl }],
    dropped: droppedMembers(part, kind === 'image'),
  };
}

/** Anthropic doesn't support an image's detail and name. */
function droppedMembers(part: MediaPart, isImage: boolean): readonly string[] {
  const isDetailed = part.detail !== undefined && part.detail !== 'auto';
  const isNamed = isImage && part.fileName !== undefined;
  return [
    ...(isDetailed ? [part.detailAt ?? part.at] : []),
    ...(isNamed ? [part.fileNameAt ?? part.at] : []),
  ];
}

function mimeTypeOf({ mimeType, source, fileName }: MediaPart): string | undefined {
  const named = mimeType ?? (fileName === undefined ? undefined : mimeTypeOfName(fileName));
  if (source.type === 'url') return named ?? mimeTypeOfName(source.url);
  return named === 'image/jpg' ? 'image/jpeg' : named;
}

function image(part: MediaPart, mimeType: string | undefined): Block {
  const { source } = part;
  if (source.type === 'file') throw foreignFile(part);
  if (source.type === 'url') return { type: 'image', source: { type: 'url', url: httpUrl(part) } };
  const data = { type: 'base64', media_type: mimeType, data: source.data };
  return { type: 'image', source: data };
}

function document(part: MediaPart, mimeType: string | undefined): Block {
  const { source, fileName } = part;
  if (source.type === 'file') throw foreignFile(part);
  const isPdf = mimeType === 'application/pdf';
  if (isPdf && source.type === 'url') {
    return { type: 'document', source: { type: 'url', url: httpUrl(part) }, title: fileName };
  }
  if (isPdf && source.type === 'base64') {
    const data = { type: 'base64', media_type: mimeType, data: source.data };
    return { type: 'document', source: data, title: fileName };
  }
  if (source.type === 'base64' && mimeType !== undefined && textual.test(mimeType)) {
    const text = { type: 'text', media_type: 'text/plain', data: plainText(part, source.data) };
    return { type: 'document', source: text, title: fileName };
  }
  throw notPortable(
    part.at,
    'This model accepts documents as PDF, or as text in Base64; send one of these.',
  );
}

function plainText(part: MediaPart, data: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(data, 'base64'));
  } catch (cause) {
    throw new GatewayError('not_portable', 'This text is not UTF-8; send it as UTF-8.', {
      param: part.at,
      cause,
    });
  }
}

function httpUrl(part: MediaPart): string {
  const url = part.source.type === 'url' ? part.source.url : '';
  if (/^https?:\/\//i.test(url)) return url;
  throw notPortable(part.at, 'This model fetches only http and https URLs; send the data itself.');
}

function foreignFile(part: MediaPart): GatewayError {
  const sentence = "A file that is stored at another provider can't be read; send its bytes.";
  return notPortable(part.at, sentence);
}
