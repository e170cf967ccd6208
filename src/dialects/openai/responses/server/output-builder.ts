/**
 * Builds the output items of a reply from its events. Whole replies and streams share it, so that a
 * stream and its final response object can't differ from a whole reply.
 *
 * One block of reasoning or one signature of the upstream is one reasoning item, in the model's
 * order:
 *
 * - A `reasoning` event with a signature ends the item of the texts before it. Encrypted reasoning
 *   is an item of its own.
 * - The signature of a call completes the item of the reasoning right before it, or else is an item
 *   of its own directly before the call.
 * - The signature of a text is an item after the message, and ends the message.
 * - Other events end the item without a signature.
 */
import { parseBounded } from '../../../../bounded-json.ts';
import { portableCallId } from '../../../../canonical/call-ids.ts';
import { isAudio } from '../../../../canonical/media.ts';
import type { ProviderData } from '../../../../canonical/provider-data.ts';
import { quoted, quotedLine } from '../../../../canonical/raw-json.ts';
import {
  callEnvelope,
  reasoningEnvelope,
  textEnvelope,
} from '../../../../canonical/reasoning-envelopes.ts';
import {
  blockedMessage,
  type ChoiceEvent,
  type Citation,
  type EventOf,
  type TokenLogprob,
  type ToolCallBegin,
} from '../../../../canonical/reply.ts';
import { isJsonObject } from '../../../../json.ts';
import { CallOrder } from '../../../call-order.ts';
import type { OutputItem } from '../../../codec.ts';
import { type FinishState, finishOutput, type IncompleteReason } from './finish.ts';
import { openCall } from './item-call.ts';
import { openRefusal, openText } from './item-message.ts';
import { addItem, endItem, type ItemPlace } from './item-place.ts';
import { openReasoning } from './item-reasoning.ts';
import {
  addAnswer,
  addCall,
  addSealed,
  closeOpen,
  endReasoning,
  nextPlace,
  type OutputState,
  type ReasoningItem,
  type TextItem,
} from './open-item.ts';

export interface OutputBuilder {
  add(event: ChoiceEvent): void;
  block(event: EventOf<'blocked'>): void;
  /** Ends all items. Returns why the reply is incomplete; undefined if it is complete. */
  end(): IncompleteReason | undefined;
  /** The items that are whole. */
  items(): readonly OutputItem[];
  /** The output of a reply that breaks off now: the whole items, and what an open message has. */
  broken(): readonly string[];
  dropped(): readonly string[];
}

interface BuilderState extends FinishState {
  /** The length of all visible text, which the offsets of citations refer to. */
  textLength: number;
  /** Logprobs and sources that came before the text they belong to. */
  tokens: TokenLogprob[];
  citations: Citation[];
}

export function outputBuilder({
  context,
  needsReasoningBack,
  log,
  newId,
}: Pick<OutputState, 'context' | 'needsReasoningBack' | 'log' | 'newId'>): OutputBuilder {
  const state: BuilderState = {
    context,
    needsReasoningBack,
    log,
    newId,
    items: [],
    announced: 0,
    open: undefined,
    hasAnswer: false,
    hasCutCall: false,
    finish: undefined,
    hasRefusal: false,
    textLength: 0,
    tokens: [],
    citations: [],
    dropped: new Set(),
  };
  const order = new CallOrder((event) => addEvent(state, event));
  return {
    // The gateway requests one candidate for these callers.
    add: (event) => {
      if (event.choice === 0) order.add(event);
    },
    block: (event) => addRefusal(state, blockedMessage(event)),
    end: () => {
      order.end();
      if (state.tokens.length > 0) state.dropped.add('logprobs');
      if (state.citations.length > 0) state.dropped.add('annotations');
      return finishOutput(state, (text) => addRefusal(state, text));
    },
    items: () => state.items,
    broken: () => brokenOutput(state),
    dropped: () => [...state.dropped],
  };
}

