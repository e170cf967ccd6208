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
import { CallOrder } from '../../call-order.ts';
import type { BlockSink } from './block-sink.ts';
import type { ReplyContext } from './exchange.ts';
import { type Finish, finishOf } from './finish.ts';
import { type ThinkingOptions, ThinkingWriter } from './thinking-writer.ts';

/** A call whose block may not have begun: one without arguments may have been cut off. */
interface OpenCall {
  readonly begin: ToolCallBegin;
  text: string;
  readonly isEager: boolean;
  /** The object whose pieces are passed on as they come; undefined while they are held. */
  streamed: FirstObject | undefined;
}

export class ContentBuilder {
  readonly #sink: BlockSink;
  readonly #thinking: ThinkingWriter;
  readonly #eagerTools: ReadonlySet<string>;
  readonly #order = new CallOrder((event) => this.#addEvent(event));
  readonly #dropped = new Set<string>();
  #openText: 'text' | 'refusal' | undefined;
  #openCall: OpenCall | undefined;
  /** There is a block that answers, which thinking does not. */
  #hasAnswer = false;
  #hasCall = false;
  #hasMedia = false;
  #refusal = '';
  #finish: EventOf<'finish'> | undefined;
  #blocked: string | undefined;

  constructor(options: ThinkingOptions & Pick<ReplyContext, 'eagerTools'>) {
    this.#sink = options.sink;
    this.#thinking = new ThinkingWriter(options);
    this.#eagerTools = options.eagerTools;
  }

  add(event: ChoiceEvent): void {
    // The gateway requests one candidate for these callers.
    if (event.choice === 0) this.#order.add(event);
  }

  /** Records that the prompt was blocked instead of answered. */
  block(event: EventOf<'blocked'>): void {
    this.#blocked = blockedMessage(event);
  }

  /** Ends all blocks. Returns why the reply stopped. Called once. */
  end(): Finish {
    this.#order.end();
    this.#endBlocks();
    const state = { hasCall: this.#hasCall, refusal: this.#refusal, blocked: this.#blocked };
    return finishOf({ ...state, finish: this.#finish });
  }

  isUnusable(): boolean {
    const hasCall = this.#openCall !== undefined && !this.#isLeftOut();
    return this.#hasMedia && !this.#hasAnswer && !hasCall;
  }

  dropped(): readonly string[] {
    return [...this.#dropped];
  }

  #addEvent(event: ChoiceEvent): void {
    switch (event.type) {
      case 'text':
        return this.#addText(event);
      case 'reasoning':
        return this.#addReasoning(event);
      case 'refusal':
        this.#refusal += event.text;
        return this.#addVisibleText(event);
      case 'tool_begin':
        return this.#beginCall(event);
      case 'tool_arguments':
        return this.#addArguments(event.text);
      case 'tool_end':
        return this.#endCall();
      case 'media':
      case 'media_url':
        return this.#leaveOutMedia(event);
      case 'logprobs':
      case 'citations':
        // Anthropic's citation of a web page contains data that only Anthropic can make.
        this.#dropped.add(event.type);
        return;
      case 'provider_specific':
        this.#dropped.add(event.name);
        return;
      case 'finish':
        this.#finish = event;
    }
  }

  #addText(event: EventOf<'text'>): void {
    this.#addVisibleText(event);
    const { providerData } = event;
    if (providerData === undefined) return;
    this.#closeCall();
    if (this.#thinking.isHidden && !this.#hasCall) return this.#thinking.holdText(providerData);
    this.#closeBlock();
    this.#thinking.signText(providerData);
  }

  #addVisibleText({ type, text }: EventOf<'text' | 'refusal'>): void {
    if (text === '') return;
    if (this.#openText !== type) {
      this.#closeBlock();
      this.#sink.begin({ type: 'text' });
      this.#openText = type;
      this.#hasAnswer = true;
    }
    this.#thinking.dropHeldText();
    this.#sink.add(text);
  }

  #addReasoning(event: EventOf<'reasoning'>): void {
    if (event.text === '' && event.providerData === undefined) return;
    this.#closeCall();
    if (!this.#thinking.isHidden) this.#closeText();
    this.#thinking.add(event);
  }

  #beginCall(event: ToolCallBegin): void {
    this.#closeBlock();
    const begin = { ...event, id: portableCallId(event.id), arguments: '' };
    const isEager = this.#eagerTools.has(event.name);
    this.#openCall = { begin, text: '', isEager, streamed: undefined };
    this.#addArguments(event.arguments);
  }

  /**
   * Arguments are held until the call ends, because only then it is certain that they are an
   * object, and nothing that was sent can be taken back. Pieces for an eager tool are passed on
   * verbatim, unless they are of an empty object, because the real one may follow, or of another
   * value.
   */
  #addArguments(piece: string): void {
    const call = this.#openCall;
    if (call === undefined || piece === '') return;
    if (call.streamed !== undefined) return this.#passOn(call, call.streamed(piece), piece);
    call.text += piece;
    if (!call.isEager) return;
    call.text = withoutPlaceholders(call.text);
    if (!objectWithMembers.test(call.text)) return;
    this.#announce(call);
    call.streamed = firstObject();
    const { text } = call;
    call.text = '';
    this.#passOn(call, call.streamed(text), text);
  }

