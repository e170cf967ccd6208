/**
 * Measures a request body for its hold. Every byte counts as text, names and punctuation included,
 * except the payload of media where a provider reads media, and signatures that only their provider
 * can read. What is not recognised therefore counts too much, never too little.
 */
import { type Body, originalBytes, originalLength } from '../bytes/body/body.ts';
import { decodeString } from '../bytes/decode.ts';
import { kindAt } from '../bytes/json/read/members.ts';
import { firstInside, nextInside } from '../bytes/json/read/skip.ts';
import type { Member, Span } from '../bytes/json/scan/scan.ts';
import { backslash, closeBracket, quote } from '../bytes/json/text.ts';
import type { MediaKind, MediaUse, PromptSize } from '../call.ts';
import { mediaKindOf, mimeTypeOfName } from '../canonical/media.ts';

/** Measures a body of one dialect, which is scanned JSON or written by us. */
export type MeasureBody = (body: Body, members: readonly Member[]) => PromptSize;

/** What was found so far. */
export interface PromptTally {
  readonly body: Body;
  payloadBytes: number;
  sealedBytes: number;
  messages: number;
  readonly media: MediaUse[];
}

/** Nothing is found yet. */
export function promptTally(body: Body): PromptTally {
  return { body, payloadBytes: 0, sealedBytes: 0, messages: 0, media: [] };
}

/** The size of a body whose media have been found. */
export function sizeOf({
  body,
  payloadBytes,
  sealedBytes,
  messages,
  media,
}: PromptTally): PromptSize {
  const textBytes = body.byteLength - payloadBytes - sealedBytes;
  return { textBytes, sealedBytes, messages, media };
}

/** Visits each element of the array at `start` with its index; gives where the array ends. */
export function eachElement(
  bytes: Buffer,
  start: number,
  visit: (elementStart: number, index: number) => number,
): number {
  let at = firstInside(bytes, start);
  for (let index = 0; bytes[at] !== closeBracket; index += 1) {
    at = nextInside(bytes, visit(at, index));
  }
  return at + 1;
}

/** A string of a body that holds media, or their address. */
export interface MediaString {
  readonly span: Span;
  readonly at: string;
  /** What else names a type: `format`, `mimeType`, the extension of a file name. */
  readonly types: readonly string[];
}

/** The head of a data URL, and every address that is looked at, is shorter. */
const maxHeadChars = 2048;

/** How a string begins, its escapes undone and the white space before it left out. */
export function headOf(bytes: Buffer, { start, end }: Span): string {
  const head = bytes.toString('latin1', start + 1, Math.min(end - 1, start + maxHeadChars));
  const plain = head.includes('\\')
    ? head.replace(/\\(?:u([0-9a-f]{4})|(.))/gi, unescapeChar)
    : head;
  return plain.trimStart();
}

function unescapeChar(
  _escape: string,
  hex: string | undefined,
  letter: string | undefined,
): string {
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
  return letter === undefined || /[bfnrt]/.test(letter) ? ' ' : letter;
}

/**
 * Counts a string as media. Its payload is exempt from the text only where everything that names a
 * type agrees on one that no provider reads as text.
 */
export function addMediaString(tally: PromptTally, { span, at, types }: MediaString): void {
  const { body, media } = tally;
  const end = Math.min(span.end - 1, span.start + maxHeadChars);
  const text = body.text.toString('latin1', span.start + 1, end);
  const length = originalLength(body, span.start, span.end) - 2;
  if (/^data:/i.test(text)) {
    const comma = text.indexOf(',');
    // PHP escapes slashes; any other escape leaves a type that is none, and so text.
    const [type = '', ...parameters] = text
      .slice(5, Math.max(comma, 5))
      .replaceAll('\\/', '/')
      .split(';');
    const isBase64 = comma !== -1 && parameters.some((one) => /^\s*base64\s*$/i.test(one));
    const named = type.trim() === '' ? types : [type, ...types];
    const bytes = isBase64
      ? base64Bytes(body, { start: span.start + comma + 1, end: span.end }, length - comma - 1)
      : 0;
    addPayload(tally, { kind: payloadKind(named), bytes, at });
  } else if (/^[a-z][a-z0-9+.-]*:/i.test(text)) {
    media.push({ kind: urlKind(text, types), bytes: 0, at });
  } else if (/^\s|^\\/.test(text) && /^[a-z][a-z0-9+.-]*:/i.test(headOf(body.text, span))) {
    // Some servers undo escapes and cut white space: what lies there, nobody knows.
    media.push({ kind: 'reference', bytes: 0, at });
  } else {
    addPayload(tally, { kind: payloadKind(types), bytes: base64Bytes(body, span, length), at });
  }
}

