/** Measures Responses requests and finds the media, references and sealed reasoning in them. */
import type { Body } from '../../bytes/body/body.ts';
import { findMember, membersOf } from '../../bytes/json/read/members.ts';
import { skipValue } from '../../bytes/json/read/skip.ts';
import type { Member, Span } from '../../bytes/json/scan/scan.ts';
import { openBrace, openBracket, quote } from '../../bytes/json/text.ts';
import type { PromptSize } from '../../call.ts';
import { mimeTypeOfName } from '../../canonical/media.ts';
import { raiseAll, raisePart } from '../media-settings.ts';
import {
  addFileId,
  addMediaString,
  asTextToo,
  eachElement,
  type PromptTally,
  presentValue,
  promptTally,
  shortText,
  sizeOf,
  textsOf,
  unreadable,
} from '../prompt-size.ts';
import { addReferences, addTopLevelReferences } from '../referenced-media.ts';
import { filledText, type ItemKind, isStored, itemKind } from './item-kinds.ts';

/** Parts that a model reads as text with everything in them. */
const textParts: readonly string[] = [
  ...['input_text', 'output_text', 'text', 'refusal', 'summary_text', 'reasoning_text'],
];
/** The member with the payload of each type of part that holds media. */
const payloadNames: Readonly<Record<string, string>> = {
  input_image: 'image_url',
  computer_screenshot: 'image_url',
  input_file: 'file_data',
  input_audio: 'input_audio',
};
/** Members of an item that may hold media, wherever a server accepts more than OpenAI. */
const mediaName = /^(?:input_?)?(?:image|audio|video|document|file|attachment|media)/i;
/** Ids of reasoning that the gateway itself made, and that no provider has stored. */
const ownId = /_tg_/;

/**
 * Measures a request. All encrypted content counts as text until it is known whether its provider
 * can read it: see `withKnownContent`. So do stored items as references of unknown size, at
 * `previous_response_id` and at `input[3].id`.
 */
export function measureResponses(body: Body, members: readonly Member[]): PromptSize {
  const tally = promptTally(body);
  const input = findMember(members, 'input');
  if (input !== undefined) addInput(tally, input.value.start);
  addTopLevelReferences(tally, members);
  raiseAll(tally, members);
  return sizeOf(tally);
}

function addInput(tally: PromptTally, start: number): void {
  const { text } = tally.body;
  if (text[start] === openBracket) {
    eachElement(text, start, (element, index) => addItem(tally, element, `input[${index}]`));
  } else addItem(tally, start, 'input');
}

/** One item, with the path by which errors name it. */
interface Item {
  readonly span: Span;
  readonly members: readonly Member[];
  readonly at: string;
}

/** Counts the item that starts at `start`; returns its end. */
function addItem(tally: PromptTally, start: number, at: string): number {
  const { text } = tally.body;
  const span = { start, end: skipValue(text, start) };
  tally.messages += 1;
  if (text[start] !== openBrace) return span.end;
  const item: Item = { span, members: membersOf(text, span), at };
  const type = shortText(text, presentValue(text, item.members, 'type'));
  const kind = itemKind(type, (name) => presentValue(text, item.members, name) !== undefined);
  switch (kind) {
    case 'message':
      addContentOf(tally, item, 'content');
      break;
    case 'output':
      addContentOf(tally, item, 'output');
      break;
    case 'screenshot':
      addContentOf(tally, item, 'output', true);
      break;
    case 'image':
      addGeneratedImage(tally, item);
      break;
    case 'sealed':
    case 'reference':
    case 'text':
      break;
    case 'unknown':
      asTextToo(tally, () => addPart(tally, start, at, 'content'));
  }
  // An unknown item was measured as a reference just now.
  if (kind !== 'unknown' && isStored(text, item.members, kind)) addStored(tally, item, kind);
  return span.end;
}

/**
 * Counts an item's content, and media in members that only some servers know. One part in place of
 * a list is text to most servers, unless `mayBePart`.
 */
