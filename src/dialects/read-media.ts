/**
 * Reads media that callers of OpenAI's APIs send: data URLs, other URLs and Base64. The gateway
 * fetches nothing itself.
 */
import { mimeTypeOfName, parseDataUrl } from '../canonical/media.ts';
import type { MediaPart } from '../canonical/request.ts';
import { refuse } from './read-members.ts';

export type Media = Pick<MediaPart, 'mimeType' | 'source'>;

/** The media type of a format of `input_audio`: `wav`, `mp3`. */
export function audioType(format: string): string {
  return format.includes('/') ? format.toLowerCase() : `audio/${format.toLowerCase()}`;
}

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

/** Reads Base64, which some callers send as a data URL. */
export function mediaInBase64(text: string, statedType: string | undefined): Media {
  const parsed = parseDataUrl(/^data:/i.test(text) ? text : `data:;base64,${text}`);
  const data = parsed?.data ?? text;
  return { mimeType: statedType ?? parsed?.mimeType, source: { type: 'base64', data } };
}
