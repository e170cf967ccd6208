/**
 * One candidate of a reply in the making: takes the events of a choice and gives them as JSON,
 * piece by piece on a stream, all at once in a whole reply.
 */

import { argumentsObject } from '../../../canonical/arguments.ts';
import { type JsonNode, jsonText, quoted } from '../../../canonical/raw-json.ts';
import type { Citation, ContentEvent, ToolCallBegin } from '../../../canonical/reply.ts';
import { parseJson } from '../../../json.ts';
import { type Ending, finishMembers } from './finish.ts';
import { type LogprobList, logprobList } from './logprobs.ts';
import { fileData, functionCall, inlineData, type PartList, partList, textPart } from './parts.ts';

/** An event of one choice. */
export type ChoiceEvent = Extract<ContentEvent, { readonly choice: number }>;

/** What has come of one choice. */
export interface Candidate {
  readonly index: number;
  add(event: ChoiceEvent): void;
  /** Whether there is something to write; probabilities wait for the part behind them. */
  hasParts(): boolean;
  /** What came since the last piece. */
  piece(): string;
  /**
   * A piece of visible text alone, the short way of nearly every event; undefined where something
   * waits to go with it.
   */
  textPiece(text: string): string | undefined;
  /** The rest, with the finish. */
  last(): string;
}

interface State {
  readonly parts: PartList;
  readonly calls: Map<number, { readonly begin: ToolCallBegin; text: string }>;
  readonly logprobs: LogprobList;
  /** Members of Google's own, as JSON text. */
  readonly members: Map<string, string>;
  readonly ending: Ending;
  /** Reasoning that is not shown and that nothing vouches for yet. */
  hidden: string;
  /** Calls whose arguments are no JSON: the finish says whether they were cut. */
  readonly broken: { readonly begin: ToolCallBegin; readonly text: string }[];
  /** All that came: the last list of a stream counts. */
  readonly sources: JsonNode[];
  readonly choice: CandidateOptions;
}

/** How a candidate is written. */
export interface CandidateOptions {
  /** Takes note of what Google's form has no place for, in the words of the chat API. */
  readonly drop: (name: string) => void;
  readonly hidesReasoning: boolean;
}

/** A candidate of which nothing has come yet. */
export function candidate(index: number, options: CandidateOptions): Candidate {
  const parts = partList();
  const logprobs = logprobList();
  const members = new Map<string, string>();
  const ending: Ending = { reason: undefined, message: undefined, refusal: '' };
  const state: State = {
    parts,
    calls: new Map(),
    logprobs,
    members,
    ending,
    hidden: '',
    broken: [],
    sources: [],
    choice: options,
  };
  let wasWritten = false;

  /** Empties what has been gathered. */
  const taken = (fallback: string): string => {
    const list = parts.take() || fallback;
    wasWritten ||= list !== '';
    const own = [...members].map(([name, value]) => `,${quoted(name)}:${value}`).join('');
    members.clear();
    return `${content(list)}"index":${index}${own}${logprobs.take()}`;
  };

  return {
    index,
    add: (event) => addEvent(event, state),
    hasParts: () => !parts.isEmpty(),
    piece: () => `{${taken('')}}`,
    textPiece: (text) => {
      if (!parts.isEmpty() || !logprobs.isEmpty() || members.size > 0) return undefined;
      wasWritten = true;
      return `{${content(textPart(text, 'visible', undefined))}"index":${index}}`;
    },
    last: () => {
      for (const call of [...state.calls.keys()]) endCall(call, state);
      tellBroken(state);
      const { text, isBlocked } = finishMembers(ending);
      // A blocked answer has no content; clients index `parts[0]` of every other.
      const fallback = isBlocked && !wasWritten ? '' : textPart('', 'visible', undefined);
      return `{${taken(fallback)}${text}${logprobs.average()}}`;
    },
  };
}

function addEvent(event: ChoiceEvent, state: State): void {
  switch (event.type) {
    case 'text':
      return state.parts.addText(event.text, 'visible', event.providerData);
    case 'reasoning':
      if (state.choice.hidesReasoning) return hide(event, state);
      return state.parts.addText(event.text, 'thought', event.providerData);
    case 'refusal':
      state.ending.refusal += event.text;
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
      state.ending.reason = event.reason;
      state.ending.message = event.message;
  }
}

function endCall(number: number, state: State): void {
  const call = state.calls.get(number);
  if (call === undefined) return;
  state.calls.delete(number);
  const { json, isWrapped: isReplaced } = argumentsObject(call.text);
  if (isReplaced && parseJson(call.text) === undefined) {
    state.broken.push(call);
    return;
  }
  if (isReplaced) state.choice.drop('tool_calls.arguments');
  // Some upstreams want the reasoning back that led to a call, although they sign nothing.
  if (state.hidden !== '') {
    state.parts.addHidden({ text: state.hidden, providerData: undefined });
    state.hidden = '';
  }
  state.parts.add(functionCall(call.begin, json), call.begin.providerData);
}

/** A call that a bound or a filter has cut must not be taken for a whole one. */
function tellBroken({ broken, parts, ending, choice }: State): void {
  const endedByItself = ending.reason === 'stop' || ending.reason === 'tool_calls';
  for (const { begin, text } of broken.splice(0)) {
    choice.drop('tool_calls.arguments');
    if (!endedByItself) continue;
    parts.add(functionCall(begin, argumentsObject(text).json), begin.providerData);
  }
}

function hide(
  { text, providerData }: Extract<ChoiceEvent, { type: 'reasoning' }>,
  state: State,
): void {
  state.hidden += text;
  if (providerData === undefined) return;
  state.parts.addHidden({ text: state.hidden, providerData });
  state.hidden = '';
}

/**
 * Google's grounding says more than an address, and one made from it would be invented; its list of
 * sources does not. It counts their places in bytes of one part, which nobody knows here.
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
