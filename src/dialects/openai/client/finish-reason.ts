/** Why a choice ended, from the words of OpenAI and of the vendors that speak like it (§6.13). */
import type { FinishReason } from '../../../canonical/reply.ts';

/** What is known of a choice when nothing more comes of it. */
export interface ChoiceEnd {
  /** The upstream's own word, empty where it gave none. */
  readonly finishReason: string;
  readonly hasCalls: boolean;
  readonly hasOutput: boolean;
  /** The model's own refusal, empty where it gave none. */
  readonly refusal: string;
}

/** A reason as an event says it, or what makes the choice of no use to a caller. */
export type Ending =
  | {
      readonly reason: FinishReason;
      readonly native: string | undefined;
      readonly message: string | undefined;
    }
  | { readonly unusable: string };

/** OpenAI's words first; synonyms of vendors behind them. */
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
  // Mistral, where the context is full.
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_calls', 'tool_calls'],
  ['tool_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['safety', 'content_filter'],
  ['refusal', 'content_filter'],
  // Z.AI.
  ['sensitive', 'content_filter'],
]);

/** Precedence: content_filter, length, tool_calls, stop. */
export function endingOf({ finishReason, hasCalls, hasOutput, refusal }: ChoiceEnd): Ending {
  const reason = reasons.get(finishReason.toLowerCase());
  // OpenRouter and its like end so what broke at the provider behind them: no answer is whole.
  if (finishReason.toLowerCase() === 'error') return { unusable: 'upstream_unusable_output' };
  if (refusal !== '') return ending('content_filter', finishReason || undefined, refusal);
  if (reason === 'content_filter' || reason === 'length') return ending(reason);
  if (hasCalls) return ending('tool_calls');
  if (reason === 'tool_calls' && !hasOutput) return { unusable: 'upstream_unusable_output' };
  if (reason !== undefined) return ending('stop');
  if (!hasOutput) return { unusable: 'upstream_empty_response' };
  return finishReason === '' ? ending('stop') : ending('other', finishReason);
}

function ending(reason: FinishReason, native?: string, message?: string): Ending {
  return { reason, native, message };
}
