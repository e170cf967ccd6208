/** What a prompt is charged where no upstream has counted it. */
import type { Call } from '../call.ts';
import type { Model } from '../ports/catalog.ts';
import { type Hold, promptTokens } from './hold.ts';

/** English and code have about so many tokens a byte; the hold, which is a bound, counts more. */
const mostTokensPerByte = 0.25;

/** The tokens of a prompt, as many as its hold covers at most. */
export function estimatedPrompt({ demand }: Call, model: Model, hold: Hold): number {
  const tokensPerByte = Math.min(model.tokensPerByte ?? mostTokensPerByte, mostTokensPerByte);
  return Math.min(promptTokens(demand.prompt, { ...model, tokensPerByte }), hold.inputTokens);
}
