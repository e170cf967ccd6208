/**
 * Measures a Messages request and finds its media. Anthropic refuses blocks in other shapes and
 * places than its own, but compatible servers may read them as media or as text. So media count
 * wherever they are, and only where Anthropic reads them do their bytes not count as text too.
 */
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { PromptSize } from '../../call.ts';
import { tooComplex } from '../../canonical/complexity.ts';
import {
  addFileId,
  addMediaString,
  addMessages,
  addSealed,
  asTextToo,
  type MeasureBody,
  type PromptTally,
  promptTally,
  sizeOf,
  textsOf,
} from '../measure/prompt-size.ts';
import { addReferences, addTopLevelReferences } from '../measure/referenced-media.ts';

export const measureAnthropic: MeasureBody = (tape) => measureMessages(tape).size;

/** Measures a request and returns whether every message is an object with a string `role`. */
export function measureMessages(tape: Tape): {
  readonly size: PromptSize;
  readonly hasRoles: boolean;
} {
  const tally = promptTally(tape);
  const hasRoles = addMessages(tally, addMessage);
  const system = tape.present(root, 'system');
  if (system !== none)
    addContent(tally, system, { reader: 'nobody', at: () => 'system', level: 0 });
  addTopLevelReferences(tally, root);
  return { size: sizeOf(tally), hasRoles };
}

/** Who reads the blocks of a list. `provider`: the provider wrote them as results of its tools. */
type Reader = 'user' | 'assistant' | 'result' | 'document' | 'provider' | 'nobody';

/** The blocks that Anthropic reads in each list, if not all of their bytes are text to it. */
const readTypes: Readonly<Record<Reader, readonly string[]>> = {
  user: ['image', 'document', 'tool_result'],
  assistant: ['thinking', 'redacted_thinking'],
  result: ['image', 'document'],
  document: ['image'],
  provider: [],
  nobody: [],
};

interface Place {
  readonly reader: Reader;
  readonly at: () => string;
  /** How many lists of blocks contain it. */
  readonly level: number;
}

/** Counts an element of `messages`. Returns whether it is an object with a string `role`. */
function addMessage(tally: PromptTally, message: Value, index: number): boolean {
  const { tape } = tally;
  if (!tape.isObject(message)) return false;
  tally.messages += 1;
  const stated = tape.get(message, 'role');
  const role = tape.shortText(stated);
  const reader = role === 'user' || role === 'assistant' ? role : 'nobody';
  const end = tape.after(message);
  for (let value = tape.first(message); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    const at = (): string => `messages[${index}].${name}`;
    if (name === 'content') addContent(tally, value, { reader, at, level: 0 });
    else if (tape.isObject(value) || tape.isArray(value)) {
      addContent(tally, value, { reader: 'nobody', at, level: 0 });
    } else if (name !== 'role') addReferences(tally, value, { name, at });
  }
  return stated !== none && tape.isString(stated);
}

/** Anthropic reads no more than an image in a document in a tool result. */
const maxLevels = 8;

/**
 * Adds a list of blocks. Some servers accept one block in place of a list, and lists inside lists.
 */
function addContent(tally: PromptTally, value: Value, place: Place): void {
  const { tape } = tally;
  const { at, level, reader } = place;
  if (tape.isObject(value)) addBlock(tally, value, { ...place, reader: unread(place) });
  if (!tape.isArray(value)) return;
  if (level === maxLevels) throw tooComplex(`${maxLevels} lists of blocks in each other`, at());
  const end = tape.after(value);
  let count = 0;
  for (let one = tape.first(value); one < end; one = tape.after(one)) {
    const index = count;
    const inside = { reader, level, at: () => `${at()}[${index}]` };
    if (tape.isObject(one)) addBlock(tally, one, inside);
    else addContent(tally, one, { ...inside, reader: unread(place), level: level + 1 });
    count += 1;
  }
}

/** The reader of blocks in an unusual shape: no provider is known to read them. */
function unread({ reader }: Place): Reader {
  return reader === 'provider' ? reader : 'nobody';
}

