/** Reads one choice of a reply, streamed or whole, by the same rules. */

import { parseBounded } from '../../../bounded-json.ts';
import { isCutJson } from '../../../canonical/cut-json.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, items, type JsonValue, member } from '../../../json.ts';
import { argumentTexts, type CallContext, type CallEvents, callEvents } from './call-events.ts';
import { type Finish, finishOf, unusable } from './finish.ts';
import { citationEvents, logprobEvents } from './read-extras.ts';
import { type MessageReader, messageReader } from './read-message.ts';
import { signatureOf } from './signature.ts';
import { stringOrEmpty } from './string-or-empty.ts';
import { type ToolSlots, toolSlots } from './tool-slots.ts';

/** The properties of the request that a reader depends on. */
export interface ReadContext extends CallContext {
  /** The vendor does not count reasoning as part of the completion. */
  readonly reasoningOutside: boolean;
  /** The stop sequences of the request. */
  readonly stop: readonly string[];
}

/** Reads one choice of a reply. */
export interface ChoiceReader {
  /** Reads one element of a chunk's `choices`. */
  piece(node: JsonValue): readonly ContentEvent[];
  /** Does the same, but holds all calls back until the end. */
  heldPiece(node: JsonValue): readonly ContentEvent[];
  /** Reads one element of a whole reply's `choices`. */
  whole(node: JsonValue): readonly ContentEvent[];
  /** The characters of tool calls that are held back. */
  heldChars(): number;
  /** True once the upstream has sent a finish reason. */
  finished(): boolean;
  /** True if the upstream has sent neither a finish reason nor the whole of every tool call. */
  hasOpenCall(): boolean;
  /**
   * Returns how the choice ended, and the events held back until then: tool calls, and a signature
   * that belongs to them.
   */
  end(): {
    readonly events: readonly ContentEvent[];
    readonly finish: Finish;
    readonly stopSequence: string | undefined;
  };
}

/** What one choice has contained so far. */
interface ChoiceState {
  readonly choice: number;
  readonly messages: MessageReader;
  readonly slots: ToolSlots;
  readonly calls: CallEvents;
  finishReason: string;
  /** What ended the text, as vLLM and SGLang say it: a text or the number of a token. */
  stoppedBy: JsonValue | undefined;
  hasOutput: boolean;
  signature: ProviderData | undefined;
}

/** Creates the reader of the choice with this index. */
export function choiceReader(choice: number, context: ReadContext): ChoiceReader {
  const slots = toolSlots(context.names);
  const calls = callEvents(choice, slots, context);
  const state: ChoiceState = {
    choice,
    messages: messageReader(choice),
    slots,
    calls,
    finishReason: '',
    stoppedBy: undefined,
    hasOutput: false,
    signature: undefined,
  };
  return {
    piece: (node) => withCalls(state, readPiece(state, node)),
    heldPiece: (node) => readPiece(state, node),
    whole: (node) => readWhole(state, node),
    heldChars: calls.heldChars,
    finished: () => state.finishReason !== '',
    hasOpenCall: () => state.finishReason === '' && argumentTexts(slots, '').some(isOpen),
    end: () => endChoice(state, context),
  };
}

function readPiece(state: ChoiceState, node: JsonValue): readonly ContentEvent[] {
  const { slots, hasOutput } = state;
  const delta = member(node, 'delta');
  // Some servers reply to a streaming request with one whole message, or repeat the whole message
  // at the end.
  if (!isJsonObject(delta)) {
    return hasOutput || !slots.isEmpty() ? read(state, node, null) : readWhole(state, node);
  }
  slots.add(items(member(delta, 'tool_calls')));
  return read(state, node, delta);
}

/** Adds what can be sent of the calls, after the other content of a piece. */
function withCalls(
  { slots, calls, signature }: ChoiceState,
  events: readonly ContentEvent[],
): readonly ContentEvent[] {
  // Most pieces are text of a reply without calls.
  if (slots.isEmpty()) return events;
  // Calls that were sent whole may run at once, also if the reply fails later.
  if (slots.isUnclear()) {
    return [...events, { type: 'unusable', reason: 'upstream_unusable_output' }];
  }
  const ended = events.length > 0 ? calls.endWhole() : [];
  return [...ended, ...events, ...calls.next(signature)];
}

function readWhole(state: ChoiceState, node: JsonValue): readonly ContentEvent[] {
  const message = member(node, 'message') ?? member(node, 'delta') ?? null;
  state.slots.addWhole(items(member(message, 'tool_calls')));
  return read(state, node, message);
}

function read(state: ChoiceState, node: JsonValue, message: JsonValue): readonly ContentEvent[] {
  const { messages, slots, choice } = state;
  const events = messages.read(message);
  state.hasOutput ||= events.length > 0;
  slots.addFunctionCall(member(message, 'function_call') ?? null);
  state.signature = signatureOf(message) ?? state.signature;
  const finishReason = stringOrEmpty(member(node, 'finish_reason'));
  if (finishReason !== '') {
    state.finishReason = finishReason;
    state.stoppedBy = member(node, 'stop_reason') ?? member(node, 'matched_stop');
  }
  const logprobs = logprobEvents(node, choice);
  const citations = citationEvents(message, choice);
  // Most pieces hold neither, and this code runs for each of them.
  if (logprobs.length === 0 && citations.length === 0) return events;
  return [...events, ...logprobs, ...citations];
}

function endChoice(state: ChoiceState, { stop }: ReadContext): ReturnType<ChoiceReader['end']> {
  const { slots, calls, messages, finishReason, signature, stoppedBy } = state;
  const texts = argumentTexts(slots, finishReason);
  const hasCalls = texts.length > 0;
  const finish = slots.endsUnclear()
    ? unusable('upstream_unusable_output', true)
    : finishOf({
        finishReason,
        refusal: messages.refusal(),
        hasCalls,
        hasCutCall: texts.some(finishReason === '' ? isOpen : isCutJson),
        hasOutput: state.hasOutput || hasCalls,
      });
  const stopSequence = stop.find((text) => text === stoppedBy);
  return { events: calls.end(signature, finishReason), finish, stopSequence };
}

/**
 * Without a finish reason, which some vendors leave out, only the last brace of the arguments ends
 * a call: more of any other text may have been to come.
 */
function isOpen(args: string): boolean {
  return !isJsonObject(parseBounded(args));
}
