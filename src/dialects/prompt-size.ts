/**
 * Measures a request body for its quota hold. Every byte counts as text, member names and
 * punctuation included, except the payload of media in places where a provider reads media, and
 * signatures that only their provider can read. Anything unrecognised therefore counts too much,
 * never too little.
 */
import { type Body, originalBytes, originalLength } from '../bytes/body/body.ts';
import { decodeString } from '../bytes/decode.ts';
import { kindAt, membersOf } from '../bytes/json/read/members.ts';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../bytes/json/read/skip.ts';
import type { Member, Span } from '../bytes/json/scan/scan.ts';
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  isSpace,
  openBrace,
  openBracket,
  quote,
  spaceEnd,
} from '../bytes/json/text.ts';
import type { MediaKind, MediaUse, PromptSize } from '../call.ts';
import { dataUrlHead, mediaKindOf, mimeTypeOfName } from '../canonical/media.ts';

/** Measures a request body of one dialect: JSON that was scanned, or that the gateway wrote. */
export type MeasureBody = (body: Body, members: readonly Member[]) => PromptSize;

/** The running totals of a measurement. */
export interface PromptTally {
  readonly body: Body;
  payloadBytes: number;
  sealedBytes: number;
  messages: number;
  readonly media: MediaUse[];
}

/** Starts a measurement. */
export function promptTally(body: Body): PromptTally {
  return { body, payloadBytes: 0, sealedBytes: 0, messages: 0, media: [] };
}

/** Completes a measurement: bytes that are neither payload nor sealed count as text. */
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

/**
 * Visits each element of the array at `start` with its index; returns the offset of the array's
 * end.
 */
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

/**
 * Counts a value that may be media where a server is not known to read media: as media, and its
 * payload as text as well. Returns what `count` returns, the end of the value.
 */
export function asTextToo(tally: PromptTally, count: () => number): number {
  const { payloadBytes } = tally;
  const end = count();
  tally.payloadBytes = payloadBytes;
  return end;
}

/** The same, for a value in another shape than its provider's: signatures count as text too. */
export function inOtherShape(tally: PromptTally, count: () => number): number {
  const { sealedBytes } = tally;
  const end = asTextToo(tally, count);
  tally.sealedBytes = sealedBytes;
  return end;
}

/**
 * Counts the signatures of a turn as text unless it is the model's: nobody else's turn has any.
 * `sealedBefore` are the sealed bytes before the turn. Called only for turns with signatures.
 */
export function sealOnlyModel(tally: PromptTally, turn: Span, sealedBefore: number): void {
  const { text } = tally.body;
  const role = shortText(text, presentValue(text, membersOf(text, turn), 'role'));
  if (role !== 'assistant' && role !== 'model') tally.sealedBytes = sealedBefore;
}

/** A string in a body that holds media data or a media URL. */
export interface MediaString {
  readonly span: Span;
  readonly at: string;
  /** Media types from other members: `format`, `mimeType`, the extension of a file name. */
  readonly types: readonly string[];
}

/** Enough for the head of every data URL and for every URL that is examined. */
const maxHeadChars = 2048;

/** Returns the beginning of a string, unescaped and without leading white space. */
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
 * Counts a string as media. Its payload is exempt from the text count only if all stated types
 * agree on one that no provider reads as text.
 */
export function addMediaString(tally: PromptTally, { span, at, types }: MediaString): void {
  const { body, media } = tally;
  const end = Math.min(span.end - 1, span.start + maxHeadChars);
  const text = body.text.toString('latin1', span.start + 1, end);
  const length = originalLength(body, span.start, span.end) - 2;
  const head = dataUrlHead(text);
  if (head !== undefined) {
    const { isBase64, dataAt } = head;
    // PHP escapes slashes. Any other escape makes the type invalid, so that the payload counts as
    // text.
    const type = head.mimeType.replaceAll('\\/', '/');
    const named = type === '' ? types : [type, ...types];
    const bytes = isBase64
      ? base64Bytes(body, { start: span.start + dataAt, end: span.end }, length - dataAt)
      : 0;
    addPayload(tally, { kind: payloadKind(named), bytes, at });
  } else if (/^[a-z][a-z0-9+.-]*:/i.test(text)) {
    media.push({ kind: urlKind(text, types), bytes: 0, at });
  } else if (/^\s|^\\/.test(text) && /^[a-z][a-z0-9+.-]*:/i.test(headOf(body.text, span))) {
    // Some servers unescape and trim such a string, so it may be any kind of media.
    media.push({ kind: 'reference', bytes: 0, at });
  } else {
    addPayload(tally, { kind: payloadKind(types), bytes: base64Bytes(body, span, length), at });
  }
}

/**
 * Returns the number of Base64 bytes in a string of this length: all but the backslashes with which
 * PHP escapes slashes. 0 if the string has another escape or does not begin like Base64.
 */
function base64Bytes({ text }: Body, { start, end }: Span, length: number): number {
  const beginning = text.toString('latin1', start + 1, Math.min(end - 1, start + maxHeadChars));
  if (!/^[A-Za-z0-9+/\\_-]*={0,2}$/.test(beginning)) return 0;
  // Only the string itself: a search in the whole body would pass all of it for each string.
  const inside = text.subarray(start, end);
  let escapes = 0;
  let at = inside.indexOf(backslash);
  while (at !== -1) {
    if (inside[at + 1] !== slash) return 0;
    escapes += 1;
    at = inside.indexOf(backslash, at + 2);
  }
  return length - escapes;
}