function addEvent(state: BuilderState, event: ChoiceEvent): void {
  switch (event.type) {
    case 'text':
      return addText(state, event);
    case 'reasoning':
      return addReasoning(state, event);
    case 'refusal':
      return addRefusal(state, event.text);
    case 'tool_begin':
      return beginCall(state, event);
    case 'tool_arguments':
      return addArguments(state, event);
    case 'tool_end':
      return endCall(state);
    case 'media':
      return addMedia(state, event);
    case 'media_url':
      // The item of an image has its data, not a URL.
      state.dropped.add('images');
      return;
    case 'logprobs':
      return addLogprobs(state, event.tokens);
    case 'citations':
      return addCitations(state, event.citations);
    case 'provider_specific':
      state.dropped.add(event.name);
      return;
    case 'finish':
      state.finish = event;
  }
}

function addText(state: BuilderState, { text, providerData }: EventOf<'text'>): void {
  if (text !== '') {
    state.textLength += text.length;
    textItem(state, text.length).message.add(text);
  }
  if (providerData !== undefined) addTextSignature(state, providerData);
}

/** The open message of visible text. Text after its signature begins a new one. */
function textItem(state: BuilderState, length: number): TextItem {
  const { open } = state;
  if (open?.kind === 'text' && open.signature === undefined) return open;
  closeOpen(state);
  const place = nextPlace(state, 'msg_tg_');
  const start = state.textLength - length;
  const item: TextItem = {
    kind: 'text',
    id: place.id,
    message: openText(place),
    start,
    signature: undefined,
  };
  state.open = item;
  const { tokens, citations } = state;
  state.tokens = [];
  state.citations = [];
  if (tokens.length > 0) item.message.addTokens(tokens);
  for (const citation of citations) cite(state, item, citation);
  return item;
}

function addTextSignature(state: BuilderState, signature: ProviderData): void {
  const { open } = state;
  if (open?.kind === 'text' && open.signature === undefined) {
    open.signature = signature;
    return;
  }
  closeOpen(state);
  addSealed(state, textEnvelope(signature));
}

function addRefusal(state: BuilderState, text: string): void {
  if (text === '') return;
  state.hasRefusal = true;
  if (state.open?.kind !== 'refusal') {
    closeOpen(state);
    const place = nextPlace(state, 'msg_tg_');
    state.open = { kind: 'refusal', id: place.id, message: openRefusal(place) };
  }
  state.open.message.add(text);
}

function addReasoning(state: BuilderState, { text, providerData }: EventOf<'reasoning'>): void {
  if (text !== '') {
    const reasoning = reasoningItem(state);
    reasoning.text += text;
    reasoning.item?.add(text);
  }
  if (providerData === undefined) return;
  if (providerData.kind === 'encrypted') {
    closeOpen(state);
    return addSealed(state, reasoningEnvelope('', providerData));
  }
  const signed = reasoningItem(state);
  sealReasoning(state, signed, reasoningEnvelope(signed.text, providerData));
}

function reasoningItem(state: BuilderState): ReasoningItem {
  if (state.open?.kind === 'reasoning') return state.open;
  closeOpen(state);
  const place = state.context.wantsSummary ? nextPlace(state, 'rs_tg_') : undefined;
  const item = place === undefined ? undefined : openReasoning(place);
  const reasoning: ReasoningItem = { kind: 'reasoning', place, item, text: '' };
  state.open = reasoning;
  return reasoning;
}

function sealReasoning(state: BuilderState, open: ReasoningItem, envelope: string): void {
  state.open = undefined;
  endReasoning(state, open, { envelope, status: 'completed' });
}

function beginCall(state: BuilderState, event: ToolCallBegin): void {
  const begin = { ...event, id: portableCallId(event.id) };
  addCallSignature(state, begin);
  closeOpen(state);
  const { id: callId, name: flatName, call: number, arguments: text } = begin;
  const tool = state.context.tools.find(flatName);
  const head = { callId, name: tool?.name ?? flatName, namespace: tool?.namespace };
  if (tool?.kind === 'custom') {
    state.open = { kind: 'custom_call', number, begin, head, text };
    return;
  }
  const place = nextPlace(state, 'fc_tg_');
  const call = openCall(place, head);
  call.add(text);
  state.open = { kind: 'call', number, id: place.id, call, text };
}

