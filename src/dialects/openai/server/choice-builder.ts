/**
 * Builds one choice of a chat reply from its events. Whole replies and streams share it, so that a
 * stream can't differ from a whole reply.
 */
import { dataUrl, isAudio } from '../../../canonical/media.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import {
  blockedMessage,
  type ChoiceEvent,
  type Citation,
  type EventOf,
  filterMessage,
  mayCutCall,
  type ToolCallBegin,
} from '../../../canonical/reply.ts';
import { writtenDetail } from '../reasoning-details.ts';
import type { ChoiceSink, Piece } from './choice-sink.ts';
import { logprobPieces } from './logprobs.ts';

export class ChoiceBuilder {
  readonly index: number;
  readonly #sink: ChoiceSink;
  /** The reasoning that no signature has closed yet: a signature vouches for the text before it. */
  #openReasoning = '';
  /** Held back until the end: OpenAI's client keeps only the last value of a repeated member. */
  readonly #details: Piece[] = [];
  readonly #emptyCalls = new Set<number>();
  #lastCall: number | undefined;
  #images = 0;
  #hasRefusal = false;
  #textSignatures = 0;
  #finish: EventOf<'finish'> | undefined;

  constructor(index: number, sink: ChoiceSink) {
    this.index = index;
    this.#sink = sink;
  }

  add(event: ChoiceEvent): void {
    switch (event.type) {
      case 'text':
        return this.#addText(event);
      case 'reasoning':
        return this.#addReasoning(event);
      case 'refusal':
        return this.#refuse(event.text);
      case 'tool_begin':
        return this.#beginCall(event);
      case 'tool_arguments':
        return this.#addArguments(event.call, event.text);
      case 'tool_end':
        // Whether a call without arguments was cut shows only in the finish.
        return;
      case 'media':
        if (isAudio(event.mimeType)) return this.#sink.audio(event);
        return this.#addImage(dataUrl(event.mimeType, event.data), event.providerData);
      case 'media_url':
        return this.#addImage(event.url);
      case 'logprobs':
        return this.#sink.logprobs(logprobPieces(event.tokens));
      case 'citations':
        return this.#sink.list('annotations', event.citations.map(annotationPiece));
      case 'provider_specific':
        return this.#sink.extra(providerContent(event));
      case 'finish':
        // The finish is written at the end; only a filter's message is written immediately.
        this.#finish = event;
        if (!this.#hasRefusal) this.#refuse(filterMessage(event) ?? '');
    }
  }

  block(event: EventOf<'blocked'>): void {
    this.#finish = { type: 'finish', choice: this.index, reason: 'content_filter' };
    this.#refuse(blockedMessage(event));
  }

  /** Writes what was held back. Called once. */
  end(): void {
    if (this.#details.length > 0) this.#sink.list('reasoning_details', this.#details);
    for (const call of this.#emptyCalls) {
      // `{}`, which callers can parse, unless the call may have been cut off.
      const isCut = call === this.#lastCall && mayCutCall(this.#finish?.reason);
      if (!isCut) this.#sink.arguments(call, '{}');
    }
    this.#sink.end(this.#reason(), this.#finish?.native);
  }

  dropped(): readonly string[] {
    const { message, reason } = this.#finish ?? {};
    return [
      ...(message === undefined || reason === 'content_filter' ? [] : ['finish_message']),
      // The text is one string and can carry one signature only.
      ...(this.#textSignatures > 1 ? ['extra_content.google.thought_signature'] : []),
    ];
  }

  #addText({ text, providerData }: EventOf<'text'>): void {
    this.#openReasoning = '';
    const extra = signatureContent(providerData);
    if (extra !== undefined) this.#textSignatures += 1;
    if (text !== '' || extra !== undefined) this.#sink.text('content', text, extra);
  }

  #addReasoning({ text, providerData }: EventOf<'reasoning'>): void {
    this.#openReasoning += text;
    if (providerData !== undefined) {
      this.#details.push(writtenDetail(providerData, this.#openReasoning));
      this.#openReasoning = '';
    }
    if (text !== '') this.#sink.text('reasoning_content', text);
  }

  #refuse(text: string): void {
    this.#openReasoning = '';
    if (text === '') return;
    this.#hasRefusal = true;
    this.#sink.text('refusal', text);
  }

  #beginCall(event: ToolCallBegin): void {
    this.#openReasoning = '';
    this.#lastCall = event.call;
    if (event.arguments === '') this.#emptyCalls.add(event.call);
    this.#sink.call(event, signatureContent(event.providerData));
  }

  #addArguments(call: number, text: string): void {
    if (text === '') return;
    this.#emptyCalls.delete(call);
    this.#sink.arguments(call, text);
  }

  /** Writes an image in the form of OpenRouter and LiteLLM. */
  #addImage(url: string, providerData?: ProviderData): void {
    const index = this.#images;
    this.#images += 1;
    const extra_content = signatureContent(providerData);
    this.#sink.list('images', [{ type: 'image_url', image_url: { url }, index, extra_content }]);
  }

  /**
   * Callers run the tool calls only on `tool_calls`, which is used unless the reply was cut off or
   * filtered.
   */
  #reason(): string {
    const reason = this.#finish?.reason;
    if (reason === 'content_filter' || reason === 'length') return reason;
    return this.#lastCall === undefined ? 'stop' : 'tool_calls';
  }
}

/** Uses Google's form; another provider's signature is written only with its reasoning. */
function signatureContent(providerData: ProviderData | undefined): Piece | undefined {
  return providerData?.provider === 'gemini'
    ? { google: { thought_signature: providerData.data } }
    : undefined;
}

function providerContent({ provider, name, value }: EventOf<'provider_specific'>): Piece {
  const member = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { [provider === 'gemini' ? 'google' : provider]: { [member]: value } };
}

/** Writes a citation. The AI SDK rejects a reply in which one of these members is missing. */
function annotationPiece({ url, title, start, end }: Citation): Piece {
  return {
    type: 'url_citation',
    url_citation: { start_index: start ?? 0, end_index: end ?? 0, url, title: title ?? url },
  };
}
