/** Reads one choice of a reply, streamed or whole, by the same rules. */
import { parseBounded } from '../../../bounded-json.ts';
import { isCutJson } from '../../../canonical/cut-json.ts';
import { parseDataUrl, sniffMimeType } from '../../../canonical/media.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { Citation, ContentEvent, TextEvent, TokenLogprob } from '../../../canonical/reply.ts';
import {
  isJsonNumber,
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  stringOrEmpty,
} from '../../../json.ts';
import { argumentTexts, type CallContext, CallEvents } from './call-events.ts';
import { type Finish, finishOf, unusable } from './finish.ts';
import { signatureOf } from './signature.ts';
import { ToolSlots } from './tool-slots.ts';

export interface ReadContext extends CallContext {
  /** The vendor does not count reasoning as part of the completion. */
  readonly reasoningOutside: boolean;
  readonly stop: readonly string[];
}

export class ChoiceReader {
  readonly #choice: number;
  readonly #stop: readonly string[];
  readonly #messages: MessageReader;
  readonly #slots: ToolSlots;
  readonly #calls: CallEvents;
  #finishReason = '';
  /** What ended the text, as vLLM and SGLang say it: a text or the number of a token. */
  #stoppedBy: JsonValue | undefined;
  #hasOutput = false;
  #signature: ProviderData | undefined;

  constructor(choice: number, context: ReadContext) {
    this.#choice = choice;
    this.#stop = context.stop;
    this.#messages = new MessageReader(choice);
    this.#slots = new ToolSlots(context.names);
    this.#calls = new CallEvents(choice, this.#slots, context);
  }

  /** Reads one element of a chunk's `choices`. */
  piece(node: JsonValue): readonly ContentEvent[] {
    return this.#withCalls(this.heldPiece(node));
  }

  heldChars(): number {
    return this.#calls.heldChars();
  }

  finished(): boolean {
    return this.#finishReason !== '';
  }

  /** True if the upstream has sent neither a finish reason nor the whole of every tool call. */
  hasOpenCall(): boolean {
    return this.#finishReason === '' && argumentTexts(this.#slots, '').some(isOpen);
  }

  /** Does the same, but holds all calls back until the end. */
  heldPiece(node: JsonValue): readonly ContentEvent[] {
    const delta = member(node, 'delta');
    // Some servers reply to a streaming request with one whole message, or repeat the whole message
    // at the end.
    if (!isJsonObject(delta)) {
      return this.#hasOutput || !this.#slots.isEmpty() ? this.#read(node, null) : this.whole(node);
    }
    this.#slots.add(items(member(delta, 'tool_calls')));
    return this.#read(node, delta);
  }

