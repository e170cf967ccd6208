/**
 * Reads the parts of one candidate in order: text, thoughts, tool calls, media, and code that
 * Google ran.
 */
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { CallReader, type CandidateContext } from './calls.ts';

/** Far above real replies. These parts are held in memory until the end. */
const maxOthers = 1_000;
const maxVisible = 16 * 1024 * 1024;

export class PartReader {
  readonly #context: CandidateContext;
  readonly #calls: CallReader;
  readonly #others: JsonObject[] = [];
  #visible = '';
  #lastCharacter = '';
  #hasMedia = false;

  constructor(context: CandidateContext) {
    this.#context = context;
    this.#calls = new CallReader(context);
  }

  close(): void {
    this.#calls.close();
  }

  hasTruncatedCall(): boolean {
    return this.#calls.hasTruncated();
  }

  /** Parts of unknown kinds, unchanged. */
  others(): readonly JsonObject[] {
    return this.#others;
  }

  visibleText(): string {
    return this.#visible;
  }

  hasCalls(): boolean {
    return this.#calls.count() > 0;
  }

  /** Whether there was any output besides thoughts. */
  hasOutput(): boolean {
    return this.#visible !== '' || this.#hasMedia || this.hasCalls();
  }

  read(part: JsonValue): void {
    const providerData = providerDataOf(part);
    const call = member(part, 'functionCall');
    if (isJsonObject(call)) return this.#calls.read(call, providerData);
    const isThought = member(part, 'thought') === true;
    const media = mediaIn(part);
    // An image in a thought is a draft of the final one.
    if (media !== undefined && !isThought) return this.#emitMedia(media, providerData);
    const code = fencedCode(part);
    if (code !== undefined) return this.#emitText(onNewLine(this.#lastCharacter, code), undefined);
    const text = textIn(part);
    if (text === undefined && media === undefined && isJsonObject(part)) {
      if (this.#others.length < maxOthers) this.#others.push(part);
    }
    if (text === undefined || (text === '' && providerData === undefined)) return;
    if (!isThought) return this.#emitText(text, providerData);
    const { choice, emit } = this.#context;
    emit({ type: 'reasoning', choice, text, ...withProviderData(providerData) });
  }

  #emitText(text: string, providerData: ProviderData | undefined): void {
    const { choice, emit } = this.#context;
    // The text is only used to locate citations, and no real reply is as long as this limit.
    if (this.#visible.length < maxVisible) this.#visible += text;
    this.#lastCharacter = text.at(-1) ?? this.#lastCharacter;
    emit({ type: 'text', choice, text, ...withProviderData(providerData) });
  }

  #emitMedia({ mimeType, data }: Media, providerData: ProviderData | undefined): void {
    const { choice, emit } = this.#context;
    this.#hasMedia = true;
    emit({ type: 'media', choice, mimeType, data, ...withProviderData(providerData) });
  }
}

function withProviderData(providerData: ProviderData | undefined): {
  readonly providerData?: ProviderData;
} {
  return providerData === undefined ? {} : { providerData };
}

function providerDataOf(part: JsonValue): ProviderData | undefined {
  const data = member(part, 'thoughtSignature');
  if (typeof data !== 'string' || data === '') return undefined;
  return { provider: 'gemini', kind: 'signature', data };
}

interface Media {
  readonly mimeType: string;
  readonly data: string;
}

function mediaIn(part: JsonValue): Media | undefined {
  const inline = member(part, 'inlineData');
  const data = member(inline, 'data');
  const mimeType = member(inline, 'mimeType');
  if (typeof data !== 'string' || data === '') return undefined;
  return {
    mimeType: typeof mimeType === 'string' ? mimeType : 'application/octet-stream',
    data: plainBase64(data),
  };
}

/** Recorded replies sometimes use URL-safe Base64, which no other dialect accepts. */
function plainBase64(data: string): string {
  return /[-_]/.test(data) ? data.replaceAll('-', '+').replaceAll('_', '/') : data;
}

/** Empty if the part only carries a signature; undefined for a part of another kind. */
function textIn(part: JsonValue): string | undefined {
  const text = member(part, 'text');
  if (typeof text === 'string') return text;
  return isJsonObject(part) && Object.keys(part).every(isPartFlag) ? '' : undefined;
}

function isPartFlag(name: string): boolean {
  return name === 'thought' || name === 'thoughtSignature';
}

/** Code that the provider ran, or its output, as a Markdown code block. */
function fencedCode(part: JsonValue): string | undefined {
  const run = member(part, 'executableCode');
  const code = member(run, 'code');
  const language = member(run, 'language');
  if (typeof code === 'string') {
    return fenced(code, typeof language === 'string' ? language.toLowerCase() : '');
  }
  const result = member(part, 'codeExecutionResult');
  const output = member(result, 'output');
  return typeof output === 'string' ? fenced(output, failedOutcome(result)) : undefined;
}

/** The failed outcome, which takes the place of the block's language; empty for success. */
function failedOutcome(result: JsonValue | undefined): string {
  const outcome = member(result, 'outcome');
  const word = typeof outcome === 'string' ? outcome.replace(/^OUTCOME_/, '').toLowerCase() : 'ok';
  return word === 'ok' || word === 'unspecified' ? '' : word.replace(/\W/g, '_');
}

function fenced(content: string, language: string): string {
  let longest = 2;
  for (const [run] of content.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${content.endsWith('\n') ? content : `${content}\n`}${fence}\n`;
}

function onNewLine(lastCharacter: string, block: string): string {
  return lastCharacter === '' || lastCharacter === '\n' ? block : `\n${block}`;
}
