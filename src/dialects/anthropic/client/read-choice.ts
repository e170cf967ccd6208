/** Converts Anthropic's content blocks to events, for whole and streamed replies. */
import { newCallId } from '../../../canonical/call-ids.ts';
import type { FunctionNames } from '../../../canonical/function-names.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { Citation, ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { checkToolCalls } from '../../reply-lists.ts';
import { finishEvent, mayCutLastCall, type StatedFinish } from './finish.ts';
import {
  accumulate,
  isCutInput,
  isUnfinishedCall,
  type OpenBlock,
  stringMember,
  type TextBlock,
  wholeOf,
} from './open-block.ts';

export interface ReadContext {
  readonly names: FunctionNames;
  /** The tool whose input is the text of the reply. */
  readonly replyTool: string | undefined;
  readonly ids: () => string;
}

/** Reads the blocks of one reply. Unknown blocks are kept until the end. */
export interface BlockReader {
  /** `isCut`: its call was truncated; the input has only what the provider could parse. */
  whole(block: JsonValue, isCut: boolean): readonly ContentEvent[];
  open(index: number, block: JsonValue | undefined): readonly ContentEvent[];
  delta(index: number, delta: JsonValue | undefined): readonly ContentEvent[];
  close(index: number): readonly ContentEvent[];
  hasOpen(): boolean;
  /** Closes open blocks; returns events that only callers who know the provider understand. */
  rest(): readonly ContentEvent[];
  calls(): number;
  hasCutInput(): boolean;
}

/** The result for most stream events, shared to avoid allocations. */
export const noEvents: readonly ContentEvent[] = Object.freeze([]);
const choice = 0;

/** An index that no stream uses. A whole block is opened and closed immediately. */
const wholeIndex = -1;

interface ReplyState {
  readonly context: ReadContext;
  readonly blocks: Map<number, OpenBlock>;
  readonly heldBack: HeldBack;
  readonly usedIds: Set<string>;
  textLength: number;
  calls: number;
  hasCutInput: boolean;
}

export function blockReader(context: ReadContext): BlockReader {
  const reply: ReplyState = {
    context,
    blocks: new Map(),
    heldBack: heldBack(),
    usedIds: new Set(),
    textLength: 0,
    calls: 0,
    hasCutInput: false,
  };
  return {
    whole: (block, isCut) => whole(reply, block, isCut),
    open: (index, block) => open(reply, index, block),
    delta: (index, change) => delta(reply, reply.blocks.get(index), change),
    close: (index) => close(reply, index),
    hasOpen: () => reply.blocks.size > 0,
    rest: () => rest(reply),
    calls: () => reply.calls,
    hasCutInput: () => reply.hasCutInput,
  };
}

function whole(reply: ReplyState, block: JsonValue, isCut: boolean): readonly ContentEvent[] {
  const type = member(block, 'type');
  if (!knownTypes.has(type)) {
    reply.heldBack.addBlock(block);
    return noEvents;
  }
  if (type === 'tool_use' && !isReplyTool(reply, block)) {
    const event = beginCall(reply, block, wholeInput(block, isCut));
    return [event, { type: 'tool_end', choice, call: reply.calls - 1 }];
  }
  const opened = open(reply, wholeIndex, block);
  return [...opened, ...close(reply, wholeIndex)];
}

const knownTypes: ReadonlySet<JsonValue | undefined> = new Set<JsonValue | undefined>([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
]);

function open(
  reply: ReplyState,
  index: number,
  block: JsonValue | undefined,
): readonly ContentEvent[] {
  const { blocks } = reply;
  const before = blocks.get(index);
  if (before !== undefined && isUnfinishedCall(before)) return [truncatedCall];
  const closing = before === undefined ? noEvents : close(reply, index);
  const { opened, events } = opening(reply, block);
  blocks.set(index, opened);
  return closing.length === 0 ? events : [...closing, ...events];
}

interface Opening {
  readonly opened: OpenBlock;
  readonly events: readonly ContentEvent[];
}

