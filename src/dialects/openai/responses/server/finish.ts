/** Decides how a reply ends: whether it is complete, and what a reply without an answer shows. */
import { isCutJson } from '../../../../canonical/cut-json.ts';
import { type EventOf, filterMessage, mayCutCall } from '../../../../canonical/reply.ts';
import { openText } from './item-message.ts';
import type { ItemStatus } from './item-place.ts';
import { addAnswer, closeOpen, leaveOutCall, nextPlace, type OutputState } from './open-item.ts';

export interface FinishState extends OutputState {
  finish: EventOf<'finish'> | undefined;
  hasRefusal: boolean;
}

export type IncompleteReason = 'max_output_tokens' | 'content_filter';

/** Returns why the reply is incomplete; undefined if it is complete. */
export function finishOutput(
  state: FinishState,
  refuse: (text: string) => void,
): IncompleteReason | undefined {
  const { finish } = state;
  leaveOutLastCall(state);
  if (finish?.reason === 'length') return endItems(state, 'max_output_tokens');
  if (finish?.reason === 'content_filter') return endFiltered(state, finish, refuse);
  if (finish?.message !== undefined) state.dropped.add('finish_message');
  return endItems(state, state.hasCutCall ? 'max_output_tokens' : undefined);
}

/**
 * Codex takes an incomplete reply for a broken stream and buys it again, so one that shows a
 * refusal is complete. The exception is a reply with a cut call: the `stream()` of OpenAI's SDK
 * throws if a complete reply has an item that was announced and never ended.
 */
function endFiltered(
  state: FinishState,
  finish: EventOf<'finish'>,
  refuse: (text: string) => void,
): IncompleteReason | undefined {
  if (!state.hasRefusal) {
    const refusal = refusalOf(state, finish);
    if (refusal === undefined) return endItems(state, 'content_filter');
    refuse(refusal);
  }
  return endItems(state, state.hasCutCall ? 'content_filter' : undefined);
}

/** What the caller reads in place of filtered output; undefined if there is output to show. */
function refusalOf(state: FinishState, finish: EventOf<'finish'>): string | undefined {
  const explanation = filterMessage(finish);
  if (explanation !== null) return explanation;
  const hasOutput =
    state.hasAnswer || (state.open !== undefined && state.open.kind !== 'reasoning');
  return hasOutput ? undefined : `Reply blocked: ${finish.native ?? 'content_filter'}`;
}

/** The last call, which is still open because its arguments are no JSON object, may be cut. */
function leaveOutLastCall(state: FinishState): void {
  const { open, finish } = state;
  if (open?.kind !== 'call' && open?.kind !== 'custom_call') return;
  if (!mayCutCall(finish?.reason) && !isCutJson(open.text)) return;
  state.open = undefined;
  leaveOutCall(state, open);
}

/**
 * Agents of OpenAI's SDK ask the model again, and pay again, until a reply has a message or a call.
 */
function endItems(
  state: FinishState,
  reason: IncompleteReason | undefined,
): IncompleteReason | undefined {
  const status: ItemStatus = reason === undefined ? 'completed' : 'incomplete';
  closeOpen(state, status);
  if (!state.hasAnswer) {
    const place = nextPlace(state, 'msg_tg_');
    addAnswer(state, place.id, openText(place).end(status));
  }
  return reason;
}