/** A server reads these as text, but for the blocks, sources and files in them. */
const textTypes: ReadonlySet<string> = new Set([
  ...['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'mcp_tool_use'],
  ...['mcp_tool_listing', 'search_result', 'tool_reference', 'tool_addition', 'tool_removal'],
  ...['browser_state', 'compaction', 'fallback'],
]);
/** What Anthropic's own tools returned. URLs in it are not fetched again. */
const providerResult = /._tool_result$/;

function addBlock(tally: PromptTally, value: Value, place: Place): void {
  const block = readBlock(tally.tape, value);
  const { type, source, content, fileId } = block;
  const isRead = readTypes[place.reader].includes(type);
  const sealed = isRead ? sealedNames.get(type) : undefined;
  const signature = sealed === undefined ? none : tally.tape.present(value, sealed);
  if (signature !== none) addSealed(tally, signature);
  // Most blocks are nothing but text.
  const isText = source === none && content === none && fileId === none && textTypes.has(type);
  if (isText) return;
  if (isRead) addInside(tally, block, place);
  else asTextToo(tally, () => addInside(tally, block, { ...place, reader: unread(place) }));
}

/** The members that only Anthropic can read. */
const sealedNames: ReadonlyMap<string, string> = new Map([
  ['thinking', 'signature'],
  ['redacted_thinking', 'data'],
]);

interface Block {
  readonly value: Value;
  type: string;
  source: Value;
  content: Value;
  fileId: Value;
}

function readBlock(tape: Tape, value: Value): Block {
  const block: Block = { value, type: '', source: none, content: none, fileId: none };
  const end = tape.after(value);
  for (let one = tape.first(value); one < end; one = tape.after(one)) {
    if (tape.isNull(one)) continue;
    if (tape.isNamed(one, 'type')) block.type = tape.shortText(one) ?? '';
    else if (tape.isNamed(one, 'content')) block.content = one;
    else if (tape.isNamed(one, 'source')) block.source = one;
    else if (tape.isNamed(one, 'file_id')) block.fileId = one;
  }
  return block;
}

function addInside(tally: PromptTally, block: Block, place: Place): void {
  const { type, source, content, fileId } = block;
  const { at, level, reader } = place;
  const isOfProvider = reader === 'provider' || providerResult.test(type);
  if (content !== none) {
    const inside = type === 'tool_result' && reader === 'user' ? 'result' : 'nobody';
    const contentReader = isOfProvider ? 'provider' : inside;
    const next = { reader: contentReader, at: () => `${at()}.content`, level: level + 1 } as const;
    addContent(tally, content, next);
  }
  if (source !== none && type !== 'search_result') {
    const isDocument = type === 'document';
    const inside = isDocument && readTypes[reader].includes(type) ? 'document' : 'nobody';
    addSource(tally, source, {
      at: at(),
      path: `${at()}.source`,
      // A URL without a media type must not be taken for an image.
      types: isDocument ? ['application/pdf'] : [],
      addBlocks: (blocks, blocksAt, isRead) => {
        const blocksReader = isRead ? inside : 'nobody';
        addContent(tally, blocks, { reader: blocksReader, at: () => blocksAt, level: level + 1 });
      },
    });
  }
  if (isOfProvider) return;
  if (fileId !== none) addFileId(tally, fileId, at());
  if (textTypes.has(type)) return;
  const counted = fileId === none ? [] : [fileId];
  addOtherMembers(tally, { object: block.value, at, counted, walked: [source, content] });
}

interface SourceContext {
  /** The path of the block, which its media are named by. */
  readonly at: string;
  readonly path: string;
  /** The media types that the type of the block implies. */
  readonly types: readonly string[];
  /** Counts the blocks of which a document consists. `isRead`: the provider reads blocks here. */
  readonly addBlocks: (blocks: Value, at: string, isRead: boolean) => void;
}

/** Counts a source. Some servers may accept a list of sources. */
function addSource(tally: PromptTally, source: Value, context: SourceContext): void {
  const { tape } = tally;
  const { at, path } = context;
  if (tape.isObject(source)) return addObject(tally, source, context);
  asTextToo(tally, () => {
    if (!tape.isArray(source)) {
      return addReferences(tally, source, { at: () => at, hasIdOnly: true });
    }
    const end = tape.after(source);
    let index = 0;
    for (let one = tape.first(source); one < end; one = tape.after(one)) {
      addSource(tally, one, { ...context, path: `${path}[${index}]` });
      index += 1;
    }
  });
}

function addObject(tally: PromptTally, source: Value, context: SourceContext): void {
  const { at, path, types, addBlocks } = context;
  const { tape } = tally;
  const type = tape.shortText(tape.present(source, 'type'));
  const fileId = tape.present(source, 'file_id');
  const counted: Value[] = fileId === none ? [] : [fileId];
  if (fileId !== none) addFileId(tally, fileId, path);
  else if (type === 'file') {
    tally.media.push({ kind: 'reference', bytes: 0, isFileId: true, at: `${path}.file_id` });
  }
  const content = tape.present(source, 'content');
  if (content !== none) addBlocks(content, `${path}.content`, type === 'content');
  const payload = tape.present(source, type === 'url' ? 'url' : 'data');
  if (payload !== none && tape.isString(payload)) {
    counted.push(payload);
    const stated = [...types, ...textsOf(tape, source, 'media_type')];
    if (type !== 'text') {
      const { payloadBytes } = tally;
      addMediaString(tally, { value: payload, at, types: stated });
      // Of a source of another type, a server may read the payload as text.
      if (type !== 'base64' && type !== 'url') tally.payloadBytes = payloadBytes;
    }
  } else if (type === 'url') {
    // A server that reads another form of URL fetches what it names.
    tally.media.push({ kind: 'reference', bytes: 0, at: `${path}.url` });
  }
  addOtherMembers(tally, { object: source, at: () => at, counted, walked: [content] });
}

interface Counted {
  readonly object: Value;
  readonly at: () => string;
  readonly counted: readonly Value[];
  /** Values that were counted with everything in them, if they are objects or lists. */
  readonly walked: readonly Value[];
}

function addOtherMembers(tally: PromptTally, { object, at, counted, walked }: Counted): void {
  const { tape } = tally;
  const done = walked.filter((one) => one !== none && (tape.isObject(one) || tape.isArray(one)));
  if (done.length === 0) {
    const hasIdOnly = counted.length === 0;
    addReferences(tally, object, { at, counted, hasIdOnly });
    return;
  }
  const end = tape.after(object);
  for (let value = tape.firstMember(object); value < end; value = tape.after(value)) {
    if (done.includes(value)) continue;
    addReferences(tally, value, { name: tape.name(value), at, counted });
  }
}