function opening(reply: ReplyState, block: JsonValue | undefined): Opening {
  switch (member(block, 'type')) {
    case 'text': {
      const opened: TextBlock = { kind: 'text', start: reply.textLength, citations: [] };
      for (const citation of items(member(block, 'citations'))) {
        reply.heldBack.addCitation(opened, citation);
      }
      return { opened, events: textEvents(reply, stringMember(block, 'text')) };
    }
    case 'thinking': {
      const opened: OpenBlock = { kind: 'thinking', signature: stringMember(block, 'signature') };
      return { opened, events: reasoningEvents(stringMember(block, 'thinking')) };
    }
    case 'redacted_thinking': {
      const data = stringMember(block, 'data');
      return { opened: { kind: 'thinking', signature: '' }, events: redactedEvents(data) };
    }
    case 'tool_use': {
      const input = inputText(block);
      if (isReplyTool(reply, block)) {
        return { opened: { kind: 'reply', input, json: '' }, events: noEvents };
      }
      const event = beginCall(reply, block, '');
      return { opened: { kind: 'call', call: reply.calls - 1, input, json: '' }, events: [event] };
    }
    default: {
      const value = new Map(isJsonObject(block) ? Object.entries(block) : []);
      return { opened: { kind: 'other', value, json: '' }, events: noEvents };
    }
  }
}

function isReplyTool({ context }: ReplyState, block: JsonValue | undefined): boolean {
  return context.replyTool !== undefined && stringMember(block, 'name') === context.replyTool;
}

function beginCall(reply: ReplyState, block: JsonValue | undefined, json: string): ContentEvent {
  const { context, usedIds } = reply;
  checkToolCalls(reply.calls);
  const sentId = stringMember(block, 'id');
  const id = sentId === '' || usedIds.has(sentId) ? newCallId(context.ids) : sentId;
  usedIds.add(id);
  const name = context.names.caller(stringMember(block, 'name'));
  reply.calls += 1;
  return { type: 'tool_begin', choice, call: reply.calls - 1, id, name, arguments: json };
}

function delta(
  reply: ReplyState,
  block: OpenBlock | undefined,
  change: JsonValue | undefined,
): readonly ContentEvent[] {
  if (block?.kind === 'other') {
    accumulate(block, change);
    return noEvents;
  }
  switch (member(change, 'type')) {
    case 'text_delta':
      return textEvents(reply, stringMember(change, 'text'));
    case 'thinking_delta':
      return reasoningEvents(stringMember(change, 'thinking'));
    case 'signature_delta':
      if (block?.kind === 'thinking') block.signature = stringMember(change, 'signature');
      return noEvents;
    case 'input_json_delta':
      return block === undefined
        ? noEvents
        : addInput(reply, block, stringMember(change, 'partial_json'));
    case 'citations_delta':
      if (block?.kind === 'text') reply.heldBack.addCitation(block, member(change, 'citation'));
      return noEvents;
    default:
      return noEvents;
  }
}

function addInput(reply: ReplyState, block: OpenBlock, piece: string): readonly ContentEvent[] {
  if (piece === '' || (block.kind !== 'call' && block.kind !== 'reply')) return noEvents;
  block.json += piece;
  if (block.kind === 'reply') return textEvents(reply, piece);
  return [{ type: 'tool_arguments', choice, call: block.call, text: piece }];
}

function close(reply: ReplyState, index: number): readonly ContentEvent[] {
  const block = reply.blocks.get(index);
  reply.blocks.delete(index);
  if (block !== undefined && isCutInput(block)) reply.hasCutInput = true;
  switch (block?.kind) {
    case undefined:
      return noEvents;
    case 'text':
      return citationEvents(block.citations, block.start, reply.textLength);
    case 'thinking':
      return signatureEvents(block.signature);
    case 'reply':
      return block.json !== '' ? noEvents : textEvents(reply, block.input);
    case 'call': {
      const hasInput = block.json === '' && block.input !== '{}';
      const events = hasInput ? addInput(reply, block, block.input) : noEvents;
      return [...events, { type: 'tool_end', choice, call: block.call }];
    }
    case 'other':
      reply.heldBack.addBlock(wholeOf(block));
      return noEvents;
  }
}