/** A call's signature completes the reasoning right before it, or becomes a separate item. */
function addCallSignature(state: BuilderState, begin: ToolCallBegin): void {
  const { open, needsReasoningBack } = state;
  const reasoning = open?.kind === 'reasoning' ? open : undefined;
  const text = needsReasoningBack ? reasoning?.text : undefined;
  const envelope = callEnvelope(begin, text);
  if (envelope === undefined) return;
  if (reasoning !== undefined) return sealReasoning(state, reasoning, envelope);
  closeOpen(state);
  addSealed(state, envelope);
}

function addArguments({ open }: BuilderState, { call, text }: EventOf<'tool_arguments'>): void {
  if (open?.kind !== 'call' && open?.kind !== 'custom_call') return;
  if (open.number !== call) return;
  open.text += text;
  if (open.kind === 'call') open.call.add(text);
}

/**
 * Clients run a call as soon as it is whole. Any text but a JSON object may have been cut, which
 * shows in what follows.
 */
function endCall(state: BuilderState): void {
  const { open } = state;
  if (open?.kind !== 'call' && open?.kind !== 'custom_call') return;
  if (!isJsonObject(parseBounded(open.text))) return;
  state.open = undefined;
  addCall(state, open);
}

function addMedia(state: BuilderState, image: EventOf<'media'>): void {
  const { mimeType, providerData } = image;
  if (!mimeType.startsWith('image/')) {
    state.dropped.add(isAudio(mimeType) ? 'audio' : 'images');
    return;
  }
  closeOpen(state);
  const place = nextPlace(state, 'ig_tg_');
  addAnswer(state, place.id, writeImage(place, image));
  if (providerData !== undefined) addSealed(state, textEnvelope(providerData));
}

function addLogprobs(state: BuilderState, tokens: readonly TokenLogprob[]): void {
  const { open, context } = state;
  if (!context.wantsLogprobs) return;
  if (open?.kind === 'text') open.message.addTokens(tokens);
  else state.tokens.push(...tokens);
}

function addCitations(state: BuilderState, citations: readonly Citation[]): void {
  const { open } = state;
  for (const citation of citations) {
    if (open?.kind === 'text') cite(state, open, citation);
    else state.citations.push(citation);
  }
}

/** A message that has ended can get no more sources. */
function cite(state: BuilderState, { message, start: begins }: TextItem, citation: Citation): void {
  const { start, end } = citation;
  if (end !== undefined && end <= begins && begins > 0) {
    state.dropped.add('annotations');
    return;
  }
  if (start !== undefined && start < begins) state.dropped.add('annotations.start_index');
  const inText = (offset: number | undefined): number | undefined =>
    offset === undefined ? undefined : Math.max(0, offset - begins);
  message.cite({ ...citation, start: inText(start), end: inText(end) });
}

function brokenOutput({ items, open }: BuilderState): readonly string[] {
  const whole = items.map(({ json }) => json);
  const isMessage = open?.kind === 'text' || open?.kind === 'refusal';
  return isMessage ? [...whole, open.message.unfinished()] : whole;
}

interface GeneratedImage {
  /** `image/` and the name of a format. */
  readonly mimeType: string;
  /** Base64. */
  readonly data: string;
}

/** Writes an image that the model generated, as the item of OpenAI's own image tool. */
function writeImage(place: ItemPlace, { mimeType, data }: GeneratedImage): string {
  const { id, index, log } = place;
  const format = quotedLine(mimeType.slice('image/'.length));
  addItem(place, imageText(place, '"status":"in_progress","result":null'));
  log.add(
    'response.image_generation_call.completed',
    `"item_id":${quoted(id)},"output_index":${index}`,
  );
  const members = `"status":"completed","output_format":${format},"result":${quotedLine(data)}`;
  return endItem(place, imageText(place, members));
}

function imageText({ id }: ItemPlace, members: string): string {
  return `{"id":${quoted(id)},"type":"image_generation_call",${members}}`;
}
