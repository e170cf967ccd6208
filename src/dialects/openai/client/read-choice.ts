/** Reads one choice of a reply, piece by piece or whole, by the same rules. */

import { newCallId } from '../../../canonical/call-ids.ts';
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

/** What a reader needs to know of the request. */
export interface ReadContext {
  readonly names: FunctionNames;
  /** Fresh text for the ids of calls. */
  readonly ids: () => string;
  /** The vendor does not count reasoning among the completion's tokens. */
  readonly reasoningOutside: boolean;
}

/** Reads one choice. */
export interface ChoiceReader {
  /** One element of a chunk's `choices`. */
  piece(node: JsonValue): readonly ContentEvent[];
  /** One element of a whole reply's `choices`. */
  whole(node: JsonValue): readonly ContentEvent[];
  /** What of calls is held until the end, in characters. */
  heldChars(): number;
  /** The upstream has said how the choice ended. */
  finished(): boolean;
  /**
   * The calls, which are held until now because vendors interleave and repeat their pieces, what
   * belongs beside them, and how the choice ended.
   */
  end(): { readonly events: readonly ContentEvent[]; readonly ending: Ending };
}

/** A reader of the choice with this index. */
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
    // Most pieces hold neither, and this runs for each of them.
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
      // Some servers answer a stream with one whole message, or end it by repeating all of it.
      if (!isJsonObject(delta)) {
        return hasOutput || !slots.isEmpty() ? read(node, null) : whole(node);
      }
      slots.add(items(member(delta, 'tool_calls')));
      return read(node, delta);
    },
    whole,
    heldChars: () => slots.heldChars(),
    finished: () => finishReason !== '',
    end: () => {
      const calls = withSignature(slots.calls(), signature);
      const hasCalls = calls.length > 0;
      const refusal = messages.refusal();
      const ended = { finishReason, refusal, hasCalls, hasOutput: hasOutput || hasCalls };
      const events = callEvents(calls, choice, context);
      if (signature === undefined || calls[0]?.providerData === signature) {
        return { events, ending: endingOf(ended) };
      }
      const bare = { type: 'text', choice, text: '', providerData: signature } as const;
      return { events: [bare, ...events], ending: endingOf(ended) };
    },
  };
}

/** A signature beside the calls belongs to the first of them, wherever in a stream it stood. */
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
