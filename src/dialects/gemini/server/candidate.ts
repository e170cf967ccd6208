/**
 * Builds one candidate of a reply from its events, as JSON text: in pieces for a stream, or
 * complete for a whole reply.
 */
import { parseBounded } from '../../../bounded-json.ts';
import { argumentsObject } from '../../../canonical/arguments.ts';
import { type JsonNode, jsonText, quoted } from '../../../canonical/raw-json.ts';
import {
  type ChoiceEvent,
  type Citation,
  mayCutCall,
  type TokenLogprob,
  type ToolCallBegin,
} from '../../../canonical/reply.ts';
import { numberOf } from '../../../json.ts';
import { type FinishState, finishMembers } from './finish.ts';
import { fileData, functionCall, inlineData, PartList, textPart } from './parts.ts';

export interface CandidateOptions {
  /** Records data that Google's format can't express, by its name in the chat API. */
  readonly drop: (name: string) => void;
  readonly hidesReasoning: boolean;
}

export class Candidate {
  readonly index: number;
  readonly #options: CandidateOptions;
  readonly #parts = new PartList();
  readonly #calls = new Map<number, { readonly begin: ToolCallBegin; text: string }>();
  readonly #logprobs = new LogprobList();
  readonly #members = new Map<string, string>();
  readonly #finish: FinishState = { reason: undefined, message: undefined, refusal: '' };
  /** Hidden reasoning without a signature so far. */
  #hiddenReasoning = '';
  /** Calls with invalid JSON as arguments. The finish reason shows whether they were truncated. */
  readonly #brokenCalls: { readonly begin: ToolCallBegin; readonly text: string }[] = [];
  /** The last call, if it has no arguments; the finish reason shows whether it was truncated. */
  #emptyCall: ToolCallBegin | undefined;
  /** All sources so far, since the last list in a stream counts. */
  readonly #sources: JsonNode[] = [];
  #wasWritten = false;

  constructor(index: number, options: CandidateOptions) {
    this.index = index;
    this.#options = options;
  }

  /** Whether a part is ready to be written. Log probabilities wait for the next part. */
  hasParts(): boolean {
    return !this.#parts.isEmpty();
  }

  /** Everything added since the last piece, as JSON. */
  piece(): string {
    return `{${this.#takePending('')}}`;
  }

