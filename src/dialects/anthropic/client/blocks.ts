/**
 * Converts Anthropic's content blocks to events, one block at a time, for whole and streamed
 * replies.
 */

import { parseBounded, parseBoundedExactly } from '../../../bounded-json.ts';
import { newCallId } from '../../../canonical/call-ids.ts';
import { isCutJson } from '../../../canonical/cut-json.ts';
import type { FunctionNames } from '../../../canonical/function-names.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { Citation, ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { checkToolCalls } from '../../reply-lists.ts';
import { finishEvent, mayCut, type Stop } from './finish.ts';

/** What the reader needs to know about the request. */
export interface ReadContext {
  readonly names: FunctionNames;
  /** The tool whose input is the text of the reply. */
  readonly replyTool: string | undefined;
  readonly ids: () => string;
}

/** Reads the blocks of one reply. Unknown blocks are kept until the end. */
export interface BlockReader {
  /** Reads a complete block; of a call that was cut, the input is what could be parsed of it. */
  whole(block: JsonValue, isCut: boolean): readonly ContentEvent[];
  open(index: number, block: JsonValue | undefined): readonly ContentEvent[];
  delta(index: number, delta: JsonValue | undefined): readonly ContentEvent[];
  close(index: number): readonly ContentEvent[];
  /** Whether a block has begun but not ended. */
  hasOpen(): boolean;
  /**
   * Closes open blocks, and returns the events that only callers who know the provider understand.
   */
  rest(): readonly ContentEvent[];
  /** The number of tool calls so far. */
  calls(): number;
  /** Whether the input of a block that ended is the beginning of JSON text only. */
  hasCutInput(): boolean;
}

type OpenBlock =
  | { readonly kind: 'text'; readonly start: number; readonly citations: Citation[] }
  | { readonly kind: 'thinking'; signature: string }
  | { readonly kind: 'call'; readonly call: number; readonly input: string; json: string }
  | { readonly kind: 'reply'; readonly input: string; json: string }
  | { readonly kind: 'other'; readonly value: Map<string, JsonValue>; json: string };

/** Far above real replies. Unknown blocks and citations are held in memory until the end. */
const maxOthers = 1_000;
const maxCitations = 10_000;

/** The result for most stream events, shared to avoid allocations. */
export const noEvents: readonly ContentEvent[] = Object.freeze([]);
const choice = 0;