  /** What follows is left out: clients couldn't parse both, and some upstreams repeat it. */
  #passOn(call: OpenCall, inside: string, piece: string): void {
    call.text += inside;
    if (inside !== '') this.#sink.add(inside);
    if (piece.slice(inside.length).trim() !== '') this.#dropped.add('tool_use.input');
  }

  /** Begins the block of a call, after the reasoning and the signature that belong to it. */
  #announce({ begin }: OpenCall): void {
    this.#hasCall = true;
    this.#hasAnswer = true;
    this.#thinking.release();
    this.#thinking.signCall(begin);
    this.#sink.begin({ type: 'tool_use', id: begin.id, name: begin.name });
  }

  /** A call without arguments stays open until what follows shows that it was not cut off. */
  #endCall(): void {
    if (this.#openCall?.text.trim() !== '') this.#closeCall();
  }

  #closeCall(): void {
    const call = this.#openCall;
    if (call === undefined) return;
    this.#openCall = undefined;
    if (call.streamed === undefined) this.#writeHeld(call);
    else if (argumentsObject(call.text).isWrapped) this.#dropped.add('tool_use.input');
    this.#sink.end();
  }

  /** Writes the first object that isn't empty, else all the text. */
  #writeHeld(call: OpenCall): void {
    this.#announce(call);
    // The block begins with an empty object, which needs no delta.
    if (call.text.trim() === '') return;
    const text = withoutPlaceholders(call.text);
    const beginning = objectWithMembers.test(text) ? firstObject()(text) : text;
    const first = argumentsObject(beginning);
    const { json, isWrapped } = first.isWrapped ? argumentsObject(text) : first;
    if (isWrapped || text.slice(beginning.length).trim() !== '')
      this.#dropped.add('tool_use.input');
    this.#sink.add(json);
  }

  #closeText(): void {
    if (this.#openText === undefined) return;
    this.#openText = undefined;
    this.#sink.end();
  }

  #closeBlock(): void {
    this.#closeCall();
    this.#closeText();
    this.#thinking.close();
  }

  #leaveOutMedia(event: EventOf<'media' | 'media_url'>): void {
    this.#closeCall();
    this.#hasMedia = true;
    const isClip = event.type === 'media' && isAudio(event.mimeType);
    this.#dropped.add(isClip ? 'content.audio' : 'content.image');
  }

  #endBlocks(): void {
    if (this.#isLeftOut()) {
      this.#openCall = undefined;
      this.#dropped.add('tool_use');
    }
    this.#closeBlock();
    if (this.#hasCall) this.#thinking.release();
    if (this.#finish?.message !== undefined && this.#finish.reason !== 'content_filter') {
      this.#dropped.add('finish_message');
    }
  }

  /** In a reply that was cut off, clients would run a last call with an empty input. */
  #isLeftOut(): boolean {
    return this.#openCall?.text.trim() === '' && mayCutCall(this.#finish?.reason);
  }
}

/** An object that is not empty, or white space too long to be searched for one. */
const objectWithMembers = /^\s*\{(?:\s{64}|\s*[^\s}])/;