  /** Fast path for a single visible text; undefined if other data has to be written with it. */
  textPiece(text: string): string | undefined {
    const hasOthers = !this.#logprobs.isEmpty() || this.#members.size > 0;
    if (this.hasParts() || hasOthers || this.#emptyCall !== undefined) return undefined;
    this.#wasWritten = true;
    return `{${content(textPart(text, 'visible', undefined))}"index":${this.index}}`;
  }

  #takePending(fallback: string): string {
    const list = this.#parts.take() || fallback;
    this.#wasWritten ||= list !== '';
    const ownMembers = [...this.#members]
      .map(([name, value]) => `,${quoted(name)}:${value}`)
      .join('');
    this.#members.clear();
    return `${content(list)}"index":${this.index}${ownMembers}${this.#logprobs.take()}`;
  }

  /** The remaining data with the finish reason, as JSON. */
  last(): string {
    for (const call of [...this.#calls.keys()]) this.#endCall(call);
    if (!mayCutCall(this.#finish.reason)) this.#writeEmptyCall();
    else if (this.#emptyCall !== undefined) this.#options.drop('tool_calls.arguments');
    this.#writeBrokenCalls();
    const { text, isBlocked } = finishMembers(this.#finish);
    // A blocked candidate has no content. In all others clients read `parts[0]`, so that it must
    // exist.
    const isEmpty = isBlocked && !this.#wasWritten;
    const fallback = isEmpty ? '' : textPart('', 'visible', undefined);
    return `{${this.#takePending(fallback)}${text}${this.#logprobs.average()}}`;
  }

  add(event: ChoiceEvent): void {
    // What follows a call shows that it was not truncated.
    if (this.#emptyCall !== undefined && contentTypes.has(event.type)) this.#writeEmptyCall();
    switch (event.type) {
      case 'text':
        return this.#parts.addText(event.text, 'visible', event.providerData);
      case 'reasoning':
        if (this.#options.hidesReasoning) return this.#addHiddenReasoning(event);
        return this.#parts.addText(event.text, 'thought', event.providerData);
      case 'refusal':
        this.#finish.refusal += event.text;
        return this.#parts.addText(event.text, 'visible', event.providerData);
      case 'tool_begin':
        this.#calls.set(event.call, { begin: event, text: event.arguments });
        return;
      case 'tool_arguments': {
        const call = this.#calls.get(event.call);
        if (call !== undefined) call.text += event.text;
        return;
      }
      case 'tool_end':
        return this.#endCall(event.call);
      case 'media':
        return this.#parts.add(inlineData(event.mimeType, event.data), event.providerData);
      case 'media_url':
        return this.#parts.add(fileData(event.url), undefined);
      case 'logprobs':
        return this.#logprobs.add(event.tokens);
      case 'citations':
        return this.#addCitations(event.citations);
      case 'provider_specific':
        if (event.provider !== 'gemini') return this.#options.drop(event.name);
        this.#members.set(event.name, jsonText(event.value));
        return;
      case 'finish':
        this.#finish.reason = event.reason;
        this.#finish.message = event.message;
    }
  }

  #endCall(number: number): void {
    const call = this.#calls.get(number);
    if (call === undefined) return;
    this.#calls.delete(number);
    if (call.text.trim() === '') {
      this.#emptyCall = call.begin;
      return;
    }
    const { json, isWrapped: isReplaced } = argumentsObject(call.text);
    if (isReplaced && parseBounded(call.text) === undefined) {
      this.#brokenCalls.push(call);
      return;
    }
    if (isReplaced) this.#options.drop('tool_calls.arguments');
    this.#addCall(call.begin, json);
  }

  #addCall(begin: ToolCallBegin, json: string): void {
    // Some upstreams need the reasoning before a call to be returned, although they don't sign it.
    if (this.#hiddenReasoning !== '') {
      this.#parts.addHidden({ text: this.#hiddenReasoning, providerData: undefined });
      this.#hiddenReasoning = '';
    }
    this.#parts.add(functionCall(begin, json), begin.providerData);
  }

  #writeEmptyCall(): void {
    const begin = this.#emptyCall;
    this.#emptyCall = undefined;
    if (begin !== undefined) this.#addCall(begin, '{}');
  }

  /** Not if a limit or filter may have truncated them: a cut call must not look complete. */
  #writeBrokenCalls(): void {
    const endedNormally = this.#finish.reason === 'stop' || this.#finish.reason === 'tool_calls';
    for (const { begin, text } of this.#brokenCalls.splice(0)) {
      this.#options.drop('tool_calls.arguments');
      if (!endedNormally) continue;
      this.#parts.add(functionCall(begin, argumentsObject(text).json), begin.providerData);
    }
  }

  #addHiddenReasoning({ text, providerData }: Extract<ChoiceEvent, { type: 'reasoning' }>): void {
    this.#hiddenReasoning += text;
    if (providerData === undefined) return;
    this.#parts.addHidden({ text: this.#hiddenReasoning, providerData });
    this.#hiddenReasoning = '';
  }

  /**
   * Writes citations as `citationMetadata`, which is a list of sources. Google's grounding metadata
   * needs more than URLs and would have to be invented. Offsets are dropped: Google counts them in
   * bytes of one part, which aren't known here.
   */
  #addCitations(citations: readonly Citation[]): void {
    for (const { url, title, start, end } of citations) {
      this.#sources.push({ uri: url, title });
      if ((start ?? end) !== undefined) this.#options.drop('annotations.start_index');
    }
    this.#members.set('citationMetadata', jsonText({ citationSources: this.#sources }));
  }
}

const contentTypes: ReadonlySet<ChoiceEvent['type']> = new Set([
  ...(['text', 'reasoning', 'refusal', 'tool_begin', 'media', 'media_url'] as const),
]);

function content(parts: string): string {
  return parts === '' ? '' : `"content":{"role":"model","parts":[${parts}]},`;
}

class LogprobList {
  #waiting: TokenLogprob[] = [];
  #sum = 0;
  #count = 0;

  add(tokens: readonly TokenLogprob[]): void {
    for (const token of tokens) {
      this.#waiting.push(token);
      this.#sum += numberOf(token.logprob) ?? 0;
    }
    this.#count += tokens.length;
  }

  isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Returns and clears the `logprobsResult` member, preceded by a comma; empty without tokens. */
  take(): string {
    const tokens = this.#waiting;
    this.#waiting = [];
    return tokens.length === 0 ? '' : `,"logprobsResult":${logprobsResult(tokens)}`;
  }

  /** The `avgLogprobs` member, preceded by a comma; empty if there never was a token. */
  average(): string {
    return this.#count === 0 ? '' : `,"avgLogprobs":${jsonText(this.#sum / this.#count)}`;
  }
}

function logprobsResult(tokens: readonly TokenLogprob[]): string {
  const chosen = `"chosenCandidates":[${rows(tokens)}]`;
  if (!tokens.some(({ top }) => top.length > 0)) return `{${chosen}}`;
  const others = tokens.map(({ top }) => `{"candidates":[${rows(top)}]}`);
  return `{${chosen},"topCandidates":[${others.join(',')}]}`;
}

/** As text at once, because there may be 20 rows for each of 16,384 tokens. */
function rows(tokens: readonly Omit<TokenLogprob, 'top'>[]): string {
  return tokens
    .map(({ token, logprob }) => `{"token":${quoted(token)},"logProbability":${jsonText(logprob)}}`)
    .join(',');
}