/** Creates the reader of one reply. */
export function blockReader(context: ReadContext): BlockReader {
  const blocks = new Map<number, OpenBlock>();
  const otherBlocks: JsonObject[] = [];
  /** Citations of the caller's documents. */
  const documentCitations: JsonObject[] = [];
  const usedIds = new Set<string>();
  let visible = 0;
  let calls = 0;
  let hasCutInput = false;
  let citationCount = 0;

  const text = (piece: string): readonly ContentEvent[] => {
    visible += piece.length;
    return piece === '' ? noEvents : [{ type: 'text', choice, text: piece }];
  };

  const begin = (block: JsonValue | undefined, json: string): ContentEvent => {
    checkToolCalls(calls);
    const sentId = stringMember(block, 'id');
    const id = sentId === '' || usedIds.has(sentId) ? newCallId(context.ids) : sentId;
    usedIds.add(id);
    const name = context.names.caller(stringMember(block, 'name'));
    calls += 1;
    return { type: 'tool_begin', choice, call: calls - 1, id, name, arguments: json };
  };

  const open = (index: number, block: JsonValue | undefined): readonly ContentEvent[] => {
    const before = blocks.get(index);
    if (before !== undefined && isUnfinishedCall(before)) return [truncatedCall];
    const closing = blocks.has(index) ? close(index) : noEvents;
    const { opened, events } = opening(block);
    blocks.set(index, opened);
    return closing.length === 0 ? events : [...closing, ...events];
  };

  const opening = (
    block: JsonValue | undefined,
  ): { readonly opened: OpenBlock; readonly events: readonly ContentEvent[] } => {
    switch (member(block, 'type')) {
      case 'text': {
        const opened: OpenBlock = { kind: 'text', start: visible, citations: [] };
        for (const citation of items(member(block, 'citations'))) addCitation(opened, citation);
        return { opened, events: text(stringMember(block, 'text')) };
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
        if (isReplyTool(block)) {
          return { opened: { kind: 'reply', input, json: '' }, events: noEvents };
        }
        const event = begin(block, '');
        const opened: OpenBlock = { kind: 'call', call: calls - 1, input, json: '' };
        return { opened, events: [event] };
      }
      default: {
        const value = new Map(isJsonObject(block) ? Object.entries(block) : []);
        return { opened: { kind: 'other', value, json: '' }, events: noEvents };
      }
    }
  };

  const isReplyTool = (block: JsonValue | undefined): boolean =>
    context.replyTool !== undefined && stringMember(block, 'name') === context.replyTool;

  const delta = (index: number, change: JsonValue | undefined): readonly ContentEvent[] => {
    const block = blocks.get(index);
    if (block?.kind === 'other') return accumulate(block, change);
    switch (member(change, 'type')) {
      case 'text_delta':
        return text(stringMember(change, 'text'));
      case 'thinking_delta':
        return reasoningEvents(stringMember(change, 'thinking'));
      case 'signature_delta':
        if (block?.kind === 'thinking') block.signature = stringMember(change, 'signature');
        return noEvents;
      case 'input_json_delta':
        return block === undefined
          ? noEvents
          : addInput(block, stringMember(change, 'partial_json'));
      case 'citations_delta':
        if (block?.kind === 'text') {
          addCitation(block, member(change, 'citation'));
        }
        return noEvents;
      default:
        return noEvents;
    }
  };

  /** A citation of the caller's documents has no URL and is passed on unchanged. */
  const addCitation = (
    { citations, start }: Extract<OpenBlock, { kind: 'text' }>,
    citation: JsonValue | undefined,
  ): void => {
    citationCount += 1;
    if (citationCount > maxCitations) return;
    const source = readCitation(citation);
    if (source !== undefined) citations.push(source);
    else if (isJsonObject(citation)) documentCitations.push({ ...citation, text_start: start });
  };

  const addInput = (block: OpenBlock, piece: string): readonly ContentEvent[] => {
    if (piece === '' || (block.kind !== 'call' && block.kind !== 'reply')) return noEvents;
    block.json += piece;
    if (block.kind === 'reply') return text(piece);
    return [{ type: 'tool_arguments', choice, call: block.call, text: piece }];
  };

  const keepOther = (block: JsonValue): readonly ContentEvent[] => {
    const isKept = isJsonObject(block) && otherBlocks.length < maxOthers && !isEmpty(block);
    if (isKept) otherBlocks.push(block);
    return noEvents;
  };

  const close = (index: number): readonly ContentEvent[] => {
    const block = blocks.get(index);
    blocks.delete(index);
    if (block !== undefined && isCutInput(block)) hasCutInput = true;
    switch (block?.kind) {
      case undefined:
        return noEvents;
      case 'text':
        return citationEvents(block.citations, block.start, visible);
      case 'thinking':
        return signatureEvents(block.signature);
      case 'reply':
        return block.json !== '' ? noEvents : text(block.input);
      case 'call': {
        const hasInput = block.json === '' && block.input !== '{}';
        const events = hasInput ? addInput(block, block.input) : noEvents;
        return [...events, { type: 'tool_end', choice, call: block.call }];
      }
      case 'other':
        return keepOther(withInput(block.value, block.json));
    }
  };

  const whole = (block: JsonValue, isCut: boolean): readonly ContentEvent[] => {
    const type = member(block, 'type');
    if (!knownTypes.has(type)) return keepOther(block);
    if (type === 'tool_use' && !isReplyTool(block)) {
      const event = begin(block, wholeInput(block, isCut));
      return [event, { type: 'tool_end', choice, call: calls - 1 }];
    }
    const opened = open(wholeIndex, block);
    return [...opened, ...close(wholeIndex)];
  };

  return {
    whole,
    open,
    delta,
    close,
    hasOpen: () => blocks.size > 0,
    rest: () => {
      // A truncated call must not look complete.
      if ([...blocks.values()].some(isUnfinishedCall)) return [truncatedCall];
      const closing = [...blocks.keys()].flatMap((index) => close(index));
      return [
        ...closing,
        ...providerEvents('citations', documentCitations),
        ...providerEvents('blocks', otherBlocks),
      ];
    },
    calls: () => calls,
    hasCutInput: () => hasCutInput,
  };
}

