/** Writes an image, audio or a document as a part of a message. */

import { dataUrl, mediaKindOf, mimeTypeOfName } from '../../../canonical/media.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { MediaPart } from '../../../canonical/request.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import {
  type AcceptedMedia,
  checkMediaKind,
  checkMediaType,
  notPortable,
  storedElsewhere,
} from '../../not-portable.ts';

/** Files are left to the upstream: OpenAI adds formats, and compatible servers have their own. */
const accepted: AcceptedMedia = {
  image: { types: /^image\/(?:png|jpe?g|gif|webp)$/, names: 'the image as PNG, JPEG, GIF or WebP' },
};

export function mediaNode(part: MediaPart, flags: ResolvedCapabilities): JsonNode {
  const { source } = part;
  if (source.type === 'file') throw storedElsewhere(part.at);
  if (source.type === 'url') return remoteImage(part, source.url, flags);
  const kind = mediaKindOf(part.mimeType);
  if (kind === 'video')
    throw notPortable(part.at, 'This model does not accept video. Leave it out.');
  checkMediaKind(part, kind, flags);
  if (part.mimeType !== undefined) checkMediaType(part, part.mimeType, accepted);
  if (kind === 'image') return imageNode(part, dataUrl(part.mimeType, source.data));
  if (kind === 'audio') return audioNode(part, source.data);
  const fileData = dataUrl(part.mimeType, source.data);
  return { type: 'file', file: { filename: nameOf(part), file_data: fileData } };
}

/** OpenAI accepts only the detail of an image and the name of a document. */
export function droppedMediaMembers(part: MediaPart): readonly string[] {
  const { fileName, detail } = part;
  const kind = mediaKindOf(part.mimeType);
  const isImage = kind === 'image' || part.source.type === 'url';
  const hasDetail = isImage && isKnownDetail(detail);
  const hasName = kind === 'document' && part.source.type === 'base64';
  return [
    ...(detail === undefined || hasDetail ? [] : [part.detailAt ?? part.at]),
    ...(fileName === undefined || hasName ? [] : [part.fileNameAt ?? part.at]),
  ];
}

function isKnownDetail(detail: string | undefined): boolean {
  return detail === 'low' || detail === 'high' || detail === 'auto';
}

const videoSite = /^https?:\/\/(?:[\w-]+\.)*(?:youtube\.com|youtu\.be)(?:[/:?#]|$)/i;

function remoteImage(part: MediaPart, url: string, flags: ResolvedCapabilities): JsonNode {
  if (!/^https?:\/\//i.test(url) || videoSite.test(url)) {
    throw notPortable(part.at, 'This model cannot read this URL. Send the bytes.');
  }
  const mimeType = part.mimeType ?? mimeTypeOfName(url);
  // A URL without a recognisable type is treated as an image, as OpenAI's callers mean it.
  if (mimeType !== undefined && mediaKindOf(mimeType) !== 'image') {
    throw notPortable(part.at, 'This model accepts only images by URL. Send the bytes.');
  }
  if (!flags.mediaUrls || !flags.mediaInput.includes('image')) {
    throw notPortable(part.at, 'This model does not accept image URLs. Send the bytes.');
  }
  if (mimeType !== undefined) checkMediaType(part, mimeType, accepted);
  return imageNode(part, url);
}

function imageNode({ detail }: MediaPart, url: string): JsonNode {
  return {
    type: 'image_url',
    image_url: { url, detail: isKnownDetail(detail) ? detail : undefined },
  };
}

function audioNode(part: MediaPart, data: string): JsonNode {
  const subtype = part.mimeType?.split('/')[1]?.split(';')[0] ?? '';
  const format = /^(?:x-|vnd\.)?wave?$/.test(subtype) ? 'wav' : mp3Of(subtype);
  if (format === undefined) {
    throw notPortable(part.at, 'This model accepts audio as WAV or MP3 only.');
  }
  return { type: 'input_audio', input_audio: { data, format } };
}

function mp3Of(subtype: string): 'mp3' | undefined {
  return /^(?:x-)?(?:mpeg|mp3|mpeg3|mpga)$/.test(subtype) ? 'mp3' : undefined;
}

/** OpenAI rejects a file without a name and infers its type from the extension. */
function nameOf({ fileName, mimeType }: MediaPart): string {
  if (fileName !== undefined && fileName !== '') return fileName;
  const subtype = /^[a-z]+\/([a-z0-9]+)/.exec(mimeType ?? '')?.[1];
  if (subtype === undefined) return 'document';
  return `document.${subtype === 'plain' ? 'txt' : subtype}`;
}
