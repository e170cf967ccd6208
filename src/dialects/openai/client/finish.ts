/** Maps the finish reasons of OpenAI and of compatible vendors. */

import { type FinishReason, mayCutCall } from '../../../canonical/reply.ts';
import type { FailureReason } from '../../../failure-reasons.ts';

export interface FinishFacts {
  /** The upstream's finish reason, empty if it sent none. */
  readonly finishReason: string;
  readonly hasCalls: boolean;
  /** A call was cut, as far as its arguments and the lack of a finish reason show. */
  readonly hasCutCall: boolean;
  readonly hasOutput: boolean;
  readonly refusal: string;
}

export type Finish =
  | {
      readonly reason: FinishReason;
      readonly native: string | undefined;
      readonly message: string | undefined;
    }
  | {
      readonly unusable: FailureReason;
      /** Makes the whole reply unusable, even with other choices next to this one. */
      readonly endsReply: boolean;
    };

/** OpenAI's finish reasons first, then those of other vendors. */
const reasons: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ['stop', 'stop'],
  ['eos', 'stop'],
  ['eos_token', 'stop'],
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['complete', 'stop'],
  ['completed', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  // Mistral sends this when the context is full.
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_calls', 'tool_calls'],
  ['tool_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['safety', 'content_filter'],
  ['refusal', 'content_filter'],
  // Z.AI sends this.
  ['sensitive', 'content_filter'],
]);

export function mayCutLastCall(finishReason: string): boolean {
  return finishReason === '' || mayCutCall(reasons.get(finishReason.toLowerCase()));
}

/** Determines the finish of a choice. Precedence: content_filter, length, tool_calls, stop. */
export function finishOf(end: FinishFacts): Finish {
  const { finishReason, hasCalls, hasOutput, refusal } = end;
  const reason = reasons.get(finishReason.toLowerCase());
  // OpenRouter and similar vendors send this after an error of the provider behind them; the reply
  // is incomplete.
  if (finishReason.toLowerCase() === 'error') return unusable('upstream_unusable_output');
  // A refusal that the limit cut is not whole: the reply is incomplete.
  const isRefused = refusal !== '' && reason !== 'length';
  if (isRefused) return finish('content_filter', finishReason || undefined, refusal);
  if (reason === 'content_filter' || reason === 'length') return finish(reason);
  if (end.hasCutCall) return unusable('upstream_unusable_output', true);
  if (hasCalls) return finish('tool_calls');
  if (reason === 'tool_calls' && !hasOutput) return unusable('upstream_unusable_output');
  if (reason !== undefined) return finish('stop');
  if (!hasOutput) return unusable('upstream_empty_response');
  return finishReason === '' ? finish('stop') : finish('other', finishReason);
}

export function unusable(reason: FailureReason, endsReply = false): Finish {
  return { unusable: reason, endsReply };
}

function finish(reason: FinishReason, native?: string, message?: string): Finish {
  return { reason, native, message };
}
