/** Converts Anthropic's content blocks to events, for whole and streamed replies. */

import { newCallId } from '../../../canonical/call-ids.ts';
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { Citation, ContentEvent } from '../../../canonical/reply.ts';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  stringOrEmpty,
} from '../../../json.ts';
import { checkToolCalls } from '../../reply-lists.ts';
import { finishEvent, mayCutLastCall, type StatedFinish } from './finish.ts';
import {
  accumulate,
  isCutInput,
  isUnfinishedCall,
  type OpenBlock,
  type TextBlock,
  wholeOf,
} from './open-block.ts';

export interface ReadContext {
  readonly names: FunctionNames;
  /** The tool whose input is the text of the reply. */
  readonly replyTool: string | undefined;
  readonly ids: () => string;
}

/** The result for most stream events, shared to avoid allocations. */
export const noEvents: readonly ContentEvent[] = Object.freeze([]);
const choice = 0;

/** An index that no stream uses. A whole block is opened and closed immediately. */
const wholeIndex = -1;

/** Reads the blocks of one reply. Unknown blocks are kept until the end. */
export class BlockReader {
  readonly #context: ReadContext;
  readonly #blocks = new Map<number, OpenBlock>();
  readonly #heldBack = new HeldBack();
  readonly #usedIds = new Set<string>();
  #textLength = 0;
  #calls = 0;
  #hasCutInput = false;

  constructor(context: ReadContext) {
    this.#context = context;
  }

  delta(index: number, change: JsonValue | undefined): readonly ContentEvent[] {
    return this.#readDelta(this.#blocks.get(index), change);
  }

  hasOpen(): boolean {
    return this.#blocks.size > 0;
  }

