/** Media types: of data URLs, of file names, and of bytes that say themselves what they are. */

/** What stood in a data URL. */
export interface DataUrl {
  /** Lower case; undefined where neither the URL nor the bytes tell. */
  readonly mimeType: string | undefined;
  /** Base64 without white space. */
  readonly data: string;
}

/** The parts of a data URL, or undefined where the text is none or its Base64 is broken. */
export function parseDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(',');
  if (comma === -1 || !/^data:/i.test(url)) return undefined;
  const [type = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  const said = type.trim().toLowerCase();
  const content = url.slice(comma + 1);
  if (parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')) {
    const data = cleanBase64(content);
    if (data === undefined) return undefined;
    return { mimeType: said.includes('/') ? said : sniffMimeType(data), data };
  }
  const data = percentDecoded(content).toString('base64');
  // RFC 2397: a data URL that names no type is text.
  return { mimeType: said.includes('/') ? said : (sniffMimeType(data) ?? 'text/plain'), data };
}

/** A data URL; without a type where none is known. */
export function dataUrl(mimeType: string | undefined, data: string): string {
  return `data:${mimeType ?? ''};base64,${data}`;
}

/** By the extension of a file name or of a URL's path. */
export function mimeTypeOfName(nameOrUrl: string): string | undefined {
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*([^?#]*)/i.exec(nameOrUrl)?.[1] ?? nameOrUrl;
  const extension = /\.([a-z0-9]{1,5})$/i.exec(path.slice(-6))?.[1]?.toLowerCase();
  return extension === undefined ? undefined : byExtension.get(extension);
}

/** What kind of media a type is; what nobody knows counts as a document. */
export function mediaKindOf(
  mimeType: string | undefined,
): 'image' | 'audio' | 'video' | 'document' {
  const kind = mimeType?.split('/', 1)[0]?.toLowerCase();
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document';
}

const byExtension: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['bmp', 'image/bmp'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['svg', 'image/svg+xml'],
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ['csv', 'text/csv'],
  ['html', 'text/html'],
  ['xml', 'text/xml'],
  ['json', 'application/json'],
  ['wav', 'audio/wav'],
  ['mp3', 'audio/mp3'],
  ['ogg', 'audio/ogg'],
  ['flac', 'audio/flac'],
  ['m4a', 'audio/mp4'],
  ['aac', 'audio/aac'],
  ['mp4', 'video/mp4'],
  ['mov', 'video/quicktime'],
  ['webm', 'video/webm'],
  ['mpeg', 'video/mpeg'],
]);

/** How files of a type begin, as Latin-1. */
const beginnings: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG\r\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^RIFF.{4}WAVE/s, 'audio/wav'],
  [/^%PDF-/, 'application/pdf'],
  [/^OggS/, 'audio/ogg'],
  [/^fLaC/, 'audio/flac'],
  [/^ID3|^\xff[\xf2\xf3\xfa\xfb]/, 'audio/mp3'],
];

/** What Base64 says of itself by its first bytes. */
export function sniffMimeType(data: string): string | undefined {
  const head = Buffer.from(data.slice(0, 24), 'base64').toString('latin1');
  return beginnings.find(([beginning]) => beginning.test(head))?.[1];
}

const strange = /[^A-Za-z0-9+/=]/;

/** Without white space, in the plain alphabet, filled up; undefined where it is no Base64. */
function cleanBase64(text: string): string | undefined {
  if (!strange.test(text)) return filledUp(text);
  const plain = text.includes('%') ? percentDecoded(text).toString('latin1') : text;
  const clean = plain.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/');
  return strange.test(clean) ? undefined : filledUp(clean);
}

function filledUp(text: string): string | undefined {
  const end = text.indexOf('=');
  const length = end === -1 ? text.length : end;
  const isEndOnly = text.length - length <= 2 && /^=*$/.test(text.slice(length));
  if (!isEndOnly || length % 4 === 1) return undefined;
  return text.length % 4 === 0
    ? text
    : text.slice(0, length).padEnd(Math.ceil(length / 4) * 4, '=');
}

/** Byte by byte, for what is encoded need not be text. A lone `%` stands for itself. */
function percentDecoded(text: string): Buffer {
  const bytes = Buffer.from(text).toString('latin1');
  const decoded = bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, 'latin1');
}
