/** Estimates the tokens of a prompt that no upstream has counted. */
import type { Call, PromptSize } from '../call.ts';
import type { Model } from '../ports/catalog.ts';
import { type Hold, promptTokens } from './hold.ts';

/**
 * English and code have about this many tokens per byte. The hold, which is an upper bound, assumes
 * more.
 */
const maxTokensPerByte = 0.25;

/** The estimated tokens of a prompt, capped at what its hold covers. */
export function estimatedPrompt({ demand }: Call, model: Model, hold: Hold): number {
  return Math.min(estimatedTokens(demand.prompt, model), hold.inputTokens);
}

/** The estimated tokens of a prompt or of a part of one. */
export function estimatedTokens(prompt: PromptSize, model: Model): number {
  const tokensPerByte = Math.min(model.tokensPerByte ?? maxTokensPerByte, maxTokensPerByte);
  return promptTokens(prompt, { ...model, tokensPerByte });
}
