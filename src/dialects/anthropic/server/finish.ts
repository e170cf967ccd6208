/** Why a reply stopped, as Anthropic's `stop_reason`. */
import { type EventOf, filterMessage } from '../../../canonical/reply.ts';

export interface Finish {
  readonly reason: 'end_turn' | 'stop_sequence' | 'max_tokens' | 'tool_use' | 'refusal';
  readonly sequence?: string | undefined;
  readonly explanation: string | undefined;
}

export interface FinishState {
  readonly finish: EventOf<'finish'> | undefined;
  readonly hasCall: boolean;
  readonly refusal: string;
  /** Why the prompt was blocked; undefined if it was not. */
  readonly blocked: string | undefined;
}

/** A reply that was both cut off and filtered was cut off. */
export function finishOf({ finish, hasCall, refusal, blocked }: FinishState): Finish {
  if (blocked !== undefined) return { reason: 'refusal', explanation: blocked };
  if (finish?.reason === 'length') return plain('max_tokens');
  if (finish?.reason === 'content_filter') {
    const words = filterMessage(finish) ?? (refusal || nativeReason(finish));
    return { reason: 'refusal', explanation: words };
  }
  // Clients run calls only if the message stops for them.
  if (hasCall) return plain('tool_use');
  if (refusal !== '') return { reason: 'refusal', explanation: refusal };
  const sequence = finish?.stopSequence;
  return sequence === undefined ? plain('end_turn') : { ...plain('stop_sequence'), sequence };
}

function plain(reason: Finish['reason']): Finish {
  return { reason, explanation: undefined };
}

function nativeReason({ native }: EventOf<'finish'>): string | undefined {
  return native === undefined ? undefined : `Reply blocked: ${native}`;
}
