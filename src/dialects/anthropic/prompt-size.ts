/**
 * Measures a Messages request and finds its media. Anthropic refuses blocks in other shapes and
 * places than its own, but compatible servers may read them as media or as text. So media count
 * wherever they are, and only where Anthropic reads them do their bytes not count as text too.
 */
import type { Body } from '../../bytes/body/body.ts';
import { findMember, kindAt, membersOf } from '../../bytes/json/read/members.ts';
import { skipValue } from '../../bytes/json/read/skip.ts';
import type { Member, Span } from '../../bytes/json/scan/scan.ts';
import { openBrace, openBracket, quote } from '../../bytes/json/text.ts';
import type { PromptSize } from '../../call.ts';
import { tooComplex } from '../../canonical/complexity.ts';
import {
  addSealed,
  asTextToo,
  eachElement,
  type MeasureBody,
  type PromptTally,
  presentValue,
  promptTally,
  shortText,
  sizeOf,
} from '../prompt-size.ts';
import { addReferences, addTopLevelReferences } from '../referenced-media.ts';
import { addFileOf, addOtherMembers, addSource } from './media-sources.ts';

/** Measures a Messages request. */
export const measureAnthropic: MeasureBody = (body, members) => measureMessages(body, members).size;

/** Measures a request and returns whether every message is an object with a string `role`. */
export function measureMessages(
  body: Body,
  members: readonly Member[],
): { readonly size: PromptSize; readonly hasRoles: boolean } {
  const { text } = body;
  const tally = promptTally(body);
  let hasRoles = true;
  const messages = findMember(members, 'messages');
  if (messages !== undefined && kindAt(text, messages.value) === 'array') {
    eachElement(text, messages.value.start, (start, index) => {
      const end = skipValue(text, start);
      const isObject = text[start] === openBrace;
      const inside = isObject ? membersOf(text, { start, end }) : [];
      const role = findMember(inside, 'role');
      hasRoles &&= role !== undefined && text[role.value.start] === quote;
      if (!isObject) return end;
      tally.messages += 1;
      addMessage(tally, inside, `messages[${index}]`);
      return end;
    });
  }
  const system = presentValue(text, members, 'system');
  if (system !== undefined) addContent(tally, system, { reader: 'nobody', at: 'system', level: 0 });
  addTopLevelReferences(tally, members);
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

/** Where a list of blocks is. */
interface Place {
  readonly reader: Reader;
  readonly at: string;
  /** How many lists of blocks contain it. */
  readonly level: number;
}

function addMessage(tally: PromptTally, message: readonly Member[], at: string): void {
  const { text } = tally.body;
  const role = shortText(text, findMember(message, 'role')?.value);
  const reader = role === 'user' || role === 'assistant' ? role : 'nobody';
  for (const { name, nameSpan, value } of message) {
    const inside = `${at}.${name}`;
    if (name === 'content') addContent(tally, value, { reader, at: inside, level: 0 });
    else if (text[value.start] === openBrace || text[value.start] === openBracket) {
      addContent(tally, value, { reader: 'nobody', at: inside, level: 0 });
    } else if (name !== 'role') {
      addReferences(tally, { start: value.start, name: nameSpan, at: () => inside });
    }
  }
}

/** Anthropic reads no more than an image in a document in a tool result. */
const maxLevels = 8;

/**
 * Adds a list of blocks. Some servers accept one block in place of a list, and lists inside lists.
 *
 * @throws GatewayError `too_complex`
 */
function addContent(tally: PromptTally, { start, end }: Span, place: Place): void {
  const { text } = tally.body;
  const { at, level } = place;
  if (text[start] === openBrace) {
    addBlock(tally, { start, end }, { ...place, reader: unread(place) });
  } else if (text[start] === openBracket) {
    if (level === maxLevels) throw tooComplex(`${maxLevels} lists of blocks in each other`, at);
    eachElement(text, start, (element, index) => {
      const span = { start: element, end: skipValue(text, element) };
      const inside = { ...place, at: `${at}[${index}]` };
      if (text[element] === openBrace) addBlock(tally, span, inside);
      else addContent(tally, span, { ...inside, reader: unread(place), level: level + 1 });
      return span.end;
    });
  }
}

/** The reader of blocks in an unusual shape: no provider is known to read them. */
function unread({ reader }: Place): Reader {
  return reader === 'provider' ? reader : 'nobody';
}

/**
 * Blocks that a server reads as text with everything in them, but for the blocks, sources and files
 * that they may contain.
 */
const textTypes: ReadonlySet<string> = new Set([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'server_tool_use',
  'mcp_tool_use',
  'mcp_tool_listing',
  'search_result',
  'tool_reference',
  'tool_addition',
  'tool_removal',
  'browser_state',
  'compaction',
  'fallback',
]);
/** What Anthropic's own tools returned. URLs in it are not fetched again. */
const providerResult = /._tool_result$/;

function addBlock(tally: PromptTally, span: Span, place: Place): void {
  const { text } = tally.body;
  const members = membersOf(text, span);
  const type = shortText(text, presentValue(text, members, 'type')) ?? '';
  if (!readTypes[place.reader].includes(type)) {
    asTextToo(tally, () => {
      addInside(tally, { span, members, type }, { ...place, reader: unread(place) });
      return span.end;
    });
    return;
  }
  const sealed = sealedNames.get(type);
  const value = sealed === undefined ? undefined : presentValue(text, members, sealed);
  if (value !== undefined) addSealed(tally, value);
  addInside(tally, { span, members, type }, place);
}

/** The members that only Anthropic can read. */
const sealedNames: ReadonlyMap<string, string> = new Map([
  ['thinking', 'signature'],
  ['redacted_thinking', 'data'],
]);

interface Block {
  readonly span: Span;
  readonly members: readonly Member[];
  readonly type: string;
}

/** Adds the media of a block, and the blocks in it. */
function addInside(tally: PromptTally, { span, members, type }: Block, place: Place): void {
  const { text } = tally.body;
  const { at, level, reader } = place;
  const isOfProvider = reader === 'provider' || providerResult.test(type);
  const source = presentValue(text, members, 'source');
  const content = presentValue(text, members, 'content');
  if (content !== undefined) {
    const inside = type === 'tool_result' && reader === 'user' ? 'result' : 'nobody';
    const contentReader = isOfProvider ? 'provider' : inside;
    const next = { reader: contentReader, at: `${at}.content`, level: level + 1 } as const;
    addContent(tally, content, next);
  }
  if (source !== undefined && type !== 'search_result') {
    const isDocument = type === 'document';
    const inside = isDocument && readTypes[reader].includes(type) ? 'document' : 'nobody';
    addSource(tally, source, {
      at,
      path: `${at}.source`,
      // A URL without a media type must not be taken for an image.
      types: isDocument ? ['application/pdf'] : [],
      addBlocks: (blocks, blocksAt, isRead) => {
        const blocksReader = isRead ? inside : 'nobody';
        addContent(tally, blocks, { reader: blocksReader, at: blocksAt, level: level + 1 });
      },
    });
  }
  if (isOfProvider) return;
  const fileId = addFileOf(tally, members, at);
  if (textTypes.has(type)) return;
  addOtherMembers(tally, { span, members, at, counted: fileId, walked: [source, content] });
}
