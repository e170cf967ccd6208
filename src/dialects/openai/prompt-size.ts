/** Measures chat completion requests and finds the media in them. */
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { PromptSize } from '../../call.ts';
import { raiseAll, raisePart } from '../measure/media-settings.ts';
import { isMediaName } from '../measure/member-names.ts';
import {
  addFileId,
  addMediaString,
  addMessages,
  addSealed,
  asTextToo,
  audioTypes,
  inOtherShape,
  type MeasureBody,
  type PromptTally,
  promptTally,
  sealOnlyModel,
  sizeOf,
  textsOf,
  typesOfFileNames,
} from '../measure/prompt-size.ts';
import { addReferences, addTopLevelReferences } from '../measure/referenced-media.ts';

/** Parts of these types hold their media in a member named like the type. */
const mediaTypes: readonly string[] = ['image_url', 'input_audio', 'file', 'video_url'];
/** The member with the payload; `url` for all others. */
const payloadNames: Readonly<Record<string, string>> = { input_audio: 'data', file: 'file_data' };
const partTypes: readonly string[] = ['text', ...mediaTypes];

export const measureOpenai: MeasureBody = (tape) => measureChat(tape).size;

/** Measures a request and returns whether every message is an object with a string `role`. */
export function measureChat(tape: Tape): { readonly size: PromptSize; readonly hasRoles: boolean } {
  const tally = promptTally(tape);
  const hasRoles = addMessages(tally, addMessage);
  addTopLevelReferences(tally, root);
  raiseAll(tally);
  return { size: sizeOf(tally), hasRoles };
}

/** Counts an element of `messages`. Returns whether it is an object with a string `role`. */
function addMessage(tally: PromptTally, message: Value, index: number): boolean {
  const { tape, sealedBytes } = tally;
  if (!tape.isObject(message)) return false;
  tally.messages += 1;
  let hasRole = false;
  const end = tape.after(message);
  for (let value = tape.first(message); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    hasRole ||= name === 'role' && tape.isString(value);
    if (tape.isArray(value) || tape.isObject(value) || isMediaName(name)) {
      addMember(tally, value, name, index);
    }
  }
  if (tally.sealedBytes !== sealedBytes) sealOnlyModel(tally, message, sealedBytes);
  return hasRole;
}

const reasoningNames: readonly string[] = ['reasoning_details', 'thinking_blocks'];

function addMember(tally: PromptTally, value: Value, name: string, index: number): void {
  const { tape } = tally;
  const at = (): string => `messages[${index}].${name.slice(0, 63).replace(/[^\w-]/g, '_')}`;
  const isMedia = isMediaName(name);
  const isContent = isMedia || name === 'content';
  const mayBeSealed = tape.isArray(value) && reasoningNames.includes(name);
  const list = isContent ? 'content' : mayBeSealed ? 'reasoning' : 'other';
  if (isMedia && !tape.isArray(value)) {
    // An earlier audio reply is only referenced, as `audio.id`.
    return addReferences(tally, value, { name, at, hasIdOnly: true });
  }
  const addElement = (one: Value, inside: () => string): void => {
    if (isMedia && tape.isString(one)) return addReferences(tally, one, { name, at: inside });
    if (!tape.isArray(one)) return addPart(tally, { part: one, at: inside }, list);
    const count = one === value ? asTextToo : inOtherShape;
    count(tally, () => addList(one, inside));
  };
  const addList = (array: Value, inside: () => string): void => {
    const end = tape.after(array);
    let nth = 0;
    let list: string | undefined;
    for (let one = tape.first(array); one < end; one = tape.after(one)) {
      const index = nth;
      addElement(one, () => {
        list ??= inside();
        return `${list}[${index}]`;
      });
      nth += 1;
    }
  };
  // Media are in `content` and in a reply's `images`. Some servers accept one object in place of a
  // list, lists inside lists, and media in other members; others read these as text.
  if (isContent && tape.isArray(value)) addList(value, at);
  else asTextToo(tally, () => addElement(value, at));
}

interface Part {
  readonly part: Value;
  readonly at: () => string;
}

/**
 * Counts a part. In a message's content a part is text if its type says so, else its references
 * count. In other lists, such as tool calls or quotes, only media in the form of content parts
 * count, and only in lists of reasoning there is sealed data.
 */
function addPart(
  tally: PromptTally,
  { part, at }: Part,
  list: 'content' | 'reasoning' | 'other',
): void {
  const { tape } = tally;
  if (!tape.isObject(part)) return;
  const mediaBefore = tally.media.length;
  let type: string | undefined;
  let isEncrypted = false;
  let data = none;
  let counted: Value[] | undefined;
  let mediaMembers: (readonly [name: string, value: Value])[] | undefined;
  const end = tape.after(part);
  for (let value = tape.first(part); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    if (name === 'type' && tape.isString(value)) {
      const stated = tape.shortText(value) ?? '';
      type = partTypes.includes(stated) ? stated : undefined;
      isEncrypted = stated === 'reasoning.encrypted';
    } else if (name === 'signature' && list === 'reasoning') addSealed(tally, value);
    else if (name === 'data') data = value;
    else if (name === 'file_id') {
      addFileId(tally, value, at());
      counted ??= [];
      counted.push(value);
    } else if (mediaTypes.includes(name)) {
      mediaMembers ??= [];
      mediaMembers.push([name, value]);
    }
  }
  if (list === 'reasoning' && isEncrypted && data !== none) addSealed(tally, data);
  for (const [name, value] of mediaMembers ?? []) {
    counted ??= [];
    counted.push(...addMediaMember(tally, { name, value, matchesType: name === type }, at()));
  }
  if (list === 'content' && type !== 'text') {
    const hasIdOnly = tally.media.length === mediaBefore;
    addReferences(tally, part, { at, counted: counted ?? [], hasIdOnly });
  }
  if (tally.media.length > mediaBefore) raisePart(tally, part, mediaBefore);
}

/** Counts a media member; returns the strings that were counted. */
function addMediaMember(
  tally: PromptTally,
  {
    name,
    value,
    matchesType,
  }: { readonly name: string; readonly value: Value; readonly matchesType: boolean },
  at: string,
): readonly Value[] {
  const { tape } = tally;
  if (tape.isArray(value)) {
    const inside: Value[] = [];
    const end = tape.after(value);
    for (let one = tape.first(value); one < end; one = tape.after(one)) {
      inside.push(...addMediaMember(tally, { name, value: one, matchesType }, at));
    }
    return inside;
  }
  const fileId = tape.present(value, 'file_id');
  if (fileId !== none) addFileId(tally, fileId, `${at}.${name}`);
  const counted = fileId === none ? [] : [fileId];
  // If the member does not match the part's type, a provider that reads it at all reads its payload
  // as text.
  if (!matchesType) return counted;
  const payloadName = payloadNames[name] ?? 'url';
  // The URL may also be given directly, without an object around it.
  const isBareUrl = payloadName === 'url' && tape.isString(value);
  const payload = isBareUrl ? value : tape.present(value, payloadName);
  if (payload === none || !tape.isString(payload)) return counted;
  addMediaString(tally, { value: payload, at, types: statedTypes(tape, value, name) });
  return [...counted, payload];
}

function statedTypes(tape: Tape, value: Value, name: string): readonly string[] {
  const isAudio = name === 'input_audio';
  const formats = textsOf(tape, value, 'format', 'mime_type');
  return [
    ...(isAudio ? audioTypes(formats) : formats.filter((format) => format.includes('/'))),
    ...(name === 'video_url' ? ['video/mp4'] : []),
    ...typesOfFileNames(tape, value),
  ];
}
