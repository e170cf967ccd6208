/**
 * Measures a request body for its quota hold. Every byte counts as text, member names and
 * punctuation included, except the payload of media in places where a provider reads media, and
 * signatures that only their provider can read. Anything unrecognised therefore counts too much,
 * never too little.
 */
import { decodeString } from '../../bytes/decode.ts';
import { maxShortBytes, none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Span } from '../../bytes/json/text.ts';
import { backslash, openBrace, openBracket, quote } from '../../bytes/json/text.ts';
import type { MediaKind, MediaUse, PromptSize } from '../../call.ts';
import { dataUrlHead, mediaKindOf, mimeTypeOfName } from '../../canonical/media.ts';

export type MeasureBody = (tape: Tape) => PromptSize;

export interface PromptTally {
  readonly tape: Tape;
  payloadBytes: number;
  sealedBytes: number;
  messages: number;
  readonly media: MediaUse[];
}

export function promptTally(tape: Tape): PromptTally {
  return { tape, payloadBytes: 0, sealedBytes: 0, messages: 0, media: [] };
}

/** Completes a measurement: bytes that are neither payload nor sealed count as text. */
export function sizeOf({
  tape,
  payloadBytes,
  sealedBytes,
  messages,
  media,
}: PromptTally): PromptSize {
  const textBytes = tape.body.byteLength - payloadBytes - sealedBytes;
  return { textBytes, sealedBytes, messages, media };
}

/** As media, and its payload as text too, where a server isn't known to read media. */
export function asTextToo(tally: PromptTally, count: () => void): void {
  const { payloadBytes } = tally;
  count();
  tally.payloadBytes = payloadBytes;
}

/** The same, for a value in another shape than its provider's: signatures count as text too. */
export function inOtherShape(tally: PromptTally, count: () => void): void {
  const { sealedBytes } = tally;
  asTextToo(tally, count);
  tally.sealedBytes = sealedBytes;
}

/** `sealedBefore`: the sealed bytes before the turn. Only the model's turns have signatures. */
export function sealOnlyModel(tally: PromptTally, turn: Value, sealedBefore: number): void {
  const { tape } = tally;
  const role = tape.shortText(tape.present(turn, 'role'));
  if (role !== 'assistant' && role !== 'model') tally.sealedBytes = sealedBefore;
}

export interface MediaString {
  readonly value: Value;
  readonly at: string;
  /** Media types from other members: `format`, `mimeType`, the extension of a file name. */
  readonly types: readonly string[];
}

