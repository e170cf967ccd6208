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
import { type JsonNumber, numberOf } from '../../../json.ts';
import { type FinishState, finishMembers } from './finish.ts';
import { fileData, functionCall, inlineData, type PartList, partList, textPart } from './parts.ts';

export interface Candidate {
  readonly index: number;
  add(event: ChoiceEvent): void;
  /** Whether a part is ready to be written. Log probabilities wait for the next part. */
  hasParts(): boolean;
  /** Everything added since the last piece, as JSON. */
  piece(): string;
  /** Fast path for a single visible text; undefined if other data has to be written with it. */
  textPiece(text: string): string | undefined;
  /** The remaining data with the finish reason, as JSON. */
  last(): string;
}

interface State {
  readonly parts: PartList;
  readonly calls: Map<number, { readonly begin: ToolCallBegin; text: string }>;
  readonly logprobs: LogprobList;
  readonly members: Map<string, string>;
  readonly finish: FinishState;
  /** Hidden reasoning without a signature so far. */
  hiddenReasoning: string;
  /** Calls with invalid JSON as arguments. The finish reason shows whether they were truncated. */
  readonly brokenCalls: { readonly begin: ToolCallBegin; readonly text: string }[];
  /** The last call, if it has no arguments; the finish reason shows whether it was truncated. */
  emptyCall: ToolCallBegin | undefined;
  /** All sources so far, since the last list in a stream counts. */
  readonly sources: JsonNode[];
  readonly choice: CandidateOptions;
  wasWritten: boolean;
}

export interface CandidateOptions {
  /** Records data that Google's format can't express, by its name in the chat API. */
  readonly drop: (name: string) => void;
  readonly hidesReasoning: boolean;
}

export function candidate(index: number, options: CandidateOptions): Candidate {
  const state = newState(options);
  const { parts, logprobs, members } = state;
  return {
    index,
    add: (event) => addEvent(event, state),
    hasParts: () => !parts.isEmpty(),
    piece: () => `{${takePending(index, state, '')}}`,
    textPiece: (text) => {
      const isPending = !parts.isEmpty() || !logprobs.isEmpty() || members.size > 0;
      if (isPending || state.emptyCall !== undefined) return undefined;
      state.wasWritten = true;
      return `{${content(textPart(text, 'visible', undefined))}"index":${index}}`;
    },
    last: () => lastPiece(index, state),
  };
}

function newState(options: CandidateOptions): State {
  return {
    parts: partList(),
    calls: new Map(),
    logprobs: logprobList(),
    members: new Map(),
    finish: { reason: undefined, message: undefined, refusal: '' },
    hiddenReasoning: '',
    brokenCalls: [],
    emptyCall: undefined,
    sources: [],
    choice: options,
    wasWritten: false,
  };
}

function takePending(index: number, state: State, fallback: string): string {
  const { parts, members, logprobs } = state;
  const list = parts.take() || fallback;
  state.wasWritten ||= list !== '';
  const ownMembers = [...members].map(([name, value]) => `,${quoted(name)}:${value}`).join('');
  members.clear();
  return `${content(list)}"index":${index}${ownMembers}${logprobs.take()}`;
}

function lastPiece(index: number, state: State): string {
  for (const call of [...state.calls.keys()]) endCall(call, state);
  if (!mayCutCall(state.finish.reason)) writeEmptyCall(state);
  else if (state.emptyCall !== undefined) state.choice.drop('tool_calls.arguments');
  writeBrokenCalls(state);
  const { text, isBlocked } = finishMembers(state.finish);
  // A blocked candidate has no content. In all others clients read `parts[0]`, so that it must
  // exist.
  const isEmpty = isBlocked && !state.wasWritten;
  const fallback = isEmpty ? '' : textPart('', 'visible', undefined);
  return `{${takePending(index, state, fallback)}${text}${state.logprobs.average()}}`;
}

function addEvent(event: ChoiceEvent, state: State): void {
  // What follows a call shows that it was not truncated.
  if (state.emptyCall !== undefined && contentTypes.has(event.type)) writeEmptyCall(state);
  switch (event.type) {
    case 'text':
      return state.parts.addText(event.text, 'visible', event.providerData);
    case 'reasoning':
      if (state.choice.hidesReasoning) return addHiddenReasoning(event, state);
      return state.parts.addText(event.text, 'thought', event.providerData);
    case 'refusal':
      state.finish.refusal += event.text;
      return state.parts.addText(event.text, 'visible', event.providerData);
    case 'tool_begin':
      state.calls.set(event.call, { begin: event, text: event.arguments });
      return;
    case 'tool_arguments': {
      const call = state.calls.get(event.call);
      if (call !== undefined) call.text += event.text;
      return;
    }
    case 'tool_end':
      return endCall(event.call, state);
    case 'media':
      return state.parts.add(inlineData(event.mimeType, event.data), event.providerData);
    case 'media_url':
      return state.parts.add(fileData(event.url), undefined);
    case 'logprobs':
      return state.logprobs.add(event.tokens);
    case 'citations':
      return addCitations(event.citations, state);
    case 'provider_specific':
      if (event.provider !== 'gemini') return state.choice.drop(event.name);
      state.members.set(event.name, jsonText(event.value));
      return;
    case 'finish':
      state.finish.reason = event.reason;
      state.finish.message = event.message;
  }
}

