/** Estimates the tokens of a prompt that no upstream has counted. */
import type { Call } from '../call.ts';
import type { Model } from '../ports/catalog.ts';
import { type Hold, promptTokens } from './hold.ts';

/**
 * English and code have about this many tokens per byte. The hold, which is an upper bound, assumes
 * more.
 */
const maxTokensPerByte = 0.25;

/** The estimated tokens of a prompt, capped at what its hold covers. */
export function estimatedPrompt({ demand }: Call, model: Model, hold: Hold): number {
  const tokensPerByte = Math.min(model.tokensPerByte ?? maxTokensPerByte, maxTokensPerByte);
  return Math.min(promptTokens(demand.prompt, { ...model, tokensPerByte }), hold.inputTokens);
}
