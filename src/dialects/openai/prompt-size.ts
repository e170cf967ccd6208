/** Measures chat completion requests and finds the media in them. */
import type { Body } from '../../bytes/body/body.ts';
import { decodeString } from '../../bytes/decode.ts';
import { findMember, membersOf } from '../../bytes/json/read/members.ts';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../../bytes/json/read/skip.ts';
import type { Member, Span } from '../../bytes/json/scan/scan.ts';
import { backslash, closeBrace, openBrace, openBracket, quote } from '../../bytes/json/text.ts';
import type { PromptSize } from '../../call.ts';
import { mimeTypeOfName } from '../../canonical/media.ts';
import { raiseAll, raisePart } from '../media-settings.ts';
import {
  addFileId,
  addMediaString,
  addSealed,
  asTextToo,
  eachElement,
  inOtherShape,
  type MeasureBody,
  type PromptTally,
  presentValue,
  promptTally,
  sealOnlyModel,
  sizeOf,
  textsOf,
  unreadable,
} from '../prompt-size.ts';
import { addReferences, addTopLevelReferences } from '../referenced-media.ts';

/** Parts of these types hold their media in a member named like the type. */
const mediaTypes: readonly string[] = ['image_url', 'input_audio', 'file', 'video_url'];
/** The member with the payload; `url` for all others. */
const payloadNames: Readonly<Record<string, string>> = { input_audio: 'data', file: 'file_data' };
const partTypes: readonly string[] = ['text', ...mediaTypes];

/** Measures a chat completion request. */
export const measureOpenai: MeasureBody = (body, members) => measureChat(body, members).size;

/** Measures a request and returns whether every message is an object with a string `role`. */
export function measureChat(
  body: Body,
  members: readonly Member[],
): { readonly size: PromptSize; readonly hasRoles: boolean } {
  const { text } = body;
  const prompt = promptTally(body);
  const tally: ChatTally = { prompt, roles: 0, elements: 0 };
  const messages = findMember(members, 'messages');
  if (messages !== undefined && text[messages.value.start] === openBracket) {
    eachElement(text, messages.value.start, (start, index) => {
      const { sealedBytes } = prompt;
      const end = addMessage(tally, start, index);
      if (prompt.sealedBytes !== sealedBytes) sealOnlyModel(prompt, { start, end }, sealedBytes);
      return end;
    });
  }
  addTopLevelReferences(prompt, members);
  raiseAll(prompt, members);
  return { size: sizeOf(prompt), hasRoles: tally.roles === tally.elements };
}

interface ChatTally {
  readonly prompt: PromptTally;
  elements: number;
  /** The number of elements with a string `role`. */
  roles: number;
}

/** Counts the element of `messages` that starts at `start`; returns its end. */
function addMessage(tally: ChatTally, start: number, index: number): number {
  const { prompt } = tally;
  const { text } = prompt.body;
  tally.elements += 1;
  // Skips an element that is not an object: the strings that follow it could be mistaken for names
  // and values.
  if (text[start] !== openBrace) return skipValue(text, start);
  prompt.messages += 1;
  let hasRole = false;
  let next = firstInside(text, start);
  while (text[next] === quote) {
    const name = next;
    const nameEnd = skipString(text, name);
    const value = afterName(text, nameEnd);
    hasRole ||= text[value] === quote && isString(text, name, nameEnd, 'role');
    const mayHoldMedia =
      text[value] === openBracket || text[value] === openBrace || isMediaName(text, name, nameEnd);
    const end = mayHoldMedia
      ? addMember(prompt, { name, nameEnd, value, index })
      : skipValue(text, value);
    next = nextInside(text, end);
  }
  if (hasRole) tally.roles += 1;
  return next + 1;
}

/** A member of the message at `index`. */
interface MessageMember {
  readonly name: number;
  readonly nameEnd: number;
  readonly value: number;
  readonly index: number;
}

/** Counts a member of a message; returns the end of its value. */
function addMember(tally: PromptTally, { name, nameEnd, value, index }: MessageMember): number {
  const { text } = tally.body;
  const at = (): string => `messages[${index}].${nameAt(text, name, nameEnd)}`;
  const span = { start: name, end: nameEnd };
  const isMedia = isMediaName(text, name, nameEnd);
  const isContent = isMedia || isString(text, name, nameEnd, 'content');
  const mayBeSealed = text[value] === openBracket && isReasoning(text, name, nameEnd);
  const list = isContent ? 'content' : mayBeSealed ? 'reasoning' : 'other';
  if (isMedia && text[value] !== openBracket) {
    // An earlier audio reply is only referenced, as `audio.id`.
    return addReferences(tally, { start: value, name: span, at, hasIdOnly: true });
  }
  const addElement = (start: number, inside: () => string): number => {
    const part = { start, at: inside };
    if (isMedia && text[start] === quote) return addReferences(tally, { ...part, name: span });
    if (text[start] !== openBracket) return addPart(tally, part, list);
    const count = start === value ? asTextToo : inOtherShape;
    return count(tally, () => addList(start, inside));
  };
  const addList = (start: number, inside: () => string): number =>
    eachElement(text, start, (element, nth) => addElement(element, () => `${inside()}[${nth}]`));
  // Media are in `content` and in a reply's `images`. Some servers accept one object in place of a
  // list, lists inside lists, and media in other members; others read these as text.
  if (isContent && text[value] === openBracket) return addList(value, at);
  return asTextToo(tally, () => addElement(value, at));
}

/** Whether a member of a message holds reasoning, with data that only its provider can read. */
function isReasoning(text: Buffer, start: number, end: number): boolean {
  return reasoningNames.some((name) => isString(text, start, end, name));
}

