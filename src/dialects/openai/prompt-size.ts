/** Finds the media in a chat completion request. */
import type { Body } from '../../bytes/body.ts';
import type { Member, Span } from '../../bytes/json-scan.ts';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../../bytes/json-skip.ts';
import { closeBrace, openBrace, openBracket, quote } from '../../bytes/json-text.ts';
import { findMember, membersOf } from '../../bytes/members.ts';
import type { PromptSize } from '../../call.ts';
import { mimeTypeOfName } from '../../canonical/media.ts';
import {
  addMediaString,
  addSealed,
  eachElement,
  type MeasureBody,
  type PromptTally,
  presentValue,
  promptTally,
  sizeOf,
  textsOf,
  unreadable,
} from '../prompt-size.ts';

/** Parts of these types hold their media in a member of the same name. */
const mediaTypes: readonly string[] = ['image_url', 'input_audio', 'file', 'video_url'];

/** The size of a chat completion request. */
export const measureOpenai: MeasureBody = (body, members) => measureChat(body, members).size;

/** The same, and whether every message is an object with a string `role`. */
export function measureChat(
  body: Body,
  members: readonly Member[],
): { readonly size: PromptSize; readonly hasRoles: boolean } {
  const { text } = body;
  const prompt = promptTally(body);
  const tally: ChatTally = { prompt, roles: 0, elements: 0 };
  const messages = findMember(members, 'messages');
  if (messages !== undefined && text[messages.value.start] === openBracket) {
    eachElement(text, messages.value.start, (start, index) => addMessage(tally, start, index));
  }
  const extra = findMember(members, 'extra_body');
  if (extra !== undefined) addCachedContent(prompt, extra.value);
  return { size: sizeOf(prompt), hasRoles: tally.roles === tally.elements };
}

interface ChatTally {
  readonly prompt: PromptTally;
  elements: number;
  /** Of the elements, those with a string `role`. */
  roles: number;
}

/** Where the element of `messages` that begins at `start` ends. */
function addMessage(tally: ChatTally, start: number, index: number): number {
  const { prompt } = tally;
  const { text } = prompt.body;
  tally.elements += 1;
  // A string is no message, though those behind it might read like names and values.
  if (text[start] !== openBrace) return skipValue(text, start);
  prompt.messages += 1;
  let hasRole = false;
  let next = firstInside(text, start);
  while (text[next] === quote) {
    const name = next;
    const nameEnd = skipString(text, name);
    const value = afterName(text, nameEnd);
    hasRole ||= text[value] === quote && isString(text, name, nameEnd, 'role');
    // Media stand in `content`, in an answer's `images`, and reasoning in `reasoning_details`.
    const end =
      text[value] === openBracket
        ? addParts(prompt, value, () => `messages[${index}].${nameAt(text, name, nameEnd)}`)
        : skipValue(text, value);
    next = nextInside(text, end);
  }
  if (hasRole) tally.roles += 1;
  return next + 1;
}

function addParts(tally: PromptTally, start: number, at: () => string): number {
  return eachElement(tally.body.text, start, (part, index) =>
    addPart(tally, part, () => `${at()}[${index}]`),
  );
}

function nameAt(text: Buffer, start: number, end: number): string {
  return text.toString('latin1', start + 1, Math.min(end - 1, start + 64)).replace(/[^\w-]/g, '_');
}

/** Where the part that begins at `start` ends. */
function addPart(tally: PromptTally, start: number, at: () => string): number {
  const { text } = tally.body;
  if (text[start] !== openBrace) return skipValue(text, start);
  let type: string | undefined;
  let isEncrypted = false;
  let data: Span | undefined;
  let holders: (readonly [name: string, value: Span])[] | undefined;
  let next = firstInside(text, start);
  while (text[next] !== closeBrace) {
    const nameEnd = skipString(text, next);
    const value = { start: afterName(text, nameEnd), end: 0 };
    value.end = skipValue(text, value.start);
    if (isString(text, next, nameEnd, 'type') && text[value.start] === quote) {
      type = mediaTypes.find((one) => isString(text, value.start, value.end, one));
      isEncrypted = isString(text, value.start, value.end, 'reasoning.encrypted');
    } else if (isString(text, next, nameEnd, 'signature')) addSealed(tally, value);
    else if (isString(text, next, nameEnd, 'data')) data = value;
    else if (isString(text, next, nameEnd, 'file_id')) addFileId(tally, value, at());
    else {
      const holder = mediaTypes.find((one) => isString(text, next, nameEnd, one));
      if (holder !== undefined) {
        holders ??= [];
        holders.push([holder, value]);
      }
    }
    next = nextInside(text, value.end);
  }
  if (isEncrypted && data !== undefined) addSealed(tally, data);
  for (const [name, value] of holders ?? []) {
    addHolder(tally, { name, value, isRead: name === type }, at());
  }
  return next + 1;
}

/** What a part holds in the member of its type; `isRead` where the two agree. */
interface Holder {
  readonly name: string;
  readonly value: Span;
  readonly isRead: boolean;
}

function addHolder(tally: PromptTally, { name, value, isRead }: Holder, at: string): void {
  const { text } = tally.body;
  const members = membersOf(text, value);
  const fileId = presentValue(text, members, 'file_id');
  if (fileId !== undefined) addFileId(tally, fileId, `${at}.${name}`);
  // A member of another type than its part's is text to whoever reads it at all.
  if (!isRead) return;
  const isAudio = name === 'input_audio';
  const payload = isAudio ? 'data' : name === 'file' ? 'file_data' : 'url';
  // An address may stand by itself where it has a member of its own.
  const isAddress = payload === 'url' && text[value.start] === quote;
  const span = isAddress ? value : presentValue(text, members, payload);
  if (span === undefined || text[span.start] !== quote) return;
  const formats = textsOf(text, members, 'format', 'mime_type').filter(
    (format) => isAudio || format.includes('/'),
  );
  const types = formats.map((format) => (format.includes('/') ? format : `audio/${format}`));
  const named = textsOf(text, members, 'filename').map((file) =>
    file === unreadable ? unreadable : (mimeTypeOfName(file) ?? ''),
  );
  addMediaString(tally, {
    span,
    at,
    types: [
      ...types,
      ...(isAudio && types.length === 0 ? ['audio/wav'] : []),
      ...(name === 'video_url' ? ['video/mp4'] : []),
      ...named.filter((type) => type !== ''),
    ],
  });
}

function addFileId({ body, media }: PromptTally, { start, end }: Span, at: string): void {
  const isNothing = body.text[start] === quote ? end - start === 2 : body.text[start] !== openBrace;
  if (!isNothing) media.push({ kind: 'reference', bytes: 0, at: `${at}.file_id`, isFileId: true });
}

/** Google's cache, which chat callers name in `extra_body.google`. */
function addCachedContent({ body, media }: PromptTally, extra: Span): void {
  const google = presentValue(body.text, membersOf(body.text, extra), 'google');
  if (google === undefined) return;
  const cached = presentValue(
    body.text,
    membersOf(body.text, google),
    'cached_content',
    'cachedContent',
  );
  if (cached === undefined) return;
  media.push({ kind: 'reference', bytes: 0, at: 'extra_body.google.cached_content' });
}
