/** Reads one choice of a reply, streamed or whole, by the same rules. */

import { parseBounded } from '../../../bounded-json.ts';
import { newCallId } from '../../../canonical/call-ids.ts';
import { isCutJson } from '../../../canonical/cut-json.ts';
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, items, type JsonValue, member } from '../../../json.ts';
import { type Ending, endingOf } from './finish-reason.ts';
import { citationEvents, logprobEvents } from './read-extras.ts';
import { messageReader } from './read-message.ts';
import { signatureOf } from './signature.ts';
import { stringOrEmpty } from './string-or-empty.ts';
import { type HeldCall, toolSlots } from './tool-slots.ts';

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

/** Creates the reader of the choice with this index. */
export function choiceReader(choice: number, context: ReadContext): ChoiceReader {
  const messages = messageReader(choice);
  const slots = toolSlots();
  let finishReason = '';
  let hasOutput = false;
  let signature: ProviderData | undefined;

  const read = (node: JsonValue, message: JsonValue): readonly ContentEvent[] => {
    const events = messages.read(message);
    hasOutput ||= events.length > 0;
    slots.addFunctionCall(member(message, 'function_call') ?? null);
    signature = signatureOf(message) ?? signature;
    finishReason = stringOrEmpty(member(node, 'finish_reason')) || finishReason;
    const logprobs = logprobEvents(node, choice);
    const citations = citationEvents(message, choice);
    // Most pieces hold neither, and this code runs for each of them.
    if (logprobs.length === 0 && citations.length === 0) return events;
    return [...events, ...logprobs, ...citations];
  };

  const whole = (node: JsonValue): readonly ContentEvent[] => {
    const message = member(node, 'message') ?? member(node, 'delta') ?? null;
    slots.addWhole(items(member(message, 'tool_calls')));
    return read(node, message);
  };

  return {
    piece: (node) => {
      const delta = member(node, 'delta');
      // Some servers reply to a streaming request with one whole message, or repeat the whole
      // message at the end.
      if (!isJsonObject(delta)) {
        return hasOutput || !slots.isEmpty() ? read(node, null) : whole(node);
      }
      slots.add(items(member(delta, 'tool_calls')));
      return read(node, delta);
    },
    whole,
    heldChars: () => slots.heldChars(),
    finished: () => finishReason !== '',
    hasOpenCall: () => finishReason === '' && slots.calls().some(isOpen),
    end: () => {
      const calls = withSignature(slots.calls(), signature);
      const hasCalls = calls.length > 0;
      const refusal = messages.refusal();
      const hasCutCall = calls.some(finishReason === '' ? isOpen : isCut);
      const hasAny = hasOutput || hasCalls;
      const ended = { finishReason, refusal, hasCalls, hasCutCall, hasOutput: hasAny };
      const events = callEvents(calls, choice, context);
      if (signature === undefined || calls[0]?.providerData === signature) {
        return { events, ending: endingOf(ended) };
      }
      const signatureEvent = { type: 'text', choice, text: '', providerData: signature } as const;
      return { events: [signatureEvent, ...events], ending: endingOf(ended) };
    },
  };
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
