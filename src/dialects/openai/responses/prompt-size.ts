/** Measures Responses requests and finds the media, references and sealed reasoning in them. */
import { none, root, type Tape, type Value } from '../../../bytes/json/tape.ts';
import type { PromptSize } from '../../../call.ts';
import { raiseAll, raisePart } from '../../measure/media-settings.ts';
import { isMediaName } from '../../measure/member-names.ts';
import {
  addFileId,
  addMediaString,
  asTextToo,
  audioTypes,
  type PromptTally,
  promptTally,
  sizeOf,
  textsOf,
  typesOfFileNames,
} from '../../measure/prompt-size.ts';
import { addReferences, addTopLevelReferences } from '../../measure/referenced-media.ts';
import { filledText, type ItemKind, isStored, itemKind } from './item-kinds.ts';

/** Parts that a model reads as text with everything in them. */
const textParts: readonly string[] = [
  ...['input_text', 'output_text', 'text', 'refusal', 'summary_text', 'reasoning_text'],
];
const payloadNames: Readonly<Record<string, string>> = {
  input_image: 'image_url',
  computer_screenshot: 'image_url',
  input_file: 'file_data',
  input_audio: 'input_audio',
};
/** Ids of reasoning that the gateway itself made, and that no provider has stored. */
const ownId = /_tg_/;

/**
 * Measures a request. All encrypted content counts as text until it is known whether its provider
 * can read it: see `withKnownContent`. So do stored items as references of unknown size, at
 * `previous_response_id` and at `input[3].id`. `visit` gets each element of `input`.
 */
export function measureResponses(
  tape: Tape,
  visit: (item: MeasuredItem) => void = () => {},
): PromptSize {
  const tally = promptTally(tape);
  const input = tape.get(root, 'input');
  if (input !== none) addInput(tally, input, visit);
  addTopLevelReferences(tally, root);
  raiseAll(tally);
  return sizeOf(tally);
}

export interface MeasuredItem {
  readonly item: Value;
  readonly index: number;
  readonly type: string | undefined;
  readonly kind: ItemKind;
  readonly isStored: boolean;
}

function addInput(tally: PromptTally, input: Value, visit: (item: MeasuredItem) => void): void {
  const { tape } = tally;
  if (!tape.isArray(input)) return addItem(tally, input, -1, () => {});
  const end = tape.after(input);
  let index = 0;
  for (let item = tape.first(input); item < end; item = tape.after(item)) {
    addItem(tally, item, index, visit);
    index += 1;
  }
}

interface Item {
  readonly item: Value;
  readonly at: () => string;
}

/** Counts an item. `index` is -1 if it is the whole input. */
function addItem(
  tally: PromptTally,
  item: Value,
  index: number,
  visit: (item: MeasuredItem) => void,
): void {
  const { tape } = tally;
  tally.messages += 1;
  if (!tape.isObject(item)) return;
  const type = tape.shortText(tape.present(item, 'type'));
  const kind = itemKind(tape, item, type);
  const stored = isStored(tape, item, kind);
  visit({ item, index, type, kind, isStored: stored });
  const at = (): string => (index < 0 ? 'input' : `input[${index}]`);
  switch (kind) {
    case 'message':
      addContentOf(tally, { item, at }, 'content');
      break;
    case 'output':
      addContentOf(tally, { item, at }, 'output');
      break;
    case 'screenshot':
      addContentOf(tally, { item, at }, 'output', true);
      break;
    case 'image':
      addGeneratedImage(tally, { item, at });
      break;
    case 'sealed':
    case 'reference':
    case 'text':
      break;
    case 'unknown':
      asTextToo(tally, () => addPart(tally, item, at, 'content'));
  }
  // An unknown item was measured as a reference just now.
  if (kind !== 'unknown' && stored) addStored(tally, { item, at }, kind);
}

/**
 * Counts an item's content, and media in members that only some servers know. One part in place of
 * a list is text to most servers, unless `mayBePart`.
 */