const contentTypes: ReadonlySet<ChoiceEvent['type']> = new Set([
  ...(['text', 'reasoning', 'refusal', 'tool_begin', 'media', 'media_url'] as const),
]);

function endCall(number: number, state: State): void {
  const call = state.calls.get(number);
  if (call === undefined) return;
  state.calls.delete(number);
  if (call.text.trim() === '') {
    state.emptyCall = call.begin;
    return;
  }
  const { json, isWrapped: isReplaced } = argumentsObject(call.text);
  if (isReplaced && parseBounded(call.text) === undefined) {
    state.brokenCalls.push(call);
    return;
  }
  if (isReplaced) state.choice.drop('tool_calls.arguments');
  addCall(call.begin, json, state);
}

function addCall(begin: ToolCallBegin, json: string, state: State): void {
  // Some upstreams need the reasoning before a call to be returned, although they don't sign it.
  if (state.hiddenReasoning !== '') {
    state.parts.addHidden({ text: state.hiddenReasoning, providerData: undefined });
    state.hiddenReasoning = '';
  }
  state.parts.add(functionCall(begin, json), begin.providerData);
}

function writeEmptyCall(state: State): void {
  const begin = state.emptyCall;
  state.emptyCall = undefined;
  if (begin !== undefined) addCall(begin, '{}', state);
}

/** Not if a limit or filter may have truncated them: a cut call must not look complete. */
function writeBrokenCalls({ brokenCalls, parts, finish, choice }: State): void {
  const endedNormally = finish.reason === 'stop' || finish.reason === 'tool_calls';
  for (const { begin, text } of brokenCalls.splice(0)) {
    choice.drop('tool_calls.arguments');
    if (!endedNormally) continue;
    parts.add(functionCall(begin, argumentsObject(text).json), begin.providerData);
  }
}

function addHiddenReasoning(
  { text, providerData }: Extract<ChoiceEvent, { type: 'reasoning' }>,
  state: State,
): void {
  state.hiddenReasoning += text;
  if (providerData === undefined) return;
  state.parts.addHidden({ text: state.hiddenReasoning, providerData });
  state.hiddenReasoning = '';
}

/**
 * Writes citations as `citationMetadata`, which is a list of sources. Google's grounding metadata
 * needs more than URLs and would have to be invented. Offsets are dropped: Google counts them in
 * bytes of one part, which aren't known here.
 */
function addCitations(citations: readonly Citation[], { members, sources, choice }: State): void {
  for (const { url, title, start, end } of citations) {
    sources.push({ uri: url, title });
    if ((start ?? end) !== undefined) choice.drop('annotations.start_index');
  }
  members.set('citationMetadata', jsonText({ citationSources: sources }));
}

function content(parts: string): string {
  return parts === '' ? '' : `"content":{"role":"model","parts":[${parts}]},`;
}

interface LogprobList {
  add(tokens: readonly TokenLogprob[]): void;
  isEmpty(): boolean;
  /** Returns and clears the `logprobsResult` member, preceded by a comma; empty without tokens. */
  take(): string;
  /** The `avgLogprobs` member, preceded by a comma; empty if there never was a token. */
  average(): string;
}

function logprobList(): LogprobList {
  let waiting: TokenLogprob[] = [];
  let sum = 0;
  let count = 0;
  return {
    add: (tokens) => {
      for (const token of tokens) {
        waiting.push(token);
        sum += numberOf(token.logprob) ?? 0;
      }
      count += tokens.length;
    },
    isEmpty: () => waiting.length === 0,
    take: () => {
      const tokens = waiting;
      waiting = [];
      return tokens.length === 0 ? '' : `,"logprobsResult":${jsonText(resultOf(tokens))}`;
    },
    average: () => (count === 0 ? '' : `,"avgLogprobs":${jsonText(sum / count)}`),
  };
}

function resultOf(tokens: readonly TokenLogprob[]): JsonNode {
  const hasTop = tokens.some(({ top }) => top.length > 0);
  return {
    chosenCandidates: tokens.map(row),
    topCandidates: hasTop ? tokens.map(({ top }) => ({ candidates: top.map(row) })) : undefined,
  };
}

function row({
  token,
  logprob,
}: {
  readonly token: string;
  readonly logprob: JsonNumber;
}): JsonNode {
  return { token, logProbability: logprob };
}
