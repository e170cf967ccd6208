/** Finds media types: in data URLs, by file extension, and by the first bytes of the data. */

export interface DataUrl {
  /** In lower case; undefined if neither the URL nor the first bytes of the data reveal it. */
  readonly mimeType: string | undefined;
  /** Base64 without white space. */
  readonly data: string;
}

export interface DataUrlHead {
  /** In lower case; empty if the URL names none. */
  readonly mimeType: string;
  readonly isBase64: boolean;
  /** Where the data begins; 0 if the text ends before, or the head is longer than any real one. */
  readonly dataAt: number;
}

/** Any text may begin like a data URL, so only its beginning is searched for the comma. */
const maxHeadChars = 2_048;

export function dataUrlHead(text: string): DataUrlHead | undefined {
  const head = text.slice(0, maxHeadChars);
  if (!/^data:/i.test(head)) return undefined;
  const comma = head.indexOf(',');
  const fields = comma === -1 ? head : head.slice(0, comma);
  const [mimeType = '', ...parameters] = fields
    .slice('data:'.length)
    .split(';')
    .map((field) => field.trim().toLowerCase());
  return { mimeType, isBase64: comma !== -1 && parameters.includes('base64'), dataAt: comma + 1 };
}

export function parseDataUrl(url: string): DataUrl | undefined {
  const head = dataUrlHead(url);
  if (head === undefined || head.dataAt === 0) return undefined;
  const namedType = head.mimeType.includes('/') ? head.mimeType : undefined;
  const content = url.slice(head.dataAt);
  if (head.isBase64) {
    const data = normalizedBase64(content);
    if (data === undefined) return undefined;
    return { mimeType: namedType ?? sniffMimeType(data), data };
  }
  const data = percentDecoded(content).toString('base64');
  // RFC 2397: the default type is text/plain.
  return { mimeType: namedType ?? sniffMimeType(data) ?? 'text/plain', data };
}

export function dataUrl(mimeType: string | undefined, data: string): string {
  return `data:${mimeType ?? ''};base64,${data}`;
}

export function mimeTypeOfName(nameOrUrl: string): string | undefined {
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*([^?#]*)/i.exec(nameOrUrl)?.[1] ?? nameOrUrl;
  const extension = /\.([a-z0-9]{1,5})$/i.exec(path.slice(-6))?.[1]?.toLowerCase();
  return extension === undefined ? undefined : byExtension.get(extension);
}

/** The kind of media. An unknown type counts as a document. */
export function mediaKindOf(
  mimeType: string | undefined,
): 'image' | 'audio' | 'video' | 'document' {
  const kind = mimeType?.split('/', 1)[0]?.toLowerCase();
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document';
}

/** Extensions that are the names of their types. */
const namedTypes: Readonly<Record<string, readonly string[]>> = {
  image: ['png', 'jpeg', 'webp', 'gif', 'bmp', 'tiff', 'avif', 'heic', 'heif'],
  text: ['csv', 'html', 'xml'],
  application: ['pdf', 'json'],
  audio: ['wav', 'mp3', 'ogg', 'flac', 'aac'],
  video: ['mp4', 'webm', 'mpeg'],
};
const byExtension: ReadonlyMap<string, string> = new Map([
  ...Object.entries(namedTypes).flatMap(([kind, names]) =>
    names.map((name) => [name, `${kind}/${name}`] as const),
  ),
  ['jpg', 'image/jpeg'],
  ['tif', 'image/tiff'],
  ['ico', 'image/x-icon'],
  ['svg', 'image/svg+xml'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ['m4a', 'audio/mp4'],
  ['mov', 'video/quicktime'],
]);

const knownTypes: ReadonlySet<string> = new Set(byExtension.values());

/** Whether the media type is a common one, and so a word that a message may repeat. */
export function isKnownMimeType(mimeType: string): boolean {
  return knownTypes.has(mimeType);
}

/** Magic numbers: the first bytes of files, decoded as Latin-1. */
const signatures: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG\r\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^RIFF.{4}WAVE/s, 'audio/wav'],
  [/^II\*\0|^MM\0\*/, 'image/tiff'],
  [/^%PDF-/, 'application/pdf'],
  [/^OggS/, 'audio/ogg'],
  [/^fLaC/, 'audio/flac'],
  [/^ID3|^\xff[\xf2\xf3\xfa\xfb]/, 'audio/mp3'],
];

export function sniffMimeType(data: string): string | undefined {
  const head = Buffer.from(data.slice(0, 24), 'base64').toString('latin1');
  return signatures.find(([beginning]) => beginning.test(head))?.[1];
}

const notBase64 = /[^A-Za-z0-9+/=]/;

/** No white space, standard alphabet, with padding; undefined if it is malformed. */
function normalizedBase64(text: string): string | undefined {
  if (!notBase64.test(text)) return padded(text);
  const plain = text.includes('%') ? percentDecoded(text).toString('latin1') : text;
  const clean = plain.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/');
  return notBase64.test(clean) ? undefined : padded(clean);
}

function padded(text: string): string | undefined {
  const end = text.indexOf('=');
  const length = end === -1 ? text.length : end;
  const isEndOnly = text.length - length <= 2 && /^=*$/.test(text.slice(length));
  if (!isEndOnly || length % 4 === 1) return undefined;
  return text.length % 4 === 0
    ? text
    : text.slice(0, length).padEnd(Math.ceil(length / 4) * 4, '=');
}

/** Decodes byte by byte, since the encoded data needn't be text. A lone `%` is kept. */
function percentDecoded(text: string): Buffer {
  const bytes = Buffer.from(text).toString('latin1');
  const decoded = bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, 'latin1');
}

/** Whether the media type is audio; replies show all other media as images. */
export function isAudio(mimeType: string): boolean {
  return mimeType.startsWith('audio/');
}
