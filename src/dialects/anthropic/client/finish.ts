/** Reads the finish reason from Anthropic's `stop_reason`. */
import { type ContentEvent, type FinishReason, mayCutCall } from '../../../canonical/reply.ts';
import { type JsonValue, member, nonEmpty } from '../../../json.ts';

export interface StatedFinish {
  readonly reason: string | undefined;
  readonly explanation: string | undefined;
}

/** Reads a whole reply, or the `delta` of a `message_delta`. */
export function readFinish(holder: JsonValue | undefined): StatedFinish {
  return {
    reason: nonEmpty(member(holder, 'stop_reason')),
    explanation: nonEmpty(member(member(holder, 'stop_details'), 'explanation')),
  };
}

/** With tool calls the reason is `tool_calls`, since the caller has to act on them. */
export function finishEvent(
  { reason, explanation }: StatedFinish,
  calls: number,
): Extract<ContentEvent, { readonly type: 'finish' }> {
  const named = reason === undefined ? 'stop' : (reasons.get(reason) ?? 'other');
  const finishReason = named === 'stop' || named === 'tool_calls' ? stopOrToolCalls(calls) : named;
  return {
    type: 'finish',
    choice: 0,
    reason: finishReason,
    native: reason === undefined || exactReasons.has(reason) ? undefined : reason,
    message: explanation,
  };
}

export function mayCutLastCall({ reason }: StatedFinish): boolean {
  return mayCutCall(reasons.get(reason ?? ''));
}

const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

/** Stop reasons that the common ones express completely. */
const exactReasons: ReadonlySet<string> = new Set([
  ...['end_turn', 'stop_sequence', 'tool_use', 'max_tokens', 'refusal'],
]);

/** Without a call for the caller, the called tool was the one whose input is the reply. */
function stopOrToolCalls(calls: number): FinishReason {
  return calls > 0 ? 'tool_calls' : 'stop';
}
