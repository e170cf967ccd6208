/** Reads one choice of a reply, streamed or whole, by the same rules. */

import { parseBounded } from '../../../bounded-json.ts';
import { newCallId } from '../../../canonical/call-ids.ts';
import { customArguments } from '../../../canonical/custom-tools.ts';
import { isCutJson } from '../../../canonical/cut-json.ts';
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, items, type JsonValue, member } from '../../../json.ts';
import { type Ending, endingOf, mayBeCut } from './finish-reason.ts';
import { citationEvents, logprobEvents } from './read-extras.ts';
import { type MessageReader, messageReader } from './read-message.ts';
import { signatureOf } from './signature.ts';
import { stringOrEmpty } from './string-or-empty.ts';
import { type HeldCall, type ToolSlots, toolSlots } from './tool-slots.ts';

/** The properties of the request that a reader depends on. */
export interface ReadContext {
  readonly names: FunctionNames;
  /** Generates text for the ids of calls. */
  readonly ids: () => string;
  /** The vendor does not count reasoning as part of the completion. */
  readonly reasoningOutside: boolean;
}

/** Reads one choice of a reply. */
export interface ChoiceReader {
  /** Reads one element of a chunk's `choices`. */
  piece(node: JsonValue): readonly ContentEvent[];
  /** Reads one element of a whole reply's `choices`. */
  whole(node: JsonValue): readonly ContentEvent[];
  /** The characters of tool calls held back until the end. */
  heldChars(): number;
  /** True once the upstream has sent a finish reason. */
  finished(): boolean;
  /** True if the upstream has sent neither a finish reason nor the whole of every tool call. */
  hasOpenCall(): boolean;
  /**
   * Returns how the choice ended, and the events held back until then: the tool calls, because
   * vendors interleave and repeat their pieces, and a signature that belongs to them.
   */
  end(): { readonly events: readonly ContentEvent[]; readonly ending: Ending };
}

/** What one choice has contained so far. */
interface ChoiceState {
  readonly choice: number;
  readonly context: ReadContext;
  readonly messages: MessageReader;
  readonly slots: ToolSlots;
  finishReason: string;
  hasOutput: boolean;
  signature: ProviderData | undefined;
}

/** Creates the reader of the choice with this index. */
export function choiceReader(choice: number, context: ReadContext): ChoiceReader {
  const slots = toolSlots();
  const state: ChoiceState = {
    choice,
    context,
    messages: messageReader(choice),
    slots,
    finishReason: '',
    hasOutput: false,
    signature: undefined,
  };
  return {
    piece: (node) => readPiece(state, node),
    whole: (node) => readWhole(state, node),
    heldChars: slots.heldChars,
    finished: () => state.finishReason !== '',
    hasOpenCall: () => state.finishReason === '' && heldCalls(state).some(isOpen),
    end: () => endChoice(state),
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
  state.finishReason = stringOrEmpty(member(node, 'finish_reason')) || state.finishReason;
  const logprobs = logprobEvents(node, choice);
  const citations = citationEvents(message, choice);
  // Most pieces hold neither, and this code runs for each of them.
  if (logprobs.length === 0 && citations.length === 0) return events;
  return [...events, ...logprobs, ...citations];
}

function endChoice(state: ChoiceState): ReturnType<ChoiceReader['end']> {
  const { choice, context, messages, finishReason, signature } = state;
  const calls = withSignature(heldCalls(state), signature);
  const hasCalls = calls.length > 0;
  const ending = endingOf({
    finishReason,
    refusal: messages.refusal(),
    hasCalls,
    hasCutCall: calls.some(finishReason === '' ? isOpen : isCut),
    hasOutput: state.hasOutput || hasCalls,
  });
  const events = callEvents(calls, choice, context);
  if (signature === undefined || calls[0]?.providerData === signature) return { events, ending };
  const signatureEvent = { type: 'text', choice, text: '', providerData: signature } as const;
  return { events: [signatureEvent, ...events], ending };
}

/**
 * The calls with JSON arguments. Nothing but the finish tells whether the text of a custom call was
 * cut; then its arguments must not look complete.
 */
function heldCalls({ slots, finishReason }: ChoiceState): readonly HeldCall[] {
  const calls = slots.calls();
  return calls.map((call, index) => {
    if (!call.isCustom) return call;
    const args = customArguments(call.arguments);
    const isCut = index === calls.length - 1 && mayBeCut(finishReason);
    return { ...call, arguments: isCut ? args.slice(0, -1) : args };
  });
}

function isCut(call: HeldCall): boolean {
  return isCutJson(call.arguments);
}

/**
 * Without a finish reason, which some vendors leave out, only the last brace of the arguments ends
 * a call: more of any other text may have been to come.
 */
function isOpen(call: HeldCall): boolean {
  return !isJsonObject(parseBounded(call.arguments));
}

/**
 * Attaches a signature outside the calls to the first call, regardless of its position in the
 * stream.
 */
function withSignature(
  calls: readonly HeldCall[],
  signature: ProviderData | undefined,
): readonly HeldCall[] {
  const [first, ...others] = calls;
  if (first === undefined || first.providerData !== undefined) return calls;
  return [{ ...first, providerData: signature }, ...others];
}

function callEvents(
  calls: readonly HeldCall[],
  choice: number,
  { names, ids }: ReadContext,
): readonly ContentEvent[] {
  const taken = new Set<string>();
  return calls.flatMap(({ id, name, arguments: text, providerData }, call): ContentEvent[] => {
    const isUnique = id !== '' && !taken.has(id);
    taken.add(id);
    const begin = { choice, call, id: isUnique ? id : newCallId(ids), name: names.caller(name) };
    return [
      { type: 'tool_begin', ...begin, arguments: text, providerData },
      { type: 'tool_end', choice, call },
    ];
  });
}
