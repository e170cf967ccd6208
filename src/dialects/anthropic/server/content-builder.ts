/**
 * Builds the content of a message from the events of a reply. Whole replies and streams share it,
 * so that a stream can't differ from a whole reply.
 */
import {
  argumentsObject,
  type FirstObject,
  firstObject,
  withoutPlaceholders,
} from '../../../canonical/arguments.ts';
import { portableCallId } from '../../../canonical/call-ids.ts';
import { isAudio } from '../../../canonical/media.ts';
import {
  blockedMessage,
  type ChoiceEvent,
  type EventOf,
  mayCutCall,
  type ToolCallBegin,
} from '../../../canonical/reply.ts';
import { callOrder } from '../../call-order.ts';
import type { BlockSink } from './block-sink.ts';
import type { ReplyContext } from './exchange.ts';
import { type Finish, finishOf } from './finish.ts';
import { type ThinkingWriter, thinkingWriter } from './thinking-writer.ts';

export interface ContentBuilder {
  add(event: ChoiceEvent): void;
  /** Records that the prompt was blocked instead of answered. */
  block(event: EventOf<'blocked'>): void;
  /** Ends all blocks. Returns why the reply stopped. Called once. */
  end(): Finish;
  isUnusable(): boolean;
  dropped(): readonly string[];
}

export interface ContentOptions extends ReplyContext {
  readonly sink: BlockSink;
  readonly needsReasoningBack: boolean;
}

/** A call whose block may not have begun: one without arguments may have been cut off. */
interface OpenCall {
  readonly begin: ToolCallBegin;
  text: string;
  readonly isEager: boolean;
  /** The object whose pieces are passed on as they come; undefined while they are held. */
  streamed: FirstObject | undefined;
}

interface ContentState {
  readonly sink: BlockSink;
  readonly thinking: ThinkingWriter;
  readonly eagerTools: ReadonlySet<string>;
  openText: 'text' | 'refusal' | undefined;
  openCall: OpenCall | undefined;
  /** There is a block that answers, which thinking does not. */
  hasAnswer: boolean;
  hasCall: boolean;
  hasMedia: boolean;
  refusal: string;
  finish: EventOf<'finish'> | undefined;
  blocked: string | undefined;
  readonly dropped: Set<string>;
}

export function contentBuilder(options: ContentOptions): ContentBuilder {
  const state: ContentState = {
    sink: options.sink,
    thinking: thinkingWriter(options),
    eagerTools: options.eagerTools,
    openText: undefined,
    openCall: undefined,
    hasAnswer: false,
    hasCall: false,
    hasMedia: false,
    refusal: '',
    finish: undefined,
    blocked: undefined,
    dropped: new Set(),
  };
  const order = callOrder((event) => addEvent(state, event));
  return {
    // The gateway requests one candidate for these callers.
    add: (event) => {
      if (event.choice === 0) order.add(event);
    },
    block: (event) => {
      state.blocked = blockedMessage(event);
    },
    end: () => {
      order.end();
      endBlocks(state);
      return finishOf(state);
    },
    isUnusable: () => {
      const hasCall = state.openCall !== undefined && !isLeftOut(state);
      return state.hasMedia && !state.hasAnswer && !hasCall;
    },
    dropped: () => [...state.dropped],
  };
}

function addEvent(state: ContentState, event: ChoiceEvent): void {
  switch (event.type) {
    case 'text':
      return addText(state, event);
    case 'reasoning':
      return addReasoning(state, event);
    case 'refusal':
      state.refusal += event.text;
      return addVisibleText(state, event);
    case 'tool_begin':
      return beginCall(state, event);
    case 'tool_arguments':
      return addArguments(state, event.text);
    case 'tool_end':
      return endCall(state);
    case 'media':
    case 'media_url':
      return leaveOutMedia(state, event);
    case 'logprobs':
    case 'citations':
      // Anthropic's citation of a web page contains data that only Anthropic can make.
      state.dropped.add(event.type);
      return;
    case 'provider_specific':
      state.dropped.add(event.name);
      return;
    case 'finish':
      state.finish = event;
  }
}

function addText(state: ContentState, event: EventOf<'text'>): void {
  addVisibleText(state, event);
  const { providerData } = event;
  if (providerData === undefined) return;
  closeCall(state);
  const { thinking, hasCall } = state;
  if (thinking.isHidden && !hasCall) return thinking.holdText(providerData);
  closeBlock(state);
  thinking.signText(providerData);
}

function addVisibleText(state: ContentState, { type, text }: EventOf<'text' | 'refusal'>): void {
  if (text === '') return;
  if (state.openText !== type) {
    closeBlock(state);
    state.sink.begin({ type: 'text' });
    state.openText = type;
    state.hasAnswer = true;
  }
  state.thinking.dropHeldText();
  state.sink.add(text);
}