const reasoningNames: readonly string[] = ['reasoning_details', 'thinking_blocks'];

/** Returns whether a member of a message may hold media. The first letter rules out most names. */
function isMediaName(text: Buffer, name: number, nameEnd: number): boolean {
  switch (text[name + 1]) {
    case 0x61: // a
    case 0x64: // d
    case 0x66: // f
    case 0x69: // i
    case 0x6d: // m
    case 0x76: // v
    case backslash:
      return mediaName.test(
        decodeString(text, name + 1, Math.min(nameEnd - 1, name + maxNameBytes)),
      );
    default:
      return false;
  }
}

const maxNameBytes = 256;
const mediaName = /^(?:input_?)?(?:image|audio|video|document|file|attachment|media)/i;

function nameAt(text: Buffer, start: number, end: number): string {
  return text.toString('latin1', start + 1, Math.min(end - 1, start + 64)).replace(/[^\w-]/g, '_');
}

/** A part that starts at `start`. */
interface Part {
  readonly start: number;
  readonly at: () => string;
}

/**
 * Counts a part; returns its end. In a message's content a part is text if its type says so, else
 * its references count. In other lists, such as tool calls or quotes, only media in the form of
 * content parts count, and only in lists of reasoning there is sealed data.
 */
function addPart(
  tally: PromptTally,
  { start, at }: Part,
  list: 'content' | 'reasoning' | 'other',
): number {
  const { text } = tally.body;
  if (text[start] !== openBrace) return skipValue(text, start);
  const mediaBefore = tally.media.length;
  let type: string | undefined;
  let isEncrypted = false;
  let data: Span | undefined;
  let counted: number[] | undefined;
  let mediaMembers: (readonly [name: string, value: Span])[] | undefined;
  let next = firstInside(text, start);
  while (text[next] !== closeBrace) {
    const nameEnd = skipString(text, next);
    const value = { start: afterName(text, nameEnd), end: 0 };
    value.end = skipValue(text, value.start);
    if (isString(text, next, nameEnd, 'type') && text[value.start] === quote) {
      type = partTypes.find((one) => isString(text, value.start, value.end, one));
      isEncrypted = isString(text, value.start, value.end, 'reasoning.encrypted');
    } else if (list === 'reasoning' && isString(text, next, nameEnd, 'signature')) {
      addSealed(tally, value);
    } else if (isString(text, next, nameEnd, 'data')) data = value;
    else if (isString(text, next, nameEnd, 'file_id')) {
      addFileId(tally, value, at());
      counted ??= [];
      counted.push(value.start);
    } else {
      const holder = mediaTypes.find((one) => isString(text, next, nameEnd, one));
      if (holder !== undefined) {
        mediaMembers ??= [];
        mediaMembers.push([holder, value]);
      }
    }
    next = nextInside(text, value.end);
  }
  if (list === 'reasoning' && isEncrypted && data !== undefined) addSealed(tally, data);
  for (const [name, value] of mediaMembers ?? []) {
    counted ??= [];
    counted.push(...addMediaMember(tally, { name, value, matchesType: name === type }, at()));
  }
  if (list === 'content' && type !== 'text') {
    const hasIdOnly = tally.media.length === mediaBefore;
    addReferences(tally, { start, at, counted: counted ?? [], hasIdOnly });
  }
  if (tally.media.length > mediaBefore) raisePart(tally, { start, end: next + 1 }, mediaBefore);
  return next + 1;
}

/** The media member of a part; `matchesType` if the member is the one of the part's type. */
interface MediaMember {
  readonly name: string;
  readonly value: Span;
  readonly matchesType: boolean;
}

/** Counts a media member; returns the start offsets of the strings that were counted. */
function addMediaMember(
  tally: PromptTally,
  { name, value, matchesType }: MediaMember,
  at: string,
): readonly number[] {
  const { text } = tally.body;
  if (text[value.start] === openBracket) {
    const inside: number[] = [];
    eachElement(text, value.start, (start) => {
      const end = skipValue(text, start);
      inside.push(...addMediaMember(tally, { name, value: { start, end }, matchesType }, at));
      return end;
    });
    return inside;
  }
  const members = membersOf(text, value);
  const fileId = presentValue(text, members, 'file_id');
  if (fileId !== undefined) addFileId(tally, fileId, `${at}.${name}`);
  const counted = fileId === undefined ? [] : [fileId.start];
  // If the member does not match the part's type, a provider that reads it at all reads its payload
  // as text.
  if (!matchesType) return counted;
  const payload = payloadNames[name] ?? 'url';
  // The URL may also be given directly, without an object around it.
  const isBareUrl = payload === 'url' && text[value.start] === quote;
  const span = isBareUrl ? value : presentValue(text, members, payload);
  if (span === undefined || text[span.start] !== quote) return counted;
  addMediaString(tally, { span, at, types: statedTypes(text, members, name) });
  return [...counted, span.start];
}

/** The MIME types that a media member states, by a format, its own name or a file name. */
function statedTypes(text: Buffer, members: readonly Member[], name: string): readonly string[] {
  const isAudio = name === 'input_audio';
  const formats = textsOf(text, members, 'format', 'mime_type').filter(
    (format) => isAudio || format.includes('/'),
  );
  const types = formats.map((format) => (format.includes('/') ? format : `audio/${format}`));
  const named = textsOf(text, members, 'filename').map((file) =>
    file === unreadable ? unreadable : (mimeTypeOfName(file) ?? ''),
  );
  return [
    ...types,
    ...(isAudio && types.length === 0 ? ['audio/wav'] : []),
    ...(name === 'video_url' ? ['video/mp4'] : []),
    ...named.filter((type) => type !== ''),
  ];
}