function addContentOf(
  tally: PromptTally,
  { members, at }: Item,
  contentName: string,
  mayBePart = false,
): void {
  const { text } = tally.body;
  for (const { name, nameSpan, value } of members) {
    const inside = `${at}.${name.slice(0, 64)}`;
    const isList = text[value.start] === openBracket;
    if (name === contentName) {
      const add = (): number => addParts(tally, value.start, inside, 'content');
      if (isList || mayBePart) add();
      else asTextToo(tally, add);
    } else if (mediaName.test(name)) {
      const at = (): string => inside;
      addReferences(tally, { start: value.start, name: nameSpan, at, hasIdOnly: true });
    } else if (isList || text[value.start] === openBrace) {
      asTextToo(tally, () => addParts(tally, value.start, inside, 'other'));
    }
  }
}

/** Whether a list holds the content of an item, or something that only some servers know. */
type ListKind = 'content' | 'other';

/** Counts a list of parts, or one part in place of a list; returns the end. */
function addParts(tally: PromptTally, start: number, at: string, list: ListKind): number {
  const { text } = tally.body;
  if (text[start] !== openBracket) return addPart(tally, start, at, list);
  return eachElement(text, start, (element, index) => {
    const inside = `${at}[${index}]`;
    // Some servers accept lists inside lists, and others read these as text.
    return text[element] === openBracket
      ? asTextToo(tally, () => addParts(tally, element, inside, list))
      : addPart(tally, element, inside, list);
  });
}

/** Counts the part that starts at `start`; returns its end. Any value but an object is text. */
function addPart(tally: PromptTally, start: number, at: string, list: ListKind): number {
  const { text } = tally.body;
  const span = { start, end: skipValue(text, start) };
  if (text[start] !== openBrace) return span.end;
  const members = membersOf(text, span);
  const type = shortText(text, presentValue(text, members, 'type')) ?? '';
  const before = tally.media.length;
  const counted: number[] = [];
  const fileId = presentValue(text, members, 'file_id');
  if (fileId !== undefined) {
    addFileId(tally, fileId, at);
    counted.push(fileId.start);
  }
  const payload = payloadOf(text, members, type);
  if (payload !== undefined) {
    addMediaString(tally, { span: payload, at, types: statedTypes(text, members, type) });
    counted.push(payload.start);
  }
  if (list === 'content' && !textParts.includes(type)) {
    const hasIdOnly = tally.media.length === before;
    addReferences(tally, { start, at: () => at, counted, hasIdOnly });
  }
  if (tally.media.length > before) raisePart(tally, span, before);
  return span.end;
}

/** The string with the media of a part of this type. A file's URL is not a payload. */
function payloadOf(text: Buffer, members: readonly Member[], type: string): Span | undefined {
  const name = payloadNames[type];
  if (name === undefined) return undefined;
  const holder = presentValue(text, members, name);
  if (holder === undefined) return undefined;
  const span =
    type === 'input_audio' ? presentValue(text, membersOf(text, holder), 'data') : holder;
  return span !== undefined && text[span.start] === quote ? span : undefined;
}

/** The media types that a part states, by a format or a file name. */
function statedTypes(text: Buffer, members: readonly Member[], type: string): readonly string[] {
  if (type === 'input_audio') {
    const holder = presentValue(text, members, 'input_audio');
    const inside = holder === undefined ? [] : membersOf(text, holder);
    const formats = textsOf(text, inside, 'format');
    if (formats.length === 0) return ['audio/wav'];
    return formats.map((format) => (format.includes('/') ? format : `audio/${format}`));
  }
  return textsOf(text, members, 'filename')
    .map((file) => (file === unreadable ? unreadable : (mimeTypeOfName(file) ?? '')))
    .filter((named) => named !== '');
}

/**
 * Counts an item that its provider completes from what it has stored. Reasoning that the gateway
 * made is nowhere.
 */
function addStored(tally: PromptTally, { members, at }: Item, kind: ItemKind): void {
  const { text } = tally.body;
  if (kind === 'sealed' && ownId.test(shortText(text, presentValue(text, members, 'id')) ?? '')) {
    return;
  }
  tally.media.push({ kind: kind === 'image' ? 'image' : 'reference', bytes: 0, at: `${at}.id` });
}

/** A generated image is sent back with its data, or with its id alone. */
function addGeneratedImage(tally: PromptTally, { members, at }: Item): void {
  const result = filledText(tally.body.text, members, 'result');
  if (result === undefined) return;
  addMediaString(tally, { span: result, at: `${at}.result`, types: ['image/png'] });
}