  /** The last event: the finish, or an error if a call was cut without a stop reason for that. */
  endEvent(stop: StatedFinish): ContentEvent {
    const finish = finishEvent(stop, this.#calls);
    return this.#hasCutInput && !mayCutLastCall(stop) ? truncatedCall : finish;
  }

  /** `isCut`: its call was truncated; the input has only what the provider could parse. */
  whole(block: JsonValue, isCut: boolean): readonly ContentEvent[] {
    const type = member(block, 'type');
    if (!knownTypes.has(type)) {
      this.#heldBack.addBlock(block);
      return noEvents;
    }
    if (type === 'tool_use' && !this.#isReplyTool(block)) {
      const event = this.#beginCall(block, wholeInput(block, isCut));
      return [event, { type: 'tool_end', choice, call: this.#calls - 1 }];
    }
    const opened = this.open(wholeIndex, block);
    return [...opened, ...this.close(wholeIndex)];
  }

  open(index: number, block: JsonValue | undefined): readonly ContentEvent[] {
    const before = this.#blocks.get(index);
    if (before !== undefined && isUnfinishedCall(before)) return [truncatedCall];
    const closing = before === undefined ? noEvents : this.close(index);
    const { opened, events } = this.#opening(block);
    this.#blocks.set(index, opened);
    return closing.length === 0 ? events : [...closing, ...events];
  }

  #opening(block: JsonValue | undefined): {
    readonly opened: OpenBlock;
    readonly events: readonly ContentEvent[];
  } {
    switch (member(block, 'type')) {
      case 'text': {
        const opened: TextBlock = { kind: 'text', start: this.#textLength, citations: [] };
        for (const citation of items(member(block, 'citations'))) {
          this.#heldBack.addCitation(opened, citation);
        }
        return { opened, events: this.#textEvents(stringOrEmpty(member(block, 'text'))) };
      }
      case 'thinking': {
        const opened: OpenBlock = {
          kind: 'thinking',
          signature: stringOrEmpty(member(block, 'signature')),
        };
        return { opened, events: reasoningEvents(stringOrEmpty(member(block, 'thinking'))) };
      }
      case 'redacted_thinking': {
        const data = stringOrEmpty(member(block, 'data'));
        return {
          opened: { kind: 'thinking', signature: '' },
          events: sealedEvents('encrypted', data),
        };
      }
      case 'tool_use': {
        const input = inputText(block);
        if (this.#isReplyTool(block)) {
          return { opened: { kind: 'reply', input, json: '' }, events: noEvents };
        }
        const event = this.#beginCall(block, '');
        const call = this.#calls - 1;
        return { opened: { kind: 'call', call, input, json: '' }, events: [event] };
      }
      default: {
        const value = new Map(isJsonObject(block) ? Object.entries(block) : []);
        return { opened: { kind: 'other', value, json: '' }, events: noEvents };
      }
    }
  }

  #isReplyTool(block: JsonValue | undefined): boolean {
    const { replyTool } = this.#context;
    return replyTool !== undefined && stringOrEmpty(member(block, 'name')) === replyTool;
  }

  #beginCall(block: JsonValue | undefined, json: string): ContentEvent {
    checkToolCalls(this.#calls);
    const sentId = stringOrEmpty(member(block, 'id'));
    const id = sentId === '' || this.#usedIds.has(sentId) ? newCallId(this.#context.ids) : sentId;
    this.#usedIds.add(id);
    const name = this.#context.names.caller(stringOrEmpty(member(block, 'name')));
    this.#calls += 1;
    return { type: 'tool_begin', choice, call: this.#calls - 1, id, name, arguments: json };
  }

  #readDelta(block: OpenBlock | undefined, change: JsonValue | undefined): readonly ContentEvent[] {
    if (block?.kind === 'other') {
      accumulate(block, change);
      return noEvents;
    }
    switch (member(change, 'type')) {
      case 'text_delta':
        return this.#textEvents(stringOrEmpty(member(change, 'text')));
      case 'thinking_delta':
        return reasoningEvents(stringOrEmpty(member(change, 'thinking')));
      case 'signature_delta':
        if (block?.kind === 'thinking')
          block.signature = stringOrEmpty(member(change, 'signature'));
        return noEvents;
      case 'input_json_delta':
        return block === undefined
          ? noEvents
          : this.#addInput(block, stringOrEmpty(member(change, 'partial_json')));
      case 'citations_delta':
        if (block?.kind === 'text') this.#heldBack.addCitation(block, member(change, 'citation'));
        return noEvents;
      default:
        return noEvents;
    }
  }

  #addInput(block: OpenBlock, piece: string): readonly ContentEvent[] {
    if (piece === '' || (block.kind !== 'call' && block.kind !== 'reply')) return noEvents;
    block.json += piece;
    if (block.kind === 'reply') return this.#textEvents(piece);
    return [{ type: 'tool_arguments', choice, call: block.call, text: piece }];
  }

  close(index: number): readonly ContentEvent[] {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block !== undefined && isCutInput(block)) this.#hasCutInput = true;
    switch (block?.kind) {
      case undefined:
        return noEvents;
      case 'text':
        return citationEvents(block.citations, block.start, this.#textLength);
      case 'thinking':
        return sealedEvents('signature', block.signature);
      case 'reply':
        return block.json !== '' ? noEvents : this.#textEvents(block.input);
      case 'call': {
        const hasInput = block.json === '' && block.input !== '{}';
        const events = hasInput ? this.#addInput(block, block.input) : noEvents;
        return [...events, { type: 'tool_end', choice, call: block.call }];
      }
      case 'other':
        this.#heldBack.addBlock(wholeOf(block));
        return noEvents;
    }
  }

  /** Closes open blocks; returns events that only callers who know the provider understand. */
  rest(): readonly ContentEvent[] {
    // A truncated call must not look complete.
    if ([...this.#blocks.values()].some(isUnfinishedCall)) return [truncatedCall];
    const closing = [...this.#blocks.keys()].flatMap((index) => this.close(index));
    return [...closing, ...this.#heldBack.events()];
  }

  #textEvents(text: string): readonly ContentEvent[] {
    this.#textLength += text.length;
    return text === '' ? noEvents : [{ type: 'text', choice, text }];
  }
}

const knownTypes: ReadonlySet<JsonValue | undefined> = new Set<JsonValue | undefined>([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
]);

function reasoningEvents(text: string): readonly ContentEvent[] {
  return text === '' ? noEvents : [{ type: 'reasoning', choice, text }];
}

function sealedEvents(kind: ProviderData['kind'], data: string): readonly ContentEvent[] {
  if (data === '') return noEvents;
  const providerData = { provider: 'anthropic', kind, data };
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

function inputText(block: JsonValue | undefined): string {
  return jsonText(member(block, 'input') ?? {});
}

/** A truncated call's arguments lack their last brace, so that nobody takes them for whole. */
function wholeInput(block: JsonValue, isCut: boolean): string {
  const input = inputText(block);
  if (!isCut) return input;
  return input === '{}' ? '' : input.slice(0, -1);
}

/** Far above real replies. Unknown blocks and citations are held in memory until the end. */
const maxBlocks = 1_000;
const maxCitations = 10_000;

/** What is emitted only at the end of a reply, for callers who know the provider. */
class HeldBack {
  readonly #blocks: JsonObject[] = [];
  readonly #documentCitations: JsonObject[] = [];
  #citationCount = 0;

  /** Adds a citation of a text: to its block, or to the end if it cites a document. */
  addCitation({ citations, start }: TextBlock, citation: JsonValue | undefined): void {
    this.#citationCount += 1;
    if (this.#citationCount > maxCitations) return;
    const source = readCitation(citation);
    if (source !== undefined) citations.push(source);
    // A citation of the caller's documents has no URL and is passed on unchanged.
    else if (isJsonObject(citation)) {
      this.#documentCitations.push({ ...citation, text_start: start });
    }
  }

  addBlock(block: JsonValue): void {
    const isFull = this.#blocks.length >= maxBlocks;
    if (isJsonObject(block) && !isFull && !isEmpty(block)) this.#blocks.push(block);
  }

  events(): readonly ContentEvent[] {
    return [
      ...providerEvents('citations', this.#documentCitations),
      ...providerEvents('blocks', this.#blocks),
    ];
  }
}

function isEmpty(block: JsonObject): boolean {
  for (const name in block) if (Object.hasOwn(block, name)) return false;
  return true;
}

function readCitation(citation: JsonValue | undefined): Citation | undefined {
  const url = stringOrEmpty(member(citation, 'url'));
  if (url === '') return undefined;
  const title = stringOrEmpty(member(citation, 'title'));
  return { url, title: title === '' ? undefined : title, start: undefined, end: undefined };
}

function providerEvents(name: string, value: readonly JsonObject[]): readonly ContentEvent[] {
  return value.length === 0
    ? []
    : [{ type: 'provider_specific', choice, provider: 'anthropic', name, value }];
}