function rest(reply: ReplyState): readonly ContentEvent[] {
  const { blocks, heldBack } = reply;
  // A truncated call must not look complete.
  if ([...blocks.values()].some(isUnfinishedCall)) return [truncatedCall];
  const closing = [...blocks.keys()].flatMap((index) => close(reply, index));
  return [...closing, ...heldBack.events()];
}

function textEvents(reply: ReplyState, text: string): readonly ContentEvent[] {
  reply.textLength += text.length;
  return text === '' ? noEvents : [{ type: 'text', choice, text }];
}

function reasoningEvents(text: string): readonly ContentEvent[] {
  return text === '' ? noEvents : [{ type: 'reasoning', choice, text }];
}

function signatureEvents(data: string): readonly ContentEvent[] {
  if (data === '') return noEvents;
  const providerData = { provider: 'anthropic', kind: 'signature', data } as const;
  return [{ type: 'reasoning', choice, text: '', providerData }];
}

function redactedEvents(data: string): readonly ContentEvent[] {
  if (data === '') return noEvents;
  const providerData = { provider: 'anthropic', kind: 'encrypted', data } as const;
  return [{ type: 'reasoning', choice, text: '', providerData }];
}

function citationEvents(
  citations: readonly Citation[],
  start: number,
  end: number,
): readonly ContentEvent[] {
  if (citations.length === 0) return noEvents;
  const placed = citations.map((citation) => ({ ...citation, start, end }));
  return [{ type: 'citations', choice, citations: placed }];
}

const truncatedCall: ContentEvent = { type: 'unusable', reason: 'upstream_unusable_output' };

/** The last event: the finish, or an error if a call was cut without a stop reason for that. */
export function endEvent(stop: StatedFinish, blocks: BlockReader): ContentEvent {
  const finish = finishEvent(stop, blocks.calls());
  return blocks.hasCutInput() && !mayCutLastCall(stop) ? truncatedCall : finish;
}

function inputText(block: JsonValue | undefined): string {
  return jsonText(member(block, 'input') ?? {});
}

/** A truncated call's arguments lack their last brace, so that nobody takes them for whole. */
function wholeInput(block: JsonValue, isCut: boolean): string {
  const input = inputText(block);
  if (!isCut) return input;
  return input === '{}' ? '' : input.slice(0, -1);
}

/** What is emitted only at the end of a reply, for callers who know the provider. */
interface HeldBack {
  /** Adds a citation of a text: to its block, or to the end if it cites a document. */
  addCitation(block: TextBlock, citation: JsonValue | undefined): void;
  addBlock(block: JsonValue): void;
  events(): readonly ContentEvent[];
}

/** Far above real replies. Unknown blocks and citations are held in memory until the end. */
const maxBlocks = 1_000;
const maxCitations = 10_000;

function heldBack(): HeldBack {
  const blocks: JsonObject[] = [];
  const documentCitations: JsonObject[] = [];
  let citationCount = 0;
  return {
    addCitation: ({ citations, start }, citation) => {
      citationCount += 1;
      if (citationCount > maxCitations) return;
      const source = readCitation(citation);
      if (source !== undefined) citations.push(source);
      // A citation of the caller's documents has no URL and is passed on unchanged.
      else if (isJsonObject(citation)) documentCitations.push({ ...citation, text_start: start });
    },
    addBlock: (block) => {
      if (isJsonObject(block) && blocks.length < maxBlocks && !isEmpty(block)) blocks.push(block);
    },
    events: () => [
      ...providerEvents('citations', documentCitations),
      ...providerEvents('blocks', blocks),
    ],
  };
}

function isEmpty(block: JsonObject): boolean {
  for (const name in block) if (Object.hasOwn(block, name)) return false;
  return true;
}

function readCitation(citation: JsonValue | undefined): Citation | undefined {
  const url = stringMember(citation, 'url');
  if (url === '') return undefined;
  const title = stringMember(citation, 'title');
  return { url, title: title === '' ? undefined : title, start: undefined, end: undefined };
}

function providerEvents(name: string, value: readonly JsonObject[]): readonly ContentEvent[] {
  return value.length === 0
    ? []
    : [{ type: 'provider_specific', choice, provider: 'anthropic', name, value }];
}