function addContentOf(
  tally: PromptTally,
  { item, at }: Item,
  contentName: string,
  mayBePart = false,
): void {
  const { tape } = tally;
  const end = tape.after(item);
  for (let value = tape.first(item); value < end; value = tape.after(value)) {
    const isList = tape.isArray(value);
    const name = tape.name(value);
    const isContent = name === contentName;
    if (!isContent && !isList && !tape.isObject(value) && !isMediaName(name)) continue;
    const inside = (): string => `${at()}.${name.slice(0, 64)}`;
    if (!isContent && isMediaName(name)) {
      addReferences(tally, value, { name, at: inside, hasIdOnly: true });
    } else if (isContent && (isList || mayBePart)) addParts(tally, value, inside, 'content');
    else asTextToo(tally, () => addParts(tally, value, inside, isContent ? 'content' : 'other'));
  }
}

/** Whether a list holds the content of an item, or something that only some servers know. */
type ListKind = 'content' | 'other';

function addParts(tally: PromptTally, value: Value, at: () => string, list: ListKind): void {
  const { tape } = tally;
  if (!tape.isArray(value)) return addPart(tally, value, at, list);
  const end = tape.after(value);
  let index = 0;
  for (let one = tape.first(value); one < end; one = tape.after(one)) {
    const nth = index;
    const inside = (): string => `${at()}[${nth}]`;
    // Some servers accept lists inside lists, and others read these as text.
    if (tape.isArray(one)) asTextToo(tally, () => addParts(tally, one, inside, list));
    else addPart(tally, one, inside, list);
    index += 1;
  }
}

/** Counts a part. Any value but an object is text. */
function addPart(tally: PromptTally, part: Value, at: () => string, list: ListKind): void {
  const { tape } = tally;
  if (!tape.isObject(part)) return;
  const type = tape.shortText(tape.present(part, 'type')) ?? '';
  const before = tally.media.length;
  // Most parts are nothing but text.
  const fileId = tape.present(part, 'file_id');
  if (fileId === none && textParts.includes(type)) return;
  const counted: Value[] = [];
  if (fileId !== none) {
    addFileId(tally, fileId, at());
    counted.push(fileId);
  }
  const payload = payloadOf(tape, part, type);
  if (payload !== none) {
    addMediaString(tally, { value: payload, at: at(), types: statedTypes(tape, part, type) });
    counted.push(payload);
  }
  if (list === 'content' && !textParts.includes(type)) {
    const hasIdOnly = tally.media.length === before;
    addReferences(tally, part, { at, counted, hasIdOnly });
  }
  if (tally.media.length > before) raisePart(tally, part, before);
}

/** The string with the media of a part of this type. A file's URL is not a payload. */
function payloadOf(tape: Tape, part: Value, type: string): Value {
  const name = payloadNames[type];
  if (name === undefined) return none;
  const holder = tape.present(part, name);
  const payload = type === 'input_audio' ? tape.present(holder, 'data') : holder;
  return payload !== none && tape.isString(payload) ? payload : none;
}

function statedTypes(tape: Tape, part: Value, type: string): readonly string[] {
  if (type !== 'input_audio') return typesOfFileNames(tape, part);
  return audioTypes(textsOf(tape, tape.present(part, 'input_audio'), 'format'));
}

/**
 * Counts an item that its provider completes from what it has stored. Reasoning that the gateway
 * made is nowhere.
 */
function addStored({ tape, media }: PromptTally, { item, at }: Item, kind: ItemKind): void {
  const isOwn = kind === 'sealed' && ownId.test(tape.shortText(tape.present(item, 'id')) ?? '');
  if (isOwn) return;
  media.push({ kind: kind === 'image' ? 'image' : 'reference', bytes: 0, at: `${at()}.id` });
}

/** A generated image is sent back with its data, or with its id alone. */
function addGeneratedImage(tally: PromptTally, { item, at }: Item): void {
  const value = filledText(tally.tape, item, 'result');
  if (value === none) return;
  addMediaString(tally, { value, at: `${at()}.result`, types: ['image/png'] });
}