const knownTypes: ReadonlySet<JsonValue | undefined> = new Set<JsonValue | undefined>([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
]);

function isEmpty(block: JsonObject): boolean {
  for (const name in block) if (Object.hasOwn(block, name)) return false;
  return true;
}

/** An index that no stream uses. A whole block is opened and closed immediately. */
const wholeIndex = -1;

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

function readCitation(citation: JsonValue | undefined): Citation | undefined {
  const url = stringMember(citation, 'url');
  if (url === '') return undefined;
  const title = stringMember(citation, 'title');
  return { url, title: title === '' ? undefined : title, start: undefined, end: undefined };
}

const truncatedCall: ContentEvent = { type: 'unusable', reason: 'upstream_unusable_output' };

/** The last event: the finish, or an error if a call was cut without a stop reason for that. */
export function endEvent(stop: Stop, blocks: BlockReader): ContentEvent {
  const finish = finishEvent(stop, blocks.calls());
  return blocks.hasCutInput() && !mayCut(stop) ? truncatedCall : finish;
}

/** Whether a call's input has begun but isn't valid JSON yet. */
function isUnfinishedCall(block: OpenBlock): boolean {
  if (block.kind !== 'call' && block.kind !== 'reply') return false;
  return block.json !== '' && parseBounded(block.json) === undefined;
}

function isCutInput(block: OpenBlock): boolean {
  return (block.kind === 'call' || block.kind === 'reply') && isCutJson(block.json);
}

function providerEvents(name: string, value: readonly JsonObject[]): readonly ContentEvent[] {
  return value.length === 0
    ? []
    : [{ type: 'provider_specific', choice, provider: 'anthropic', name, value }];
}

function inputText(block: JsonValue | undefined): string {
  return jsonText(member(block, 'input') ?? {});
}

/** Accumulates the deltas of unknown blocks: their input, and string members of any name. */
function accumulate(
  block: Extract<OpenBlock, { kind: 'other' }>,
  change: JsonValue | undefined,
): readonly ContentEvent[] {
  if (member(change, 'type') === 'input_json_delta')
    block.json += stringMember(change, 'partial_json');
  else addDelta(block.value, change);
  return noEvents;
}

function addDelta(value: Map<string, JsonValue>, change: JsonValue | undefined): void {
  for (const [name, piece] of isJsonObject(change) ? Object.entries(change) : []) {
    if (name === 'type' || typeof piece !== 'string') continue;
    const before = value.get(name);
    value.set(name, typeof before === 'string' ? before + piece : piece);
  }
}

function withInput(value: ReadonlyMap<string, JsonValue>, json: string): JsonObject {
  const members = Object.fromEntries(value);
  const input = json === '' ? undefined : parseBoundedExactly(json);
  return input === undefined ? members : { ...members, input };
}

/**
 * The arguments of a call. Those of a call that was cut end without their last brace, so that
 * nobody takes them for complete; empty if there are none.
 */
function wholeInput(block: JsonValue, isCut: boolean): string {
  const input = inputText(block);
  if (!isCut) return input;
  return input === '{}' ? '' : input.slice(0, -1);
}

function stringMember(holder: JsonValue | undefined, name: string): string {
  const value = member(holder, name);
  return typeof value === 'string' ? value : '';
}