/** Returns the beginning of a string, unescaped and without leading white space. */
export function headOf(tape: Tape, value: Value, maxBytes: number = maxShortBytes): string {
  const start = tape.start(value);
  const end = Math.min(tape.end(value) - 1, start + maxBytes);
  const head = tape.bytes.toString('latin1', start + 1, end);
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

/** The payload isn't text only if all types agree on one that no provider reads as text. */
export function addMediaString(tally: PromptTally, { value, at, types }: MediaString): void {
  const { tape, media } = tally;
  const start = tape.start(value) + 1;
  const end = tape.end(value);
  const text = tape.bytes.toString('latin1', start, Math.min(end - 1, start + maxShortBytes - 1));
  const length = tape.length(value) - 2;
  const head = dataUrlHead(text);
  if (head !== undefined) {
    const { isBase64, dataAt } = head;
    // PHP escapes slashes. Any other escape makes the type invalid, so that the payload counts as
    // text.
    const type = head.mimeType.replaceAll('\\/', '/');
    const named = type === '' ? types : [type, ...types];
    const bytes = isBase64
      ? base64Bytes(tape.bytes, { start: start + dataAt, end }, length - dataAt)
      : 0;
    addPayload(tally, { kind: payloadKind(named), bytes, at });
  } else if (/^[a-z][a-z0-9+.-]*:/i.test(text)) {
    media.push({ kind: urlKind(text, types), bytes: 0, at });
  } else if (/^\s|^\\/.test(text) && /^[a-z][a-z0-9+.-]*:/i.test(headOf(tape, value))) {
    // Some servers unescape and trim such a string, so it may be any kind of media.
    media.push({ kind: 'reference', bytes: 0, at });
  } else {
    addPayload(tally, {
      kind: payloadKind(types),
      bytes: base64Bytes(tape.bytes, { start, end }, length),
      at,
    });
  }
}

/** 0 if it isn't Base64. PHP escapes slashes, so backslashes before them don't count. */
function base64Bytes(bytes: Buffer, { start, end }: Span, length: number): number {
  const beginning = bytes.toString('latin1', start, Math.min(end - 1, start + maxShortBytes - 1));
  if (!/^[A-Za-z0-9+/\\_-]*={0,2}$/.test(beginning)) return 0;
  // Only the string itself: a search in the whole body would pass all of it for each string.
  const inside = bytes.subarray(start, end);
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

/** SVG is text. Documents other than PDF are unknown, so that they count as text. */
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

/** `image` only if nothing contradicts it: the gateway doesn't fetch the URL. */
export function urlKind(url: string, types: readonly string[]): MediaKind {
  const isWeb = /^https?:\/\/(?![^/]*(?:googleapis\.com|youtube\.com|youtu\.be))/i.test(url);
  const named = types.length > 0 ? types : [mimeTypeOfName(url) ?? 'image/*'];
  return isWeb && payloadKind(named) === 'image' ? 'image' : 'reference';
}

/** Unless it has a non-Base64 character. Sealed content has at least 5 bytes per token. */
export function addSealed(tally: PromptTally, value: Value): void {
  const { tape } = tally;
  if (!tape.isString(value)) return;
  const bytes = tape.raw(value);
  const text = bytes.toString('latin1', 1, bytes.length - 1);
  if (/^[A-Za-z0-9+/_=-]*$/.test(text)) tally.sealedBytes += text.length;
}

/** Counts the `file_id` of a part or media member at this path, unless the value is empty. */
export function addFileId({ tape, media }: PromptTally, value: Value, at: string): void {
  const first = tape.bytes[tape.start(value)];
  const isEmpty =
    first === quote || first === openBracket
      ? tape.end(value) - tape.start(value) === 2
      : first !== openBrace;
  if (!isEmpty) media.push({ kind: 'reference', bytes: 0, at: `${at}.file_id`, isFileId: true });
}

export interface KnownContent {
  /** Bytes of encrypted reasoning that were counted as text, though its own provider reads them. */
  readonly sealedBytes: number;
  /** The tokens of what the reference at a path refers to. */
  readonly tokens: ReadonlyMap<string, number>;
}

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

/** Returns the member if it has content: it is not null, empty or blank; else `none`. */
export function filledValue(tape: Tape, object: Value, name: string, label?: string): Value {
  const value = tape.get(object, name);
  return value === none || isBlank(tape, value, label) ? none : value;
}

/** Nulls and blank strings at any depth are no content, nor are members named `label`. */
export function isBlank(tape: Tape, value: Value, label?: string): boolean {
  const end = tape.after(value);
  let at = value;
  while (at < end) {
    const isLabel = at !== value && label !== undefined && tape.isNamed(at, label);
    if (!isLabel && hasContent(tape, at)) return false;
    at = isLabel ? tape.after(at) : tape.first(at);
  }
  return true;
}

/** Whether a value itself, not what is in it, is content. */
function hasContent(tape: Tape, value: Value): boolean {
  const kind = tape.kind(value);
  if (kind === 'string')
    return !isBlankString(tape.bytes, tape.start(value) + 1, tape.end(value) - 1);
  return kind === 'number' || kind === 'boolean';
}

function isBlankString(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at < end && bytes[at] === 0x20) at += 1;
  const first = bytes[at] ?? 0;
  // An escape, or a character outside of ASCII, may be white space too.
  if (at < end && first !== backslash && first < 0x80) return false;
  return decodeString(bytes, at, end).trim() === '';
}

export function textsOf(tape: Tape, object: Value, ...names: readonly string[]): readonly string[] {
  const texts: string[] = [];
  const end = tape.after(object);
  for (let value = tape.firstMember(object); value < end; value = tape.after(value)) {
    if (tape.isNull(value) || !names.includes(tape.name(value))) continue;
    const text = tape.shortText(value) ?? unreadable;
    if (text !== '') texts.push(text);
  }
  return texts;
}

/** For a value that isn't a short string; it agrees with no other media type. */
const unreadable = 'unreadable/unreadable';

/** The types of `input_audio`, whose format is `mp3`, or `wav` if it is not stated. */
export function audioTypes(formats: readonly string[]): readonly string[] {
  if (formats.length === 0) return ['audio/wav'];
  return formats.map((format) => (format.includes('/') ? format : `audio/${format}`));
}

export function typesOfFileNames(tape: Tape, holder: Value): readonly string[] {
  return textsOf(tape, holder, 'filename')
    .map((file) => (file === unreadable ? unreadable : (mimeTypeOfName(file) ?? '')))
    .filter((type) => type !== '');
}

/** Counts the messages of a body; returns whether each is an object with a string `role`. */
export function addMessages(
  tally: PromptTally,
  add: (tally: PromptTally, message: Value, index: number) => boolean,
): boolean {
  const { tape } = tally;
  const messages = tape.get(root, 'messages');
  const end = tape.after(messages);
  let hasRoles = true;
  let index = 0;
  for (let one = tape.firstElement(messages); one < end; one = tape.after(one)) {
    hasRoles = add(tally, one, index) && hasRoles;
    index += 1;
  }
  return hasRoles;
}