function addReasoning(state: ContentState, event: EventOf<'reasoning'>): void {
  if (event.text === '' && event.providerData === undefined) return;
  closeCall(state);
  if (!state.thinking.isHidden) closeText(state);
  state.thinking.add(event);
}

function beginCall(state: ContentState, event: ToolCallBegin): void {
  closeBlock(state);
  const begin = { ...event, id: portableCallId(event.id), arguments: '' };
  const isEager = state.eagerTools.has(event.name);
  state.openCall = { begin, text: '', isEager, streamed: undefined };
  addArguments(state, event.arguments);
}

/**
 * Arguments are held until the call ends, because only then it is certain that they are an object,
 * and nothing that was sent can be taken back. Pieces for an eager tool are passed on verbatim,
 * unless they are of an empty object, because the real one may follow, or of another value.
 */
function addArguments(state: ContentState, piece: string): void {
  const call = state.openCall;
  if (call === undefined || piece === '') return;
  if (call.streamed !== undefined) return passOn(state, call, call.streamed.take(piece), piece);
  call.text += piece;
  if (!call.isEager) return;
  call.text = withoutPlaceholders(call.text);
  if (!objectWithMembers.test(call.text)) return;
  announce(state, call);
  call.streamed = firstObject();
  const { text } = call;
  call.text = '';
  passOn(state, call, call.streamed.take(text), text);
}

/** An object that is not empty, or white space too long to be searched for one. */
const objectWithMembers = /^\s*\{(?:\s{64}|\s*[^\s}])/;

/** What follows is left out: clients couldn't parse both, and some upstreams repeat it. */
function passOn(state: ContentState, call: OpenCall, inside: string, piece: string): void {
  call.text += inside;
  if (inside !== '') state.sink.add(inside);
  if (piece.slice(inside.length).trim() !== '') state.dropped.add('tool_use.input');
}

/** Begins the block of a call, after the reasoning and the signature that belong to it. */
function announce(state: ContentState, { begin }: OpenCall): void {
  state.hasCall = true;
  state.hasAnswer = true;
  state.thinking.release();
  state.thinking.signCall(begin);
  state.sink.begin({ type: 'tool_use', id: begin.id, name: begin.name });
}

/** A call without arguments stays open until what follows shows that it was not cut off. */
function endCall(state: ContentState): void {
  if (state.openCall?.text.trim() !== '') closeCall(state);
}

function closeCall(state: ContentState): void {
  const call = state.openCall;
  if (call === undefined) return;
  state.openCall = undefined;
  if (call.streamed === undefined) writeHeld(state, call);
  else if (argumentsObject(call.text).isWrapped) state.dropped.add('tool_use.input');
  state.sink.end();
}

/** Writes the first object that isn't empty, else all the text. */
function writeHeld(state: ContentState, call: OpenCall): void {
  announce(state, call);
  // The block begins with an empty object, which needs no delta.
  if (call.text.trim() === '') return;
  const text = withoutPlaceholders(call.text);
  const beginning = objectWithMembers.test(text) ? firstObject().take(text) : text;
  const first = argumentsObject(beginning);
  const { json, isWrapped } = first.isWrapped ? argumentsObject(text) : first;
  if (isWrapped || text.slice(beginning.length).trim() !== '') state.dropped.add('tool_use.input');
  state.sink.add(json);
}

function closeText(state: ContentState): void {
  if (state.openText === undefined) return;
  state.openText = undefined;
  state.sink.end();
}

function closeBlock(state: ContentState): void {
  closeCall(state);
  closeText(state);
  state.thinking.close();
}

function leaveOutMedia(state: ContentState, event: EventOf<'media' | 'media_url'>): void {
  closeCall(state);
  state.hasMedia = true;
  const isClip = event.type === 'media' && isAudio(event.mimeType);
  state.dropped.add(isClip ? 'content.audio' : 'content.image');
}

function endBlocks(state: ContentState): void {
  const { finish, dropped } = state;
  if (isLeftOut(state)) {
    state.openCall = undefined;
    dropped.add('tool_use');
  }
  closeBlock(state);
  if (state.hasCall) state.thinking.release();
  if (finish?.message !== undefined && finish.reason !== 'content_filter') {
    dropped.add('finish_message');
  }
}

/** In a reply that was cut off, clients would run a last call with an empty input. */
function isLeftOut({ openCall, finish }: ContentState): boolean {
  return openCall?.text.trim() === '' && mayCutCall(finish?.reason);
}