const slash = 0x2f;
const lowerN = 0x6e;

/** The kind of a payload according to its media type. */
export type PayloadKind = MediaKind | 'text' | 'unknown';

function addPayload(
  tally: PromptTally,
  { kind, bytes, at }: { readonly kind: PayloadKind; readonly bytes: number; readonly at: string },
): void {
  if (kind === 'text') return;
  if (kind === 'unknown') {
    // Counts as text as well, because a provider may read it as text.
    tally.media.push({ kind: 'document', bytes: 0, at });
    return;
  }
  tally.payloadBytes += bytes;
  tally.media.push({ kind, bytes, at });
}

/**
 * Returns the kind that all these media types agree on. SVG is text. Documents other than PDF are
 * unknown, so that they count as text.
 */
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

/**
 * Returns `image` only if nothing contradicts it: the gateway does not fetch the URL, so it cannot
 * know what the URL serves.
 */
export function urlKind(url: string, types: readonly string[]): MediaKind {
  const isWeb = /^https?:\/\/(?![^/]*(?:googleapis\.com|youtube\.com|youtu\.be))/i.test(url);
  const named = types.length > 0 ? types : [mimeTypeOfName(url) ?? 'image/*'];
  return isWeb && payloadKind(named) === 'image' ? 'image' : 'reference';
}

/**
 * Counts a string as sealed unless it contains a character that is not Base64. A signature or
 * encrypted reasoning has at least 5 bytes for each token.
 */
export function addSealed(tally: PromptTally, { start, end }: Span): void {
  const { body } = tally;
  if (body.text[start] !== quote) return;
  const text = originalBytes(body, start + 1, end - 1).toString('latin1');
  if (/^[A-Za-z0-9+/_=-]*$/.test(text)) tally.sealedBytes += text.length;
}

/** Counts the `file_id` of a part or media member at this path, unless the value is empty. */
export function addFileId({ body, media }: PromptTally, { start, end }: Span, at: string): void {
  const first = body.text[start];
  const isEmpty =
    first === quote || first === openBracket ? end - start === 2 : first !== openBrace;
  if (!isEmpty) media.push({ kind: 'reference', bytes: 0, at: `${at}.file_id`, isFileId: true });
}

/** What is known about content to which a prompt only refers. */
export interface KnownContent {
  /** Bytes of encrypted reasoning that were counted as text, though its own provider reads them. */
  readonly sealedBytes: number;
  /** The tokens of what the reference at a path refers to. */
  readonly tokens: ReadonlyMap<string, number>;
}

/** The size of a prompt with what is known about its references. */
export function withKnownContent(prompt: PromptSize, known: KnownContent): PromptSize {
  const sealedBytes = Math.min(known.sealedBytes, prompt.textBytes);
  return {
    ...prompt,
    textBytes: prompt.textBytes - sealedBytes,
    sealedBytes: prompt.sealedBytes + sealedBytes,
    media: prompt.media.map((use) => {
      const tokens = use.kind === 'reference' ? known.tokens.get(use.at) : undefined;
      return tokens === undefined ? use : { ...use, tokens };
    }),
  };
}

/** Returns the text of a short string; undefined for anything else. */
export function shortText(bytes: Buffer, span: Span | undefined): string | undefined {
  if (span === undefined || bytes[span.start] !== quote) return undefined;
  if (span.end - span.start > maxHeadChars) return undefined;
  return decodeString(bytes, span.start + 1, span.end - 1);
}

/** Returns the first of the named members that is not null. */
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

/** Returns the member if it has content: it is not null, empty or blank. */
export function filledValue(
  bytes: Buffer,
  members: readonly Member[],
  name: string,
  label?: string,
): Span | undefined {
  const value = members.find((one) => one.name === name)?.value;
  return value === undefined || isBlank(bytes, value, label) ? undefined : value;
}

/**
 * Whether a value has no content: it consists of nulls and blank strings, at any depth. Members
 * with the name `label` are no content.
 */
export function isBlank(bytes: Buffer, { start, end }: Span, label?: string): boolean {
  let at = start;
  while (at < end) {
    const byte = bytes[at];
    if (byte === quote) {
      const textEnd = skipString(bytes, at);
      const isName = bytes[spaceEnd(bytes, textEnd)] === colon;
      if (!isName && !isBlankString(bytes, at + 1, textEnd - 1)) return false;
      const isLabel = isName && label !== undefined && isString(bytes, at, textEnd, label);
      at = isLabel ? skipValue(bytes, afterName(bytes, textEnd)) : textEnd;
    } else if (byte === lowerN) at += 'null'.length;
    else if (isPunctuation(byte)) at += 1;
    else return false;
  }
  return true;
}

function isPunctuation(byte: number | undefined): boolean {
  switch (byte) {
    case openBrace:
    case closeBrace:
    case openBracket:
    case closeBracket:
    case comma:
    case colon:
      return true;
    default:
      return byte !== undefined && isSpace(byte);
  }
}

function isBlankString(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at < end && bytes[at] === 0x20) at += 1;
  const first = bytes[at] ?? 0;
  // An escape, or a character outside of ASCII, may be white space too.
  if (at < end && first !== backslash && first < 0x80) return false;
  return decodeString(bytes, at, end).trim() === '';
}

/** Returns all of the named members that are not null, as short texts. */
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
 * Returned for a value that is not a short string. It is not a known media type, so it
 * agrees with no other type.
 */
export const unreadable = 'unreadable/unreadable';