/**
 * How many bytes of a string of this length are Base64: all but the backslashes with which PHP
 * escapes its slashes; none of one with another escape, or that does not begin as Base64.
 */
function base64Bytes({ text }: Body, { start, end }: Span, length: number): number {
  const beginning = text.toString('latin1', start + 1, Math.min(end - 1, start + maxHeadChars));
  if (!/^[A-Za-z0-9+/\\_-]*={0,2}$/.test(beginning)) return 0;
  let escapes = 0;
  let at = text.indexOf(backslash, start);
  while (at !== -1 && at < end) {
    if (text[at + 1] !== slash) return 0;
    escapes += 1;
    at = text.indexOf(backslash, at + 2);
  }
  return length - escapes;
}

const slash = 0x2f;

/** What the media type of a payload says of it. */
export type PayloadKind = MediaKind | 'text' | 'unknown';

function addPayload(
  tally: PromptTally,
  { kind, bytes, at }: { readonly kind: PayloadKind; readonly bytes: number; readonly at: string },
): void {
  if (kind === 'text') return;
  if (kind === 'unknown') {
    // Counts as text too: a provider may find that it is some.
    tally.media.push({ kind: 'document', bytes: 0, at });
    return;
  }
  tally.payloadBytes += bytes;
  tally.media.push({ kind, bytes, at });
}

/** What all these media types agree on. SVG is text, and so is every document but a PDF. */
export function payloadKind(types: readonly string[]): PayloadKind {
  const kinds = new Set(types.map(kindOfType));
  const [kind = 'unknown'] = kinds;
  return kinds.size > 1 ? 'unknown' : kind;
}

function kindOfType(type: string): PayloadKind {
  const name = type.trim().toLowerCase();
  if (name === 'application/pdf') return 'document';
  if (/^text\/|\b(?:json|xml|yaml|javascript)\b/.test(name)) return 'text';
  const kind = mediaKindOf(name);
  return kind === 'document' ? 'unknown' : kind;
}

/** An image only if nothing says otherwise: what lies at an address, nobody here can know. */
export function urlKind(address: string, types: readonly string[]): MediaKind {
  const isWeb = /^https?:\/\/(?![^/]*(?:googleapis\.com|youtube\.com|youtu\.be))/i.test(address);
  const named = types.length > 0 ? types : [mimeTypeOfName(address) ?? 'image/*'];
  return isWeb && payloadKind(named) === 'image' ? 'image' : 'reference';
}

/**
 * Counts a string as sealed, unless it holds what no Base64 does: a signature or encrypted
 * reasoning has 5 bytes and more for each token that it stands for.
 */
export function addSealed(tally: PromptTally, { start, end }: Span): void {
  const { body } = tally;
  if (body.text[start] !== quote) return;
  const text = originalBytes(body, start + 1, end - 1).toString('latin1');
  if (/^[A-Za-z0-9+/_=-]*$/.test(text)) tally.sealedBytes += text.length;
}

/** The text of a short string; undefined for everything else. */
export function shortText(bytes: Buffer, span: Span | undefined): string | undefined {
  if (span === undefined || bytes[span.start] !== quote) return undefined;
  if (span.end - span.start > maxHeadChars) return undefined;
  return decodeString(bytes, span.start + 1, span.end - 1);
}

/** The value of a member that is there and not null. */
export function presentValue(
  bytes: Buffer,
  members: readonly Member[],
  ...names: readonly string[]
): Span | undefined {
  for (const { name, value } of members) {
    if (names.includes(name) && kindAt(bytes, value) !== 'null') return value;
  }
  return undefined;
}

/** The same, all of them, as short texts. */
export function textsOf(
  bytes: Buffer,
  members: readonly Member[],
  ...names: readonly string[]
): readonly string[] {
  const values = members.filter(
    ({ name, value }) => names.includes(name) && kindAt(bytes, value) !== 'null',
  );
  return values
    .map(({ value }) => shortText(bytes, value) ?? unreadable)
    .filter((text) => text !== '');
}

/**
 * Stands for what is no short text: as a media type it is none, so that it agrees with no other.
 */
export const unreadable = 'unreadable/unreadable';
