/** Why an answer ended, from Anthropic's `stop_reason` (TRANSLATION §6.13). */
import type { ContentEvent, FinishReason } from '../../../canonical/reply.ts';
import { type JsonValue, member } from '../../../json.ts';

/** What the end of a reply says. */
export interface Stop {
  readonly reason: string | undefined;
  readonly explanation: string | undefined;
}

/** Reads the members of a whole reply, or of the `delta` of a `message_delta`. */
export function readStop(holder: JsonValue | undefined): Stop {
  return {
    reason: text(member(holder, 'stop_reason')),
    explanation: text(member(member(holder, 'stop_details'), 'explanation')),
  };
}

/** The finish of the only choice. A call that was made is what the caller has to act on. */
export function finishEvent({ reason, explanation }: Stop, calls: number): ContentEvent {
  const named = reason === undefined ? 'stop' : (reasons.get(reason) ?? 'other');
  const told = named === 'stop' || named === 'tool_calls' ? ending(calls) : named;
  return {
    type: 'finish',
    choice: 0,
    reason: told,
    native: reason === undefined || oneToOne.has(reason) ? undefined : reason,
    message: explanation,
  };
}

const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

/** Reasons that ours say in full. */
const oneToOne: ReadonlySet<string> = new Set([
  'end_turn',
  'stop_sequence',
  'tool_use',
  'max_tokens',
  'refusal',
]);

/** Without a call it was the tool that stands for the answer. */
function ending(calls: number): FinishReason {
  return calls > 0 ? 'tool_calls' : 'stop';
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
