/** The output items of one reply: at most one of them is open, and the others are whole. */
import { isCutJson } from '../../../../canonical/cut-json.ts';
import type { ProviderData } from '../../../../canonical/provider-data.ts';
import { textEnvelope, unsignedEnvelope } from '../../../../canonical/reasoning-envelopes.ts';
import type { ToolCallBegin } from '../../../../canonical/reply.ts';
import type { OutputItem } from '../../../codec.ts';
import type { EventLog } from './event-log.ts';
import type { ReplyContext } from './exchange.ts';
import { type CallHead, type OpenCall, writeCustomCall } from './item-call.ts';
import type { IdPrefix } from './item-ids.ts';
import type { OpenMessage, OpenText } from './item-message.ts';
import type { ItemPlace, ItemStatus } from './item-place.ts';
import { type OpenReasoning, openReasoning } from './item-reasoning.ts';

export interface OutputState {
  readonly context: ReplyContext;
  /** Reasoning without a signature must be sent back with the next request. */
  readonly needsReasoningBack: boolean;
  readonly log: EventLog;
  readonly newId: (prefix: IdPrefix) => string;
  readonly items: OutputItem[];
  announced: number;
  open:
    | TextItem
    | { readonly kind: 'refusal'; readonly id: string; readonly message: OpenMessage }
    | ReasoningItem
    | CallItem
    | CustomCallItem
    | undefined;
  /** There is output besides reasoning, which alone is not an answer. */
  hasAnswer: boolean;
  /** A call was announced that is not in the output, because its arguments were cut. */
  hasCutCall: boolean;
  readonly dropped: Set<string>;
}

export interface TextItem {
  readonly kind: 'text';
  readonly id: string;
  readonly message: OpenText;
  /** Where it begins in the visible text of the reply. */
  readonly start: number;
  /** Written as a separate item after the message, because late citations may still change that. */
  signature: ProviderData | undefined;
}

/** Reasoning whose signature may still come. */
export interface ReasoningItem {
  readonly kind: 'reasoning';
  readonly place: ItemPlace | undefined;
  /** Undefined if the caller sees no summary: then the item is announced only if it is sealed. */
  readonly item: OpenReasoning | undefined;
  text: string;
}

export interface CallItem {
  readonly kind: 'call';
  readonly number: number;
  readonly id: string;
  readonly call: OpenCall;
  text: string;
}

/** A call of a custom tool, which is announced when it is whole. */
export interface CustomCallItem {
  readonly kind: 'custom_call';
  readonly number: number;
  readonly begin: ToolCallBegin;
  readonly head: CallHead;
  text: string;
}

export function nextPlace(state: OutputState, prefix: IdPrefix): ItemPlace {
  const index = state.announced;
  state.announced += 1;
  return { id: state.newId(prefix), index, log: state.log };
}

export function closeOpen(state: OutputState, status: ItemStatus = 'completed'): void {
  const { open } = state;
  state.open = undefined;
  switch (open?.kind) {
    case undefined:
      return;
    case 'reasoning':
      return closeUnsigned(state, open, status);
    case 'text':
      addAnswer(state, open.id, open.message.end(status));
      if (open.signature !== undefined) addSealed(state, textEnvelope(open.signature));
      return;
    case 'refusal':
      return addAnswer(state, open.id, open.message.end(status));
    case 'call':
    case 'custom_call':
      return isCutJson(open.text) ? leaveOutCall(state, open) : addCall(state, open);
  }
}

/** Ends a call that is whole. */
export function addCall(state: OutputState, call: CallItem | CustomCallItem): void {
  if (call.kind === 'call') return addAnswer(state, call.id, call.call.end());
  const place = nextPlace(state, 'ctc_tg_');
  addAnswer(state, place.id, writeCustomCall(place, call.head, call.text));
}

/**
 * A call that was cut gets no last event and is not in the output: the AI SDK runs what it gets
 * there, whatever its status.
 */
export function leaveOutCall(state: OutputState, { kind }: CallItem | CustomCallItem): void {
  if (kind === 'call') state.hasCutCall = true;
  state.dropped.add(kind === 'call' ? 'function_call.arguments' : 'custom_tool_call.input');
}

export function addAnswer(state: OutputState, id: string, json: string): void {
  state.hasAnswer = true;
  state.items.push({ id, json });
}

/** Adds a reasoning item that has only an envelope. */
export function addSealed(state: OutputState, envelope: string | undefined): void {
  endReasoning(state, { place: undefined, item: undefined }, { envelope, status: 'completed' });
}

/** Ends a reasoning item, which is announced now if it wasn't before. */
export function endReasoning(
  state: OutputState,
  { place: announced, item: begun }: Pick<ReasoningItem, 'place' | 'item'>,
  ending: { readonly envelope: string | undefined; readonly status: ItemStatus },
): void {
  const place = announced ?? nextPlace(state, 'rs_tg_');
  const item = begun ?? openReasoning(place);
  state.items.push({ id: place.id, json: item.end(ending) });
}

/** Reasoning that is neither shown nor needed in the next request leaves no item. */
function closeUnsigned(state: OutputState, open: ReasoningItem, status: ItemStatus): void {
  const envelope = state.needsReasoningBack ? unsignedEnvelope(open.text) : undefined;
  if (open.item === undefined && envelope === undefined) return;
  endReasoning(state, open, { envelope, status });
}