  #withCalls(events: readonly ContentEvent[]): readonly ContentEvent[] {
    // Most pieces are text of a reply without calls.
    if (this.#slots.isEmpty()) return events;
    // Calls that were sent whole may run at once, also if the reply fails later.
    if (this.#slots.isUnclear()) {
      return [...events, { type: 'unusable', reason: 'upstream_unusable_output' }];
    }
    const ended = events.length > 0 ? this.#calls.endWhole() : [];
    return [...ended, ...events, ...this.#calls.next(this.#signature)];
  }

  whole(node: JsonValue): readonly ContentEvent[] {
    const message = member(node, 'message') ?? member(node, 'delta') ?? null;
    this.#slots.addWhole(items(member(message, 'tool_calls')));
    return this.#read(node, message);
  }

  #read(node: JsonValue, message: JsonValue): readonly ContentEvent[] {
    const events = this.#messages.read(message);
    this.#hasOutput ||= events.length > 0;
    this.#slots.addFunctionCall(member(message, 'function_call') ?? null);
    this.#signature = signatureOf(message) ?? this.#signature;
    const finishReason = stringOrEmpty(member(node, 'finish_reason'));
    if (finishReason !== '') {
      this.#finishReason = finishReason;
      this.#stoppedBy = member(node, 'stop_reason') ?? member(node, 'matched_stop');
    }
    const logprobs = logprobEvents(node, this.#choice);
    const citations = citationEvents(message, this.#choice);
    // Most pieces hold neither, and this code runs for each of them.
    if (logprobs.length === 0 && citations.length === 0) return events;
    return [...events, ...logprobs, ...citations];
  }

  /** Its events were held back until then: tool calls, and a signature that belongs to them. */
  end(): {
    readonly events: readonly ContentEvent[];
    readonly finish: Finish;
    readonly stopSequence: string | undefined;
  } {
    const texts = argumentTexts(this.#slots, this.#finishReason);
    const hasCalls = texts.length > 0;
    const finish = this.#slots.endsUnclear()
      ? unusable('upstream_unusable_output', true)
      : finishOf({
          finishReason: this.#finishReason,
          refusal: this.#messages.refusal(),
          hasCalls,
          hasCutCall: texts.some(this.#finishReason === '' ? isOpen : isCutJson),
          hasOutput: this.#hasOutput || hasCalls,
        });
    const stopSequence = this.#stop.find((text) => text === this.#stoppedBy);
    return { events: this.#calls.end(this.#signature, this.#finishReason), finish, stopSequence };
  }
}

/**
 * Without a finish reason, which some vendors leave out, only the last brace of the arguments ends
 * a call: more of any other text may have been to come.
 */
function isOpen(args: string): boolean {
  return !isJsonObject(parseBounded(args));
}

class MessageReader {
  readonly #choice: number;
  /** Reasoning has come as plain text: the texts of the details repeat it and are ignored. */
  #isPlain = false;
  #refusal = '';
  /** Detected from the first piece of audio, because later pieces have no header. */
  #audioType: string | undefined;

  constructor(choice: number) {
    this.#choice = choice;
  }

  read(message: JsonValue): readonly ContentEvent[] {
    const choice = this.#choice;
    const events: ContentEvent[] = [...this.#readReasoning(message)];
    addContent(events, member(message, 'content'), choice);
    const refused = stringOrEmpty(member(message, 'refusal'));
    if (refused !== '') events.push({ type: 'refusal', choice, text: refused });
    this.#refusal += refused;
    for (const image of items(member(message, 'images'))) {
      events.push(...imageEvents(image, choice));
    }
    const audio = member(message, 'audio');
    if (audio) {
      this.#audioType ??= audioTypeOf(audio);
      events.push(...audioEvents(audio, choice, this.#audioType ?? ''));
    }
    return events;
  }

  refusal(): string {
    return this.#refusal;
  }

  #readReasoning(message: JsonValue): readonly TextEvent<'reasoning'>[] {
    const plain =
      stringOrEmpty(member(message, 'reasoning_content')) ||
      stringOrEmpty(member(message, 'reasoning'));
    this.#isPlain ||= plain !== '';
    const details = items(member(message, 'reasoning_details'));
    if (plain === '' && details.length === 0) return [];
    const detailPieces = details.map((detail) => ({
      text: this.#isPlain ? '' : textOf(detail),
      providerData: providerDataOf(detail),
    }));
    return [{ text: plain, providerData: undefined }, ...detailPieces]
      .filter(({ text, providerData }) => text !== '' || providerData !== undefined)
      .map((piece) => ({ type: 'reasoning', choice: this.#choice, ...piece }));
  }
}

/** Mistral sends an array of parts: reasoning, text and images in their order. */
function addContent(events: ContentEvent[], content: JsonValue | undefined, choice: number): void {
  if (typeof content === 'string') {
    if (content !== '') events.push({ type: 'text', choice, text: content });
    return;
  }
  const others: JsonObject[] = [];
  for (const part of items(content)) {
    const reasoningText = thinkingText(member(part, 'thinking'));
    if (reasoningText !== '') events.push({ type: 'reasoning', choice, text: reasoningText });
    const text = stringOrEmpty(part) || stringOrEmpty(member(part, 'text'));
    if (text !== '') events.push({ type: 'text', choice, text });
    const images = imageEvents(part, choice);
    events.push(...images);
    if (isJsonObject(part) && reasoningText === '' && text === '' && images.length === 0) {
      others.push(part);
    }
  }
  if (others.length > 0) {
    events.push({
      type: 'provider_specific',
      choice,
      provider: 'openai',
      name: 'content',
      value: others,
    });
  }
}

function thinkingText(thinking: JsonValue | undefined): string {
  if (typeof thinking === 'string') return thinking;
  return items(thinking)
    .map((part) => stringOrEmpty(member(part, 'text')))
    .join('');
}

function textOf(detail: JsonValue): string {
  return stringOrEmpty(member(detail, 'text')) || stringOrEmpty(member(detail, 'summary'));
}

/** Anthropic's data can be sent to Anthropic; any other detail can only be sent back as it is. */
function providerDataOf(detail: JsonValue): ProviderData | undefined {
  const signature = stringOrEmpty(member(detail, 'signature'));
  const encrypted = stringOrEmpty(member(detail, 'data'));
  if (signature === '' && encrypted === '') return undefined;
  const kind = signature === '' ? 'encrypted' : 'signature';
  return stringOrEmpty(member(detail, 'format')).startsWith('anthropic')
    ? { provider: 'anthropic', kind, data: signature || encrypted }
    : { provider: 'openai', kind, data: jsonText(detail) };
}

/** Reads an image in the form of OpenRouter and similar vendors: its data or its URL. */
function imageEvents(image: JsonValue, choice: number): readonly ContentEvent[] {
  const holder = member(image, 'image_url');
  const url = stringOrEmpty(member(holder, 'url')) || stringOrEmpty(holder);
  if (/^https?:\/\//i.test(url)) return [{ type: 'media_url', choice, url }];
  const parsed = parseDataUrl(url);
  if (parsed === undefined || parsed.data === '') return [];
  return [{ type: 'media', choice, mimeType: parsed.mimeType ?? 'image/png', data: parsed.data }];
}

/** Raw samples without a header: OpenAI and Google send 24,000 per second. */
const rawPcm = 'audio/pcm;rate=24000';

/** Detects the media type of audio from its first bytes, because vendors do not state it. */
function audioTypeOf(audio: JsonValue): string | undefined {
  const data = stringOrEmpty(member(audio, 'data'));
  return data === '' ? undefined : (sniffMimeType(data) ?? rawPcm);
}

function audioEvents(audio: JsonValue, choice: number, mimeType: string): readonly ContentEvent[] {
  const text = stringOrEmpty(member(audio, 'transcript'));
  const data = stringOrEmpty(member(audio, 'data'));
  const transcriptEvents: readonly ContentEvent[] =
    text === '' ? [] : [{ type: 'text', choice, text }];
  return data === ''
    ? transcriptEvents
    : [...transcriptEvents, { type: 'media', choice, mimeType, data }];
}

/** The result for most pieces, shared because each allocation costs. */
const noEvents: readonly ContentEvent[] = Object.freeze([]);

function logprobEvents(node: JsonValue, choice: number): readonly ContentEvent[] {
  const content = items(member(member(node, 'logprobs'), 'content'));
  if (content.length === 0) return noEvents;
  const tokens = content.flatMap((entry) => {
    const [chosen] = tokensOf([entry]);
    if (chosen === undefined) return [];
    return [{ ...chosen, top: tokensOf(items(member(entry, 'top_logprobs'))) }];
  });
  return tokens.length === 0 ? noEvents : [{ type: 'logprobs', choice, tokens }];
}

function citationEvents(message: JsonValue, choice: number): readonly ContentEvent[] {
  const annotations = items(member(message, 'annotations'));
  if (annotations.length === 0) return noEvents;
  const citations = annotations.flatMap(citationOf);
  return citations.length === 0 ? noEvents : [{ type: 'citations', choice, citations }];
}

function tokensOf(entries: readonly JsonValue[]): readonly Omit<TokenLogprob, 'top'>[] {
  const tokens: Omit<TokenLogprob, 'top'>[] = [];
  for (const entry of entries) {
    const token = member(entry, 'token');
    const logprob = member(entry, 'logprob');
    if (typeof token === 'string' && isJsonNumber(logprob)) tokens.push({ token, logprob });
  }
  return tokens;
}

function citationOf(annotation: JsonValue): readonly Citation[] {
  const source = member(annotation, 'url_citation') ?? annotation;
  const url = stringOrEmpty(member(source, 'url'));
  if (url === '') return [];
  return [
    {
      url,
      title: stringOrEmpty(member(source, 'title')) || undefined,
      start: offsetOf(member(source, 'start_index')),
      end: offsetOf(member(source, 'end_index')),
    },
  ];
}

function offsetOf(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
